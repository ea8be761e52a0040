"""Fixtures that all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The team's shared material beside the repository; the test is skipped without it."""
    if not (SHARED / "DESIGN.md").is_file():
        pytest.skip("needs the shared material (corpus, cases, recorded verdicts) beside the repo")
    return SHARED
