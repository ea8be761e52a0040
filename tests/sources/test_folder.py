"""The look over a directory: kinds, links, permissions, folders that are checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from specpreflight.models.folder import FileEntry
from specpreflight.sources.folder import read_folder


def entries(directory: Path) -> dict[str, FileEntry]:
    return {entry.name: entry for entry in read_folder(directory)}


def test_sizes_kinds_and_order(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"1234")
    (tmp_path / "a").mkdir()
    found = read_folder(tmp_path)
    assert [(entry.name, entry.kind, entry.size) for entry in found] == [
        ("a", "directory", 0),
        ("b", "file", 4),
    ]


def test_a_link_to_nothing_and_one_that_leaves(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.write_text("x")
    (home / "gone").symlink_to(tmp_path / "nothing")
    (home / "out").symlink_to(other)
    (home / "in").symlink_to(home / "out")
    found = entries(home)
    assert found["gone"].kind == "dangling"
    assert found["out"].outside == str(other)
    assert found["in"].outside == str(other)


@pytest.mark.parametrize(
    ("files", "is_checkpoint"),
    [
        (("config.json", "model.safetensors"), True),
        (("config.json", "pytorch_model.bin"), True),
        (("config.json",), False),
        (("model.safetensors",), False),
    ],
)
def test_which_folders_are_checkpoints(
    tmp_path: Path, files: tuple[str, ...], is_checkpoint: bool
) -> None:
    (tmp_path / "inner").mkdir()
    for name in files:
        (tmp_path / "inner" / name).write_text("")
    assert entries(tmp_path)["inner"].checkpoint is is_checkpoint


def test_modes(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("")
    (tmp_path / "private").chmod(0o600)
    assert entries(tmp_path)["private"].everybody is False


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    assert read_folder(tmp_path / "gone") == ()
