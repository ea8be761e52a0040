"""Bash itself is the oracle: what a stub in place of the engine is given, and its variables."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specpreflight.sources.shell import Shell

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")

STUB = f"""#!{sys.executable}
import json, os, sys
seen = {{k: v for k, v in os.environ.items() if k.startswith(("E_", "NCCL"))}}
with open(os.environ["OUT__"], "a") as out:
    out.write(json.dumps([sys.argv[1:], seen]) + "\\n")
"""


def scripts():
    """Yield (arguments, script) of scripts.txt."""
    text = Path(__file__).with_name("scripts.txt").read_text()
    for block in re.split(r"^---", text, flags=re.MULTILINE)[1:]:
        arguments, _, script = block.partition("\n")
        yield pytest.param(tuple(arguments.split()), script, id=script[:40].replace("\n", " "))


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bin")
    stub = folder / "engine"
    stub.write_text(STUB)
    stub.chmod(0o755)

    def run(script, arguments=()):
        out = folder / "out"
        out.write_text("")
        subprocess.run(
            [BASH, "-c", script, "x.sh", *arguments],
            env={"PATH": f"{folder}:/usr/bin:/bin", "OUT__": str(out), "HOME": "${HOME}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
            cwd=folder,
            check=False,
        )
        return [json.loads(line) for line in out.read_text().splitlines()]

    return run


def ours(script, arguments=()):
    found = []

    def start(execution):
        if execution.words[0] == "engine":
            seen = {
                name: known.value
                for name, known in execution.environment.items()
                if name.startswith(("E_", "NCCL"))
            }
            found.append([list(execution.words[1:]), seen])

    Shell(start, lambda name: None, {}, arguments, "x.sh").run(script)
    return found


@pytest.mark.parametrize(("arguments", "script"), list(scripts()))
def test_gives_the_engine_what_bash_gives_it(real, arguments, script):
    assert ours(script, arguments) == real(script, arguments)


PIECES = st.sampled_from(
    [
        "-a",
        "--x",
        " ",
        "  ",
        "'q r'",
        '"q  r"',
        '"$A"',
        "${A}",
        '"${L[@]}"',
        "${L[@]}",
        "\\ ",
        "\\\n",
        "=",
        "{1,2}",
        "{a..c}",
        "$((1+2))",
        "$(echo m n)",
        '"$(echo m  n)"',
        "${A#x}",
        "${U:-d e}",
        '"${U:-d e}"',
        "'",
        '"',
        "#",
        "# c",
        "''",
        '""',
        "\\$A",
        "${A/x/ }",
        "*",
        "${#A}",
        "\n",
        ";",
        "$'t\\tu'",
        "[n]",
        "${L[1]}",
        "${A:1:2}",
        ",",
    ]
)


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(PIECES, max_size=9))
def test_splits_words_as_bash_does(real, pieces):
    script = "set -f; A='x y  z'; L=('one' 'two 2' '')\nengine " + "".join(pieces) + "\n"
    assert ours(script) == real(script)
