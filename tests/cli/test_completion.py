"""Completion, asked for as the three shells ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

#: `bin` of the environment that the tests run in, where `specpreflight` is.
BIN = Path(sys.executable).parent


def in_shell(shell: str, script: str) -> list[str]:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"needs {shell}")
    with TemporaryDirectory() as home:  # fish keeps files in it
        environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": home}
        ran = subprocess.run(
            [found, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
    assert ran.stderr == ""
    return ran.stdout.split()


def in_bash(*words: str) -> list[str]:
    listed = " ".join(f"'{word}'" for word in words)
    return in_shell(
        "bash",
        f"source <(specpreflight completion bash); COMP_WORDS=({listed}); "
        f"COMP_CWORD={len(words) - 1}; _specpreflight_completion specpreflight 2>/dev/null; "
        'printf "%s\\n" "${COMPREPLY[@]}"; [[ $COMP_WORDBREAKS != *@* ]]',
    )


def test_bash_completes_commands_rules_and_releases() -> None:
    assert in_bash("specpreflight", "expl") == ["explain"]
    assert in_bash("specpreflight", "explain", "draft-context-") == [
        "draft-context-shorter",
        "draft-context-longer",
    ]
    assert "sglang@0.5.9" in in_bash("specpreflight", "check", "--engine", "sglang@0.5.")
    assert in_bash("specpreflight", "engines", "diff", "vllm@0.10.0")[:1] == ["vllm@0.10.0"]
    assert in_bash("specpreflight", "scan", "--ignore", "vocab-size") == ["vocab-size-differs"]
    assert in_bash("specpreflight", "check", "--output", "sar") == ["sarif="]


def test_fish_completes() -> None:
    asked = 'specpreflight completion fish | source; complete -C "specpreflight {}"'
    assert in_shell("fish", asked.format("check --engine sglang@0.5.2"))[0].startswith("sglang@")
    assert in_shell("fish", asked.format("explain draft-path")) == ["draft-path-missing"]


def test_zsh_takes_the_script() -> None:
    script = (
        "autoload -U compinit; compinit -u -D; source <(specpreflight completion zsh);"
        "print $_comps[specpreflight]"
    )
    assert in_shell("zsh", script) == ["_specpreflight_completion"]


def ask_zsh(*words: str) -> list[str]:
    """What the script's own question answers: three lines for each completion."""
    environment = {
        **os.environ,
        "_SPECPREFLIGHT_COMPLETE": "zsh_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    command = [BIN / "specpreflight"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return ran.stdout.splitlines()[1::3]


def test_paths_are_left_to_the_shell() -> None:
    assert ask_zsh("specpreflight", "check", "dra") == ["dra"]


def test_engines_before_their_releases() -> None:
    answers = ask_zsh("specpreflight", "run", "--engine", "")
    assert answers == ["sglang", "vllm", "sglang@", "vllm@"]
    assert ask_zsh("specpreflight", "run", "--engine", "nope@") == []


def test_a_shell_that_is_not_known(run: Callable[..., Any]) -> None:
    assert run("completion", "tcsh").code == 2
