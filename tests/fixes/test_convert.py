"""Renamed copies: the same bytes under other names, all or nothing, the source untouched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path

import pytest
from make_checkpoints import REDUCED, eagle3_specforge

from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.convert import INDEX_NAME, convert_checkpoint, renamed_header
from specpreflight.sources.weight_index import read_weights


@pytest.fixture
def source(tmp_path: Path) -> Path:
    draft = eagle3_specforge()
    for number, name in enumerate(draft.shapes):
        if name not in ("d2t", "t2d"):
            draft.data[name] = bytes([number + 1]) * 64
    draft.data["d2t"] = bytes(range(8)) * REDUCED
    draft.files["tokenizer.json"] = "{}"
    return draft.write(tmp_path / "draft")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def tensors(folder: Path) -> dict[str, bytes]:
    """Return every tensor's bytes, read by the format's own library."""
    from safetensors import deserialize

    found = {}
    for path in folder.glob("*.safetensors"):
        for name, entry in deserialize(path.read_bytes()):
            found[name] = bytes(entry["data"])
    return found


def test_every_tensor_is_bit_identical_under_its_new_name(source: Path, tmp_path: Path) -> None:
    before, originals = tensors(source), contents(source)
    renaming = {name: f"model.layers.0.{name}" for name in before if name.startswith("midlayer")}
    written = convert_checkpoint(source, tmp_path / "out", renaming)
    after = tensors(tmp_path / "out")
    assert after == {renaming.get(name, name): data for name, data in before.items()}
    assert written == ("config.json", "model.safetensors", "tokenizer.json")
    assert contents(source) == originals
    assert read_weights(tmp_path / "out").problems == ()


def test_safe_open_reads_the_copy(source: Path, tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    from safetensors import safe_open

    convert_checkpoint(source, tmp_path / "out", {"d2t": "map"})
    with safe_open(tmp_path / "out" / "model.safetensors", "numpy") as file:
        assert "map" in file.keys()  # noqa: SIM118, not a mapping
        assert numpy.array_equal(file.get_tensor("map").view("u1"), bytearray(range(8)) * REDUCED)


def test_the_index_follows(source: Path, tmp_path: Path) -> None:
    places = dict.fromkeys(tensors(source), "model.safetensors")
    (source / INDEX_NAME).write_text(json.dumps({"weight_map": places}))
    convert_checkpoint(source, tmp_path / "out", {"d2t": "map"})
    index = json.loads((tmp_path / "out" / INDEX_NAME).read_text())
    assert "map" in index["weight_map"]
    assert read_weights(tmp_path / "out").problems == ()


def test_another_config_can_be_given(source: Path, tmp_path: Path) -> None:
    convert_checkpoint(source, tmp_path / "out", {}, b'{"a": 1}\n')
    assert (tmp_path / "out" / "config.json").read_bytes() == b'{"a": 1}\n'


@pytest.mark.parametrize("kind", ["directory", "file", "dangling"])
def test_nothing_is_overwritten(source: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    if kind == "directory":
        out.mkdir()
    elif kind == "file":
        out.write_text("mine")
    else:
        out.symlink_to(tmp_path / "gone")
    with pytest.raises(UsageError, match="exists"):
        convert_checkpoint(source, out, {})


def test_a_missing_parent_is_said(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        convert_checkpoint(source, tmp_path / "no" / "out", {})


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: path.write_bytes(b"\x01"), "too short"),
        (lambda path: path.write_bytes(b"\xff" * 8 + b"{}"), "inside its header"),
        (lambda path: path.write_bytes(b"\x02" + bytes(7) + b"[]"), "not a JSON object"),
        (lambda path: path.write_bytes(b"\x02" + bytes(7) + b"{["), "not JSON"),
    ],
)
def test_a_broken_file_leaves_nothing_behind(source: Path, tmp_path: Path, spoil, says) -> None:
    spoil(source / "model.safetensors")
    with pytest.raises(InputError, match=says):
        convert_checkpoint(source, tmp_path / "out", {})
    assert [path.name for path in tmp_path.iterdir()] == ["draft"]


def test_two_tensors_never_get_one_name(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two tensors would be called d2t"):
        convert_checkpoint(source, tmp_path / "out", {"t2d": "d2t"})
    assert not (tmp_path / "out").exists()


def test_a_failing_disk_is_one_line(source: Path, tmp_path: Path, monkeypatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device", "out")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="no space left on device"):
        convert_checkpoint(source, tmp_path / "out", {})
    assert [path.name for path in tmp_path.iterdir()] == ["draft"]


def test_without_help_of_the_kernel(source: Path, tmp_path: Path, monkeypatch) -> None:
    def refuse(*arguments: int) -> int:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
    convert_checkpoint(source, tmp_path / "out", {"d2t": "map"})
    assert tensors(tmp_path / "out")["map"] == tensors(source)["d2t"]


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    folder = tmp_path / "draft"
    folder.mkdir()
    size = 96 * 1024 * 1024
    header = renamed_header(
        json.dumps({"a": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode(),
        {},
        folder,
    )
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size)
    tracemalloc.start()
    convert_checkpoint(folder, tmp_path / "out", {"a": "b"})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 1024 * 1024


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_run_leaves_no_half_checkpoint_under_the_final_name(
    source: Path, tmp_path: Path
) -> None:
    script = f"""
        import os, signal
        from pathlib import Path
        from specpreflight.fixes import convert

        def die(directory):
            os.kill(os.getpid(), signal.SIGKILL)

        convert._sync = die
        convert.convert_checkpoint(Path({str(source)!r}), Path({str(tmp_path / "out")!r}), {{}})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
