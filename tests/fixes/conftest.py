"""A checkpoint to fix."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixing import KIMI


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    """A checkpoint directory with the Kimi draft's config."""
    directory = tmp_path / "draft"
    directory.mkdir()
    (directory / "config.json").write_bytes(KIMI)
    return directory
