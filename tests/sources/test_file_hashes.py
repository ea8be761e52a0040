"""What of a file is hashed, and what of a folder is left out."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

from specpreflight.sources.file_hashes import hash_checkpoint, hash_tree


def test_whole_files_and_headers(tmp_path: Path) -> None:
    header = b'{"a": 1}'
    weights = struct.pack("<Q", len(header)) + header + b"data"
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "model.safetensors").write_bytes(weights)
    (tmp_path / "pytorch_model.bin").write_bytes(b"x" * 70_000)
    found = hash_checkpoint(tmp_path)
    assert list(found) == ["config.json", "model.safetensors", "pytorch_model.bin"]
    assert found["config.json"].sha256 == hashlib.sha256(b"{}").hexdigest()
    assert (found["model.safetensors"].hashed, found["model.safetensors"].size) == (16, 20)
    assert found["model.safetensors"].sha256 == hashlib.sha256(weights[:16]).hexdigest()
    assert found["pytorch_model.bin"].hashed == 65_536


def test_a_header_that_is_none(tmp_path: Path) -> None:
    for name, data in (("empty", b""), ("short", b"abc"), ("huge", b"\xff" * 20)):
        (tmp_path / f"{name}.safetensors").write_bytes(data)
    found = hash_checkpoint(tmp_path)
    assert {name: one.hashed for name, one in found.items()} == {
        "empty.safetensors": 0,
        "short.safetensors": 3,
        "huge.safetensors": 20,
    }


def test_folders_hidden_files_and_broken_links_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / ".hidden").touch()
    (tmp_path / "broken.json").symlink_to(tmp_path / "none")
    (tmp_path / "target").touch()
    (tmp_path / "link.json").symlink_to(tmp_path / "target")
    assert list(hash_checkpoint(tmp_path)) == ["link.json", "target"]


def test_a_tree_is_hashed_by_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.py").write_text("1")
    (tmp_path / "y.py").write_text("2")
    (tmp_path / "notes.md").write_text("3")
    before = hash_tree(tmp_path)
    assert (before.kind, before.files) == ("tree", 2)
    (tmp_path / "notes.md").write_text("4")
    assert hash_tree(tmp_path) == before
    (tmp_path / "y.py").write_text("1")
    (tmp_path / "a" / "x.py").write_text("2")
    assert hash_tree(tmp_path).sha256 != before.sha256
