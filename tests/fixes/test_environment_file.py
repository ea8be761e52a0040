"""Variables merged into each kind of file come back as they were, and other lines stay."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specpreflight.errors import InputError
from specpreflight.fixes.environment_file import TARGETS, merge_environment
from specpreflight.sources.kept_variables import read_kept_variables

STORY = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
NAMES = st.sampled_from(["NCCL_ALGO", "NCCL_PROTO", "NCCL_SOCKET_IFNAME", "NCCL_A", "A"])
TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
        st.sampled_from("\"'\\ $%{}()#;,=^:|&<>*\n\t\r!`~"),
    ),
    max_size=20,
)
VARIABLES = st.dictionaries(NAMES, TEXTS, max_size=4)
#: Values that a file has to quote, and all seven kinds can hold.
HARD = {
    "A": "^docker0,lo",
    "B": "$HOME `x`",
    "C": "a b",
    "D": "50%",
    "E": "#1",
    "F": "it's;",
    "G": "",
}


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=150, deadline=None)
@given(first=VARIABLES, second=VARIABLES)
def test_what_was_merged_comes_back(
    target: str, first: dict[str, str], second: dict[str, str]
) -> None:
    try:
        text = merge_environment("", first, target)
        text = merge_environment(text, second, target)
    except InputError:
        return
    assert read_kept_variables(text, target, "server") == {**first, **second}


@pytest.mark.parametrize("target", TARGETS)
def test_merging_twice_changes_nothing(target: str) -> None:
    once = merge_environment("", STORY, target)
    assert merge_environment(once, STORY, target) == once
    assert once.endswith("\n")


EXISTING = {
    "shell": "#!/bin/bash\n#SBATCH -N 2\n\nset -e\nexport NCCL_ALGO=Tree # old\nsrun ./x\n",
    "dotenv": "# mine\nexport NCCL_ALGO='Tree' # old\nFOO=bar\n",
    "docker": "# mine\nNCCL_ALGO=Tree\nFOO=bar\n",
    "nccl.conf": "# mine\nNCCL_ALGO=Tree\nNCCL_DEBUG=WARN\n",
    "systemd": (
        "[Unit]\nDescription=x\n\n[Service]\nEnvironment=A=1 NCCL_ALGO=Tree \"B=2 3\"\n"
        "ExecStart=/bin/true\n\n[Install]\nWantedBy=multi-user.target\n"
    ),
    "compose": (
        "# mine\nservices:\n  server:\n    image: x  # keep\n    environment:\n"
        "      - NCCL_ALGO=Tree\n      - FOO=bar\n    ports: [\"80:80\"]\nvolumes: {}\n"
    ),
    "kubernetes": (
        "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: x\n"
        "        env:\n        - name: NCCL_ALGO\n          value: Tree\n"
        "        - name: FOO\n          value: bar\n        image: y\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_foreign_lines_stay(target: str) -> None:
    before = EXISTING[target]
    after = merge_environment(before, {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}, target)
    kept = read_kept_variables(after, target, "server")
    assert (kept["NCCL_ALGO"], kept["NCCL_PROTO"]) == ("Ring", "LL")
    assert "Tree" not in after
    lines = after.splitlines()
    for line in before.splitlines():
        assert "NCCL_ALGO" in line or "Tree" in line or line in lines
    others = {**read_kept_variables(before, target, "server"), **kept}
    assert others == kept


def test_a_script_sets_variables_before_it_uses_them() -> None:
    text = merge_environment(EXISTING["shell"], {"NCCL_PROTO": "LL"}, "shell")
    lines = text.splitlines()
    assert lines.index("export NCCL_PROTO=LL") < lines.index("set -e")
    assert lines.index("#SBATCH -N 2") < lines.index("export NCCL_PROTO=LL")


def test_a_profile_sets_variables_before_its_guard() -> None:
    text = "# ~/.bashrc\ncase $- in\n  *i*) ;;\n  *) return;;\nesac\n"
    merged = merge_environment(text, {"NCCL_PROTO": "LL"}, "shell")
    assert merged.splitlines()[1] == "export NCCL_PROTO=LL"


@pytest.mark.parametrize(
    ("target", "value"),
    [("docker", "a\nb"), ("nccl.conf", "a\nb"), ("nccl.conf", "x" * 1024), ("dotenv", "${A}"),
     ("shell", "\udcff"), ("docker", "a\0")],
)  # fmt: skip
def test_what_a_file_cannot_hold_is_refused(target: str, value: str) -> None:
    with pytest.raises(InputError, match="NCCL_A"):
        merge_environment("", {"NCCL_A": value}, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["A B", "A=B", "1A", "", "A\nB", "A$B"])
def test_names_that_no_file_can_hold(target: str, name: str) -> None:
    with pytest.raises(InputError, match="no name of a variable"):
        merge_environment("", {name: "1"}, target)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: '3'\n", "no `services:`"),
        ("services:\n  other:\n    image: x\n", "no service `server`"),
        ("services:\n  server:\n    environment: {A: '1'}\n", "written on one line"),
    ],
)
def test_a_compose_file_without_a_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        merge_environment(text, {"A": "1"}, "compose")


def test_a_manifest_with_two_containers() -> None:
    text = "kind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n  - name: b\n    env:\n"
    with pytest.raises(InputError, match="2 `env:` lists"):
        merge_environment(text, {"A": "1"}, "kubernetes")


# The programs that will read the files


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh"])
def test_shells_read_it_back(tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    variables = {**HARD, "H": "a\nb", "I": "\\n'\"!"}
    (tmp_path / "x.sh").write_text(merge_environment("", variables, "shell"))
    command = ". ./x.sh; exec env -0"
    done = subprocess.run([shell, "-c", command], cwd=tmp_path, capture_output=True, check=True)
    seen = dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)
    assert {name: seen[name] for name in variables} == variables


@settings(max_examples=60, deadline=None)
@given(variables=VARIABLES)
def test_python_dotenv_reads_it_back(variables: dict[str, str]) -> None:
    dotenv = pytest.importorskip("dotenv")
    import io

    try:
        text = merge_environment("", variables, "dotenv")
    except InputError:
        return
    assert dict(dotenv.dotenv_values(stream=io.StringIO(text))) == variables


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    text = "[Service]\nExecStart=/bin/true\n"
    path = tmp_path / "nccl.service"
    path.write_text(merge_environment(text, {**HARD, **STORY}, "systemd"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True
    )
    assert "Environment" not in done.stderr
    assert "nvalid" not in done.stderr
