"""The header reader: what a sound file says, and one line for every way of being broken."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specpreflight.models.weights import DTYPE_BITS
from specpreflight.sources import safetensors_headers
from specpreflight.sources.safetensors_headers import HEADER_LIMIT, parse_header, read_header


def encode(entries: object, data: int = 0) -> bytes:
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + bytes(data)


def entry(start: int, end: int, shape: list[int], dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


SOUND = {"__metadata__": {"format": "pt"}, "a": entry(0, 24, [2, 3]), "b": entry(24, 28, [])}


def read(tmp_path: Path, content: bytes):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    return read_header(path, path.name)


def test_a_sound_file_gives_names_shapes_dtypes_and_places(tmp_path):
    content = encode(SOUND, 28)
    header = read(tmp_path, content)
    assert header.problems == ()
    assert header.metadata == {"format": "pt"}
    first, second = header.tensors["a"], header.tensors["b"]
    assert (first.dtype, first.shape, first.elements) == ("F32", (2, 3), 6)
    assert (first.start, first.end) == (len(content) - 28, len(content) - 4)
    assert (second.shape, second.elements, second.end) == ((), 1, len(content))


@pytest.mark.parametrize(
    ("content", "kind", "says"),
    [
        (b"", "empty", "the file is empty"),
        (b"\x01\x02", "truncated", "2 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "lfs-pointer", "git-lfs pointer"),
        (b"<!DOCTYPE html><html>not found</html>", "html", "web page"),
        (b"\n <html>sign in</html>", "html", "web page"),
        (b"GGUF\x03\x00\x00\x00" + bytes(64), "not-safetensors", "no `{`"),
        (b"PK\x03\x04" + bytes(64), "not-safetensors", "no `{`"),
        (struct.pack("<Q", 200) + b'{"a":', "truncated", "header alone needs 208"),
        (struct.pack("<Q", 2**63) + b"{}" + bytes(64), "header-size", "100000000"),
        (encode(b"{not json"), "header-json", "not JSON"),
        (encode(b'{"a": NaN}'), "header-json", "NaN"),
        (encode(b'{"a": "\xff"}'), "header-json", "not JSON"),
        (encode(b"{" + b'"a":{' * 3000 + b"}" * 3001), "header-json", "not JSON"),
        (encode(b'{"a": [1]}'), "entry", "`a` is malformed"),
        (encode({"a": entry(0, 4, [1], "F99")}, 4), "dtype", "'F99'"),
        (encode({"a": entry(4, 0, [1])}, 4), "entry", "malformed"),
        (encode({"a": entry(0, 4, [-1])}, 4), "entry", "malformed"),
        (encode({"a": entry(0, 4, [1.0])}, 4), "entry", "malformed"),
        (encode({"a": entry(0, 4, [True])}, 4), "entry", "malformed"),
        (encode({"a": entry(0, 4, [2])}, 4), "offsets", "spans 4 bytes, its shape needs 8"),
        (encode({"a": entry(0, 4, [1]), "b": entry(2, 6, [1])}, 6), "offsets", "overlaps"),
        (encode({"a": entry(0, 4, [1]), "b": entry(8, 12, [1])}, 12), "offsets", "hole"),
        (encode(SOUND, 27), "truncated", "its tensors need"),
        (encode(SOUND, 29), "trailing-bytes", "its tensors end at"),
        (encode({"__metadata__": {"a": 1}}), "entry", "`__metadata__`"),
        (encode({"a": entry(0, 0, [0] * 65)}), "entry", "malformed"),
    ],
)
def test_a_broken_file_is_named_in_one_line(tmp_path, content, kind, says):
    header = read(tmp_path, content)
    assert header.problems[0].kind == kind
    assert says in header.problems[0].message
    assert "\n" not in header.problems[0].message


def test_a_file_that_cannot_be_opened_is_a_problem(tmp_path):
    missing = read_header(tmp_path / "gone.safetensors", "gone.safetensors")
    assert missing.problems[0].kind == "unreadable"
    assert "no such file" in missing.problems[0].message


def test_a_header_above_the_limit_is_not_read(tmp_path):
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", HEADER_LIMIT + 1) + b"{")
        file.truncate(HEADER_LIMIT + 1000)
    problem = read_header(path, path.name).problems[0]
    assert problem.kind == "header-size"
    assert str(HEADER_LIMIT) in problem.message


def test_four_bit_tensors_count_half_a_byte(tmp_path):
    header = read(tmp_path, encode({"a": entry(0, 3, [2, 3], "F4")}, 3))
    assert header.problems == ()


@st.composite
def sound_entries(draw) -> tuple[dict[str, object], int]:
    names = draw(st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=6))
    entries, place = {}, 0
    for name in names:
        shape = draw(st.lists(st.integers(0, 5), max_size=3))
        dtype = draw(st.sampled_from(["F32", "BF16", "I64", "BOOL", "F8_E4M3"]))
        size = DTYPE_BITS[dtype] // 8
        for length in shape:
            size *= length
        entries[name] = entry(place, place + size, shape, dtype)
        place += size
    return entries, place


@given(sound_entries())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_it_reads_what_the_library_reads(tmp_path, made):
    library = pytest.importorskip("safetensors")
    entries, size = made
    entries.pop("__metadata__", None)
    content = encode(entries, size)
    header = read(tmp_path, content)
    theirs = {name: tuple(each["shape"]) for name, each in library.deserialize(content)}
    assert header.problems == ()
    assert {name: each.shape for name, each in header.tensors.items()} == theirs


def mutations(content: bytes):
    """Flip, cut, repeat or insert bytes of a sound file."""
    place = st.integers(0, len(content))
    return st.one_of(
        st.tuples(place, st.integers(0, 255)).map(
            lambda pair: content[: pair[0]] + bytes([pair[1]]) + content[pair[0] + 1 :]
        ),
        place.map(lambda at: content[:at]),
        st.tuples(place, place).map(
            lambda pair: content[: pair[0]] + content[min(pair) : max(pair)] + content[pair[1] :]
        ),
        st.tuples(place, st.binary(max_size=20)).map(
            lambda pair: content[: pair[0]] + pair[1] + content[pair[0] :]
        ),
        st.binary(max_size=100),
        st.integers(0, 2**64 - 1).map(lambda size: struct.pack("<Q", size) + content[8:]),
    )


def check_mutated(tmp_path: Path, content: bytes, monkeypatch) -> None:
    limited = 4096
    monkeypatch.setattr(safetensors_headers, "HEADER_LIMIT", limited)
    header = read(tmp_path, content)
    assert all("\n" not in problem.message for problem in header.problems)
    broken = {problem.kind for problem in header.problems}
    for tensor in header.tensors.values():
        assert 0 <= tensor.start <= tensor.end
        assert tensor.end <= len(content) or broken & {"truncated", "offsets", "entry", "dtype"}
    _agree_with_the_library(content, header)


def _agree_with_the_library(content: bytes, header) -> None:
    """What the library takes has no problem here; what it refuses has one."""
    library = pytest.importorskip("safetensors")
    try:
        library.deserialize(content)
        refused = False
    except Exception:
        refused = True
    if not refused:
        assert {problem.kind for problem in header.problems} <= {
            "header-size",
            "html",
            "lfs-pointer",
        }


@given(mutations(encode(SOUND, 28)))
@settings(
    max_examples=2000,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
def test_mutated_files_never_raise_and_never_reach_outside(tmp_path, content):
    with pytest.MonkeyPatch.context() as monkeypatch:
        check_mutated(tmp_path, content, monkeypatch)


def mutated(chance: random.Random, content: bytes) -> bytes:
    """Change a sound file: bytes, its length, or one value of its header."""
    way = chance.randrange(8)
    at = chance.randrange(len(content) + 1)
    if way == 0:
        return content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]
    if way == 1:
        return content[:at]
    if way == 2:
        other = chance.randrange(len(content) + 1)
        return content[:other] + content[min(at, other) : max(at, other)] + content[other:]
    if way == 3:
        return content[:at] + chance.randbytes(chance.randrange(20)) + content[at:]
    if way == 4:
        return chance.randbytes(chance.randrange(100))
    if way == 5:
        size = chance.choice([0, 1, len(content), 2**31, 2**63, 2**64 - 1, chance.getrandbits(64)])
        return struct.pack("<Q", size) + content[8:]
    (length,) = struct.unpack("<Q", content[:8])
    root = json.loads(content[8 : 8 + length])
    _change_entry(chance, root)
    return encode(root, len(content) - 8 - length + chance.choice([0, 0, 0, 1, -1, 4]) % 64)


ODD = (0, 1, -1, 2**31, 2**63, 2**64, 10**30, 1.5, True, None, "1", [], {}, [0], "F32", "f32")


def _change_entry(chance: random.Random, root: dict[str, Any]) -> None:
    name = chance.choice(list(root))
    entry = root[name]
    way = chance.randrange(5)
    if way == 0 or not isinstance(entry, dict) or "shape" not in entry:
        root[name] = chance.choice(ODD)
    elif way == 1:
        entry[chance.choice(list(entry))] = chance.choice(ODD)
    elif way == 2:
        entry["data_offsets"][chance.randrange(2)] = chance.choice([*ODD, 4, 8, 24, 28])
    elif way == 3:
        entry["shape"] = [*entry["shape"], chance.choice(ODD)]
    else:
        del entry[chance.choice(list(entry))]


def sound_files(chance: random.Random) -> list[bytes]:
    """Return twenty files as the library itself writes them."""
    library = pytest.importorskip("safetensors.numpy")
    numpy = pytest.importorskip("numpy")
    dtypes = ("float32", "float16", "int64", "int8", "bool")
    files = [encode(SOUND, 28)]
    for _ in range(19):
        tensors = {
            f"layer.{number}": numpy.zeros(
                [chance.randrange(4) for _ in range(chance.randrange(4))], chance.choice(dtypes)
            )
            for number in range(chance.randrange(1, 12))
        }
        metadata = {"format": "pt"} if chance.random() < 0.5 else None
        files.append(library.save(tensors, metadata))
    return files


@pytest.mark.nightly
def test_a_hundred_thousand_mutated_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes about a minute: one process, no file system between the mutation and the reader."""
    chance = random.Random(20261201)
    files = sound_files(chance)
    refused = 0
    for number in range(100_000):
        content = mutated(chance, chance.choice(files))
        if number % 10:
            refused += check_in_memory(content)
        else:
            check_mutated(tmp_path, content, monkeypatch)
    assert refused > 30_000


def check_in_memory(content: bytes) -> bool:
    """Hold the header's parser to the library; return whether the file is refused."""
    (length,) = struct.unpack("<Q", content[:8]) if len(content) >= 8 else (2**64,)
    if length + 8 > len(content):
        return True
    header = parse_header(content[8 : 8 + length], len(content), "x")
    assert all("\n" not in problem.message for problem in header.problems)
    if not header.problems:
        assert all(0 <= t.start <= t.end <= len(content) for t in header.tensors.values())
    _agree_with_the_library(content, header)
    return bool(header.problems)
