"""docs/nccl.md shows what the commands print."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from specpreflight.engines.nccl.understand import understand
from specpreflight.engines.nccl.versions import parse_release

PAGE = (Path(__file__).parents[2] / "docs" / "nccl.md").read_text()


def test_the_storys_variables(
    run: Callable[..., object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [example] = re.findall(r"```console\n(\$ export .*?)```", PAGE, re.DOTALL)
    lines = example.splitlines()
    for name in list(os.environ):
        if name.startswith("NCCL_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for setting in " ".join(lines[:2]).replace("$ export ", "").split():
        name, _, value = setting.partition("=")
        monkeypatch.setenv(name, value)
    printed = run(*lines[2].split()[2:]).stdout
    assert printed.splitlines() == lines[3:]


@pytest.mark.parametrize(
    ("setting", "release", "understood"),
    [
        ("NCCL_BUFFSIZE=16M", "2.27.5", "16"),
        ("NCCL_BUFFSIZE=010", "2.27.5", "8"),
        ("NCCL_P2P_DISABLE=true", "2.27.5", "default"),
        ('NCCL_ALGO="Ring"', "2.23.4", "all:none"),
        ('NCCL_ALGO="Ring"', "2.24.3", "fatal"),
        ("NCCL_ALGO=Ring, Tree", "2.24.3", "fatal"),
    ],
)
def test_values_that_are_not_what_they_look_like(
    setting: str, release: str, understood: str
) -> None:
    assert setting.replace('"', "") in PAGE.replace('"', "")
    name, _, value = setting.partition("=")
    assert understand(name, value, parse_release(release)).text.startswith(understood)


def test_a_level_in_small_letters_is_the_default() -> None:
    assert understand("NCCL_P2P_LEVEL", "sys", parse_release("2.27.5")).effect == "default"
