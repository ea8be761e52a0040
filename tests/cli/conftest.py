"""Run the command line in process, as a user types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from specpreflight.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    stdout: str
    stderr: str

    @property
    def data(self) -> Any:
        return json.loads(self.stdout)


@pytest.fixture
def run() -> Callable[..., Ran]:
    """Run `specpreflight WORDS` with an empty environment for the launch."""

    def run_words(*words: str | Path, stdin: str | None = None) -> Ran:
        result = CliRunner().invoke(main, [str(word) for word in words], input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run_words
