"""A fixed copy of a checkpoint in the Hub's cache: the config is new, the weights are links."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixing import FIXED, KIMI, kimi_plan

from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.copy import copy_fixed


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    repository = tmp_path / "hub" / "models--lab--draft"
    blobs = repository / "blobs"
    blobs.mkdir(parents=True)
    found = repository / "snapshots" / "0123abcd"
    found.mkdir(parents=True)
    for name, data in {"config.json": KIMI, "model.safetensors": b"weights"}.items():
        (blobs / name[:4]).write_bytes(data)
        (found / name).symlink_to(f"../../blobs/{name[:4]}")
    return found


def test_copy(snapshot: Path, tmp_path: Path) -> None:
    new = copy_fixed(kimi_plan(snapshot)[0], tmp_path / "fixed")
    assert new.read_bytes() == FIXED
    assert not new.is_symlink()
    weights = tmp_path / "fixed" / "model.safetensors"
    assert weights.readlink() == snapshot.resolve().parents[1] / "blobs" / "mode"
    assert (snapshot / "config.json").read_bytes() == KIMI


def test_a_directory_that_is_not_empty(snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "fixed").mkdir()
    (tmp_path / "fixed" / "mine").touch()
    with pytest.raises(UsageError, match="is not empty"):
        copy_fixed(kimi_plan(snapshot)[0], tmp_path / "fixed")


def test_a_place_that_cannot_be_written(snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="not written"):
        copy_fixed(kimi_plan(snapshot)[0], tmp_path / "file" / "fixed")
