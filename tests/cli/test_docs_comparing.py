"""The commands of docs/comparing.md print what the page shows; `…` stands for lines left out."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "kimi-k2.5-eagle3"
PAGE = (ROOT / "docs" / "comparing.md").read_text()


def as_pattern(shown: str) -> str:
    literal = re.sub(r"([*?\[])", r"[\1]", shown)
    return re.sub(r"^…\n", "*", literal, flags=re.MULTILINE)


def test_the_page_shows_what_is_printed(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shutil.copytree(EXAMPLE, tmp_path / "example"))
    monkeypatch.setenv("COLUMNS", "80")
    shown = re.findall(r"```console\n\$ (specpreflight [^\n]+)\n(.*?)```", PAGE, re.DOTALL)
    assert len(shown) == 6
    for command, output in shown:
        ran = run(*shlex.split(command)[1:])
        assert fnmatchcase(ran.stdout, as_pattern(output)), f"{command}\n{ran.stdout}"


def test_every_command_of_the_page_exists(run: Callable[..., Any]) -> None:
    for block in re.findall(r"```(?:console|sh)\n(.*?)```", PAGE, re.DOTALL):
        for line in block.splitlines():
            words = line.removeprefix("$ ").split()
            if words[:1] == ["specpreflight"]:
                names = words[1:3] if words[1] == "engines" else words[1:2]
                assert run(*names, "--help").code == 0
