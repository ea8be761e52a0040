"""The manual page: every command and option, and nothing that man would complain of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from man import manual_page

from specpreflight.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "specpreflight.1"


def test_it_names_every_command_and_option() -> None:
    text = manual_page().replace("\\-", "-")
    for name in main.list_commands(click.Context(main)):
        command = main.get_command(click.Context(main), name)
        assert f".SS specpreflight {name} " in text
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[0] in text


def test_no_line_is_a_request_by_accident() -> None:
    lines = [line for line in manual_page().splitlines() if line.startswith((".", "'"))]
    assert {re.split(r"\s", line)[0] for line in lines} <= {
        ".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi",
    }  # fmt: skip


def test_man_shows_it_without_a_warning() -> None:
    man = shutil.which("man")
    if man is None:
        pytest.skip("needs man")
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "90"}
    command = [man, "--warnings", "-l", str(PAGE)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert "SPECPREFLIGHT(1)" in ran.stdout
    assert "--engine NAME[@VERSION|@PATH]" in ran.stdout
