"""The weights of a directory: single file, shards, index, and every disagreement of the two."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from specpreflight.sources.weight_index import INDEX_NAME, WeightFolder, read_weights


def write_shard(path: Path, tensors: dict[str, list[int]]) -> int:
    """Write F32 tensors of zeros; return the bytes of data."""
    entries, place = {}, 0
    for name, shape in tensors.items():
        size = 4
        for length in shape:
            size *= length
        entries[name] = {"dtype": "F32", "shape": shape, "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(place))
    return place


def write_index(folder: Path, places: dict[str, str], total: object = None) -> None:
    metadata = {} if total is None else {"total_size": total}
    index = {"metadata": metadata, "weight_map": places}
    (folder / INDEX_NAME).write_text(json.dumps(index))


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    size = write_shard(tmp_path / "model-1.safetensors", {"a": [2], "b": [3]})
    size += write_shard(tmp_path / "model-2.safetensors", {"c": [4]})
    places = {"a": "model-1.safetensors", "b": "model-1.safetensors", "c": "model-2.safetensors"}
    write_index(tmp_path, places, size)
    return tmp_path


def kinds(folder: Path) -> list[str]:
    return [problem.kind for problem in read_weights(folder).problems]


def test_shards_with_an_index_make_one_table(sharded):
    table = read_weights(sharded)
    assert sorted(table.tensors) == ["a", "b", "c"]
    assert table.tensors["c"].file == "model-2.safetensors"
    assert (table.format, table.index, table.unseen) == ("safetensors", INDEX_NAME, None)
    assert table.problems == ()


def test_shards_without_an_index_all_count(sharded):
    (sharded / INDEX_NAME).unlink()
    table = read_weights(sharded)
    assert sorted(table.tensors) == ["a", "b", "c"]
    assert table.index is None


def test_a_missing_shard_names_what_is_lost(sharded):
    (sharded / "model-2.safetensors").unlink()
    (problem,) = read_weights(sharded).problems
    assert (problem.kind, problem.file, problem.tensors) == (
        "missing-shard",
        "model-2.safetensors",
        ("c",),
    )


def test_a_file_beside_the_index_is_not_read_by_engines(sharded):
    write_shard(sharded / "mtp.safetensors", {"mtp.fc.weight": [2]})
    table = read_weights(sharded)
    (problem,) = table.problems
    assert problem.kind == "extra-shard"
    assert problem.tensors == ("mtp.fc.weight",)
    assert "mtp.fc.weight" not in table.tensors


def test_a_tensor_in_another_shard_than_listed(sharded):
    places = {"a": "model-2.safetensors", "b": "model-1.safetensors", "c": "model-2.safetensors"}
    write_index(sharded, places)
    assert kinds(sharded) == ["other-shard"]


def test_tensors_listed_and_absent_present_and_unlisted(sharded):
    places = {"a": "model-1.safetensors", "z": "model-1.safetensors", "c": "model-2.safetensors"}
    write_index(sharded, places)
    assert kinds(sharded) == ["missing-tensor", "unlisted-tensor"]


def test_a_tensor_in_two_files(sharded):
    (sharded / INDEX_NAME).unlink()
    write_shard(sharded / "model-3.safetensors", {"a": [2]})
    assert kinds(sharded) == ["duplicate-tensor"]


@pytest.mark.parametrize(("total", "expected"), [(36, []), (36.0, []), (37, ["total-size"])])
def test_the_stated_total_size(sharded, total, expected):
    index = json.loads((sharded / INDEX_NAME).read_text())
    write_index(sharded, index["weight_map"], total)
    assert kinds(sharded) == expected


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"weight_map": []}', '{"weight_map": {"a": 1}}', "\xff"]
)
def test_a_broken_index_is_said_and_the_files_still_read(sharded, text):
    (sharded / INDEX_NAME).write_bytes(text.encode("latin-1"))
    table = read_weights(sharded)
    assert [problem.kind for problem in table.problems] == ["index-json"]
    assert sorted(table.tensors) == ["a", "b", "c"]


def test_an_index_without_any_of_its_shards_says_why_nothing_is_seen(sharded):
    for name in ("model-1.safetensors", "model-2.safetensors"):
        (sharded / name).unlink()
    table = read_weights(sharded)
    assert table.unseen is not None
    assert "none of its shards" in table.unseen


@pytest.mark.parametrize(
    ("name", "form", "says"),
    [
        ("pytorch_model.bin", "pickle", "can't be seen without running it"),
        ("model.gguf", "gguf", "GGUF"),
        ("README.md", "none", "no weight files"),
    ],
)
def test_other_formats_are_named_and_not_opened(tmp_path, name, form, says):
    (tmp_path / name).write_bytes(b"\x80\x02cos\nsystem\n.")
    table = read_weights(tmp_path)
    assert table.format == form
    assert says in (table.unseen or "")


def test_finding_one_tensor_reads_one_header(sharded):
    folder = WeightFolder(sharded)
    (sharded / "model-1.safetensors").write_bytes(b"broken")
    found = folder.find("c")
    assert found is not None
    assert found.shape == (4,)
    assert folder.find("nothing") is None


def test_bytes_of_a_small_tensor_and_none_past_the_end(sharded):
    table = read_weights(sharded)
    assert table.read(table.tensors["c"]) == bytes(16)
    assert table.read(table.tensors["c"]._replace(end=10**6)) is None
    assert table.read(table.tensors["c"]._replace(end=10**9)) is None
