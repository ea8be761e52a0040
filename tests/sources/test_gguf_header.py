"""What is said of a GGUF file."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specpreflight.sources.gguf_header import describe_gguf


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


HEAD = b"GGUF" + struct.pack("<IQQ", 3, 291, 4)
SOUND = HEAD + b"".join(
    (
        entry("general.architecture", 8, text("llama")),
        entry("general.name", 8, text("x")),
        entry("general.file_type", 4, struct.pack("<I", 15)),
        entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 1) + text("a")),
    )
)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (SOUND, "GGUF version 3, llama, 291 tensors, Q4_K_M"),
        (SOUND[:80], "GGUF version 3, llama, 291 tensors"),
        (HEAD, "GGUF version 3, 291 tensors"),
        (b"GGUF" + struct.pack(">IQQ", 3, 1, 0), "GGUF of another version or byte order"),
        (b"GGUF" + struct.pack("<IQQ", 1, 1, 0), "GGUF of another version or byte order"),
        (b"version https://git-lfs.github.com/spec/v1\n", "no GGUF file, whatever its name says"),
        (b"", "no GGUF file, whatever its name says"),
    ],
)
def test_a_file_in_words(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "m.gguf").write_bytes(data)
    assert describe_gguf(tmp_path / "m.gguf") == says


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in describe_gguf(tmp_path / "m.gguf")


def test_the_projects_own_writer_is_understood(tmp_path: Path) -> None:
    library = pytest.importorskip("gguf")
    numpy = pytest.importorskip("numpy")
    writer = library.GGUFWriter(tmp_path / "m.gguf", "qwen3")
    writer.add_file_type(18)
    writer.add_tensor("token_embd.weight", numpy.zeros((4, 8), numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert describe_gguf(tmp_path / "m.gguf") == "GGUF version 3, qwen3, 1 tensors, Q6_K"


@given(st.binary(max_size=200), st.integers(0, len(SOUND)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_bytes_make_it_fail(tmp_path: Path, more: bytes, at: int) -> None:
    (tmp_path / "m.gguf").write_bytes(SOUND[:at] + more)
    assert "\n" not in describe_gguf(tmp_path / "m.gguf")[:12]
