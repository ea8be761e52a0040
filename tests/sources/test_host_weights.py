"""What is seen of weights on another machine is what would be seen there."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest
from ssh_server import SshServer, server, start

from specpreflight.models.weights import weights_of, why_unseen
from specpreflight.sources.host_weights import host_weight_facts
from specpreflight.sources.remote_checkpoint import read_remote_checkpoint
from specpreflight.sources.weight_index import INDEX_NAME, WeightFolder
from specpreflight.storage.connections import open_host

__all__ = ["server", "start"]


def write_shard(path: Path, tensors: dict[str, int], *, padding: int = 0) -> None:
    """Write tensors of so many bytes of data that tells its place; `padding` makes headers long."""
    entries: dict[str, object] = {"__metadata__": {"format": "pt" + "x" * padding}}
    data = b""
    for name, size in tensors.items():
        span = [len(data), len(data) + size]
        entries[name] = {"dtype": "U8", "shape": [size], "data_offsets": span}
        data += bytes((len(data) + at) % 251 for at in range(size))
    text = json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def index(folder: Path, places: dict[str, str]) -> None:
    (folder / INDEX_NAME).write_text(json.dumps({"weight_map": places}))


def single(folder: Path) -> None:
    write_shard(folder / "model.safetensors", {"d2t": 70_000, "norm": 3})


def sharded(folder: Path) -> None:
    write_shard(folder / "a.safetensors", {"x": 10})
    write_shard(folder / "b.safetensors", {"y": 10}, padding=200_000)
    index(folder, {"x": "a.safetensors", "y": "b.safetensors"})


def shard_missing(folder: Path) -> None:
    sharded(folder)
    (folder / "b.safetensors").unlink()


def cut_off(folder: Path) -> None:
    single(folder)
    os.truncate(folder / "model.safetensors", 1_000)


def cut_in_header(folder: Path) -> None:
    single(folder)
    os.truncate(folder / "model.safetensors", 40)


def pointer(folder: Path) -> None:
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")


def empty(folder: Path) -> None:
    (folder / "model.safetensors").touch()


def pickles(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"x" * 1_000_000)


def gguf(folder: Path) -> None:
    (folder / "model.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2, 0) + bytes(100_000))


def broken_index(folder: Path) -> None:
    single(folder)
    (folder / INDEX_NAME).write_text("{")


def nothing(folder: Path) -> None:
    (folder / "subfolder").mkdir()


@pytest.mark.parametrize(
    "make",
    [single, sharded, shard_missing, cut_off, cut_in_header, pointer, empty, pickles, gguf,
     broken_index, nothing],
)  # fmt: skip
def test_it_is_what_is_seen_there(make, server: SshServer, tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    draft.mkdir()
    (draft / "config.json").write_text("{}")
    make(draft)
    here = WeightFolder(draft)
    facts = host_weight_facts(open_host(server.url("/")), str(draft))
    there = facts["weights"]()
    for name in ("format", "tensors", "files", "problems", "unseen", "index", "metadata"):
        assert getattr(there, name) == getattr(here.table, name), name
    assert facts["unseen"]() == here.unseen
    assert facts["missing_shards"]() == here.missing_shards
    assert facts["tensor_names"]() == here.tensor_names
    for name, tensor in here.table.tensors.items():
        assert there.read(tensor) == here.table.read(tensor)
        assert facts["find_tensor"](name) == here.find(name)


def test_a_checkpoint_on_a_host_has_weights(server: SshServer, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    single(tmp_path)
    checkpoint = read_remote_checkpoint("draft", server.url(tmp_path))
    assert why_unseen(checkpoint) is None
    table = weights_of(checkpoint)
    assert table is not None
    assert sorted(table.tensors) == ["d2t", "norm"]
