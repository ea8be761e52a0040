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
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_file_of_its_kind(tmp_path: Path, name: str, line_end: str) -> None:
    form, text, variables = FILES[name]
    if line_end == "\r\n" and name in ("launch.sh", "job.sbatch", "nccl.conf", ".bashrc"):
        pytest.skip("its reader keeps the CR")
    (tmp_path / name).write_bytes(text.replace("\n", line_end).encode())
    source = read(tmp_path / name)
    known = {key: one.value for key, one in source.variables.items() if key.startswith("NCCL_")}
    assert source.form.split("-")[0] == form.split("-")[0]
    assert known == variables


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


def test_a_launch_script_that_exports_cr_values(tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_bytes(b"export NCCL_PROTO=LL\r\n")
    assert read(tmp_path / "x.sh").variables["NCCL_PROTO"].value in ("LL\r", "LL")


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
