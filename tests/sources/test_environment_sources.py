"""A file of each kind that sets variables, with its pitfalls."""

from __future__ import annotations

from pathlib import Path

import pytest

from specpreflight.errors import InputError
from specpreflight.models.nccl import Release
from specpreflight.sources.environment_sources import EnvironmentSource, read_environment_source

RELEASE = Release(2, 27, 5)

FILES = {
    "launch.sh": (
        "shell-script",
        """\
#!/bin/bash
export NCCL_PROTO=LL NCCL_ALGO="Ring"   # both
NCCL_HIDDEN=1
export NCCL_SOCKET_IFNAME=$(ip route get 1.1.1.1 | awk '{print $5}')
export NCCL_BUFFSIZE=$((16 * 1024 * 1024))
NCCL_NTHREADS=512 python -m sglang.launch_server \\
  --model-path /models/target
""",
        {
            "NCCL_PROTO": "LL",
            "NCCL_ALGO": "Ring",
            "NCCL_SOCKET_IFNAME": None,
            "NCCL_BUFFSIZE": "16777216",
            "NCCL_NTHREADS": "512",
        },
    ),
    "llm.service": (
        "systemd",
        """\
[Service]
Environment="NCCL_ALGO=Ring" NCCL_PROTO=LL
Environment='NCCL_NET_PLUGIN=a b'
EnvironmentFile=-%h/none
EnvironmentFile=/etc/none
Environment=NCCL_PROTO=Simple
ExecStart=/usr/bin/python3 -m sglang.launch_server --model-path /m
""",
        {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_NET_PLUGIN": "a b"},
    ),
    "compose.yaml": (
        "compose",
        """\
services:
  llm:
    image: lmsysorg/sglang:v0.5.9
    environment:
      - NCCL_ALGO="Ring"
      - NCCL_PROTO=${PROTO:-LL}
      - NCCL_DEBUG=$$x
    command: python3 -m sglang.launch_server --model-path /m
""",
        {"NCCL_ALGO": '"Ring"', "NCCL_PROTO": "LL", "NCCL_DEBUG": "$x"},
    ),
    "pod.yaml": (
        "kubernetes",
        """\
apiVersion: v1
kind: ConfigMap
metadata: {name: nccl}
data:
  NCCL_ALGO: Ring
---
apiVersion: v1
kind: Pod
metadata: {name: llm}
spec:
  containers:
    - name: llm
      image: vllm/vllm-openai:v0.11.0
      args: ["--model", "/m"]
      envFrom:
        - configMapRef: {name: nccl}
      env:
        - {name: NCCL_PROTO, value: "LL"}
        - name: NCCL_SOCKET_IFNAME
          valueFrom: {fieldRef: {fieldPath: status.hostIP}}
""",
        {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL", "NCCL_SOCKET_IFNAME": None},
    ),
    "job.sbatch": (
        "sbatch",
        """\
#!/bin/bash
#SBATCH -N 2
#SBATCH --export=ALL,NCCL_ALGO=Ring
export NCCL_PROTO=LL
srun python -m sglang.launch_server --model-path /m
""",
        {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"},
    ),
    "configmap.yaml": (
        "kubernetes",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n}\ndata:\n  NCCL_ALGO: Ring\n",
        {"NCCL_ALGO": "Ring"},
    ),
    "custom.yaml": (
        "kubernetes",
        """\
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
        - name: llm
          image: registry.local/llm
          env:
            - {name: NCCL_ALGO, value: "Ring"}
            - {name: NCCL_PROTO, value: "LL"}
""",
        {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"},
    ),
    "services.yaml": (
        "compose",
        """\
services:
  llm:
    image: registry.local/llm
    environment:
      NCCL_ALGO: Ring
      NCCL_NTHREADS: 512
""",
        {"NCCL_ALGO": "Ring", "NCCL_NTHREADS": "512"},
    ),
    "nccl.env": ("env-file", "NCCL_ALGO='Ring'\n", {"NCCL_ALGO": "Ring"}),
    "nccl.conf": ("nccl.conf", "NCCL_ALGO='Ring'\nNCCL_ALGO=Tree\n", {"NCCL_ALGO": "'Ring'"}),
    ".bashrc": ("profile", "export NCCL_ALGO=Ring\n", {"NCCL_ALGO": "Ring"}),
}  # fmt: skip


def read(path: Path) -> EnvironmentSource:
    return read_environment_source(path, path.name, RELEASE)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_its_kind(tmp_path: Path, name: str) -> None:
    form, text, variables = FILES[name]
    (tmp_path / name).write_text(text)
    source = read(tmp_path / name)
    assert source.form.split("-")[0] == form.split("-")[0]
    assert nccl(source) == variables


def nccl(source: EnvironmentSource) -> dict[str, str | None]:
    return {key: one.value for key, one in source.variables.items() if key.startswith("NCCL_")}


@pytest.mark.parametrize("name", FILES)
def test_line_ends_of_windows(tmp_path: Path, name: str) -> None:
    """Shells and NCCL keep the CR, the other readers drop it."""
    _, text, variables = FILES[name]
    (tmp_path / name).write_bytes(text.replace("\n", "\r\n").encode())
    source = read(tmp_path / name)
    if name in ("nccl.conf", ".bashrc"):
        assert {value[-1:] for value in nccl(source).values() if value} == {"\r"}
    else:
        assert nccl(source) == variables
    if name in ("launch.sh", "job.sbatch"):
        assert "a shell keeps the CR" in source.notes[0]


@pytest.mark.parametrize("name", FILES)
def test_a_byte_order_mark(tmp_path: Path, name: str) -> None:
    _, text, variables = FILES[name]
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    source = read(tmp_path / name)
    if name == "nccl.conf":
        assert nccl(source) == {"NCCL_ALGO": "Tree"}
        assert "byte-order mark" in source.notes[0]
    else:
        assert nccl(source) == variables


PITFALLS = {
    ".bashrc": (
        """\
export NCCL_ALGO=Tree   # first
export NCCL_ALGO="Ring" # the later one wins
NCCL_HIDDEN=1
export NCCL_DEBUG=INFO NCCL_PROTO='LL'
case $- in *i*) ;; *) return ;; esac
export NCCL_NTHREADS=512
""",
        {"NCCL_ALGO": "Ring", "NCCL_DEBUG": "INFO", "NCCL_PROTO": "LL", "NCCL_NTHREADS": "512"},
    ),
    "environment": (
        """\
# NCCL_X=1
NCCL_ALGO=Tree
export NCCL_ALGO="Ring" # trailing
NCCL_DEBUG=INFO#no blank
NCCL_PROTO='LL'
NCCL_NET=$HOME
""",
        {"NCCL_ALGO": "Ring", "NCCL_DEBUG": "INFO", "NCCL_PROTO": "LL", "NCCL_NET": "$HOME"},
    ),
    "launch.sh": (
        """\
#!/bin/bash
NCCL_ALGO="Ring" \\
NCCL_PROTO='LL' \\
  python -m sglang.launch_server --model-path /m  # NCCL_X=1
""",
        {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"},
    ),
    "nccl.env": (
        """\
export NCCL_ALGO=Tree
NCCL_ALGO='Ring' # the later one wins
NCCL_PROTO=LL # trailing
NCCL_NET="a
b"
""",
        {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL", "NCCL_NET": "a\nb"},
    ),
    "nccl.conf": (
        "#NCCL_X=1\nNCCL_ALGO=Ring # kept\nexport NCCL_DEBUG=INFO\nNCCL_PROTO = LL\n",
        {"NCCL_ALGO": "Ring # kept", "NCCL_PROTO ": " LL"},
    ),
    "llm.service": (
        """\
[Service]
Environment=NCCL_ALGO=Tree \\
# a comment between
  "NCCL_PROTO=LL" NCCL_NET=a\\x20b
Environment=NCCL_ALGO=Ring # not a comment
Environment=export NCCL_DEBUG=INFO
""",
        {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL", "NCCL_NET": "a b", "NCCL_DEBUG": "INFO"},
    ),
    "compose.yaml": (
        """\
x-nccl: &nccl
  NCCL_ALGO: Tree # trailing
  NCCL_PROTO: "LL"
services:
  llm:
    image: lmsysorg/sglang:v0.5.9
    env_file: [{path: x.env, required: false}]
    environment:
      <<: *nccl
      NCCL_ALGO: Ring
      NCCL_P2P_DISABLE: yes
      NCCL_BUFFSIZE: 0x400000
      NCCL_NET:
""",
        {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL", "NCCL_P2P_DISABLE": "yes",
         "NCCL_BUFFSIZE": "0x400000", "NCCL_NET": None},
    ),
    "pod.yaml": (
        """\
apiVersion: v1
kind: Pod
metadata: {name: llm}
spec:
  containers:
    - name: llm
      image: vllm/vllm-openai:v0.11.0
      args: ["--model", "/m"]
      env:
        - {name: NCCL_ALGO, value: Tree}
        - {name: NCCL_ALGO, value: 'Ring'} # the later one wins
        - {name: BASE, value: eth}
        - {name: NCCL_SOCKET_IFNAME, value: "$(BASE)0"}
        - name: NCCL_DEBUG
          valueFrom: {secretKeyRef: {name: s, key: k}}
""",
        {"NCCL_ALGO": "Ring", "NCCL_SOCKET_IFNAME": "eth0",
         "NCCL_DEBUG": None},
    ),
    "job.sbatch": (
        """\
#!/bin/bash
#SBATCH --export=NONE,NCCL_DEBUG=INFO
##SBATCH --export=ALL
export NCCL_ALGO="Ring" NCCL_PROTO=LL # both
srun --export=ALL,NCCL_NTHREADS=512 python -m sglang.launch_server --model-path /m
""",
        {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring", "NCCL_PROTO": "LL", "NCCL_NTHREADS": "512"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PITFALLS)
def test_the_pitfalls_of_each_kind(tmp_path: Path, name: str) -> None:
    """Quotes, trailing comments, `export`, one name twice, continued lines, references."""
    text, variables = PITFALLS[name]
    (tmp_path / name).write_text(text)
    assert nccl(read(tmp_path / name)) == variables


TWO_SERVICES = """\
services:
  web: {image: nginx, environment: {NCCL_ALGO: Tree}}
  prefill:
    image: lmsysorg/sglang:v0.5.9
    environment: [NCCL_ALGO=Ring, NCCL_PROTO=LL]
    command: python3 -m sglang.launch_server --model-path /m
  decode:
    image: lmsysorg/sglang:v0.5.9
    environment: [NCCL_ALGO=Ring, NCCL_PROTO=Simple, NCCL_DEBUG=INFO]
    command: python3 -m sglang.launch_server --model-path /m --speculative-algorithm EAGLE
"""


def test_of_several_services_one_launch_is_shown_and_the_others_are_said(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(TWO_SERVICES)
    source = read(tmp_path / "compose.yaml")
    assert nccl(source) == {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_DEBUG": "INFO"}
    [note] = source.notes
    assert note == "NCCL_PROTO is `LL` for prefill, `Simple` for decode; shown is `Simple`"


@pytest.mark.parametrize("name", ["launch.sh", "llm.service", "nccl.env", "nccl.conf"])
def test_values_keep_their_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name][1])
    origin = read(tmp_path / name).variables["NCCL_ALGO"].origin
    assert origin.kind == "file"
    assert origin.path == name
    assert origin.line in (1, 2)


@pytest.mark.parametrize(
    ("name", "reaches"), [("compose.yaml", False), ("llm.service", False), ("launch.sh", True)]
)
def test_whether_the_shell_around_it_reaches_the_engine(
    tmp_path: Path, name: str, reaches: bool
) -> None:
    (tmp_path / name).write_text(FILES[name][1])
    assert (read(tmp_path / name).inherits is None) == reaches


def test_a_script_that_only_exports_keeps_the_cr(tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_bytes(b"export NCCL_PROTO=LL\r\n")
    assert read(tmp_path / "x.sh").variables["NCCL_PROTO"].value == "LL\r"


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.bin", b"\x7fELF\x02\x01\x01\x00"),
        ("x.env", b"A=1\n" * (13 << 20)),
        ("compose.yaml", f"services:\n  x:\n    environment: *i\n{BOMB}".encode()),
        ("compose.yaml", f"{BOMB}services:\n  x:\n    environment: *i\n".encode()),
        ("x.sh", b"echo hello\n"),
    ],
    ids=["binary", "52 MB", "undefined alias", "YAML bomb", "sets nothing"],
)
def test_what_is_refused_in_one_line(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError):
        read(tmp_path / name)


@pytest.mark.shared
def test_every_collected_launch_is_read(shared: Path) -> None:
    import json

    for expected in sorted((shared / "launches").rglob("*.expect.json")):
        wanted = json.loads(expected.read_text()).get("env", {})
        nccl = {name: value for name, value in wanted.items() if name.startswith("NCCL_")}
        if not nccl:
            continue
        path = next(
            one
            for one in expected.parent.glob(expected.name.removesuffix(".expect.json") + ".*")
            if one != expected and not one.name.endswith(".expect.json")
        )
        found = read(path).variables
        for name, value in nccl.items():
            assert name in found, (path.name, name)
            assert found[name].value in (value, None), (path.name, name)
