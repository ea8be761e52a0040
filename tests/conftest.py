"""Fixtures that all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes is for benchmarks: a busy machine must not fail a test.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The team's shared material beside the repository; the test is skipped without it."""
    if not (SHARED / "DESIGN.md").is_file():
        pytest.skip("needs the shared material (corpus, cases, recorded verdicts) beside the repo")
    return SHARED
