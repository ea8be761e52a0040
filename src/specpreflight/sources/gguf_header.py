"""Say what a GGUF file is: its version, architecture, number of tensors and file type.

Only the first megabyte is read, and of the metadata only what stands before the vocabulary
(ggml-org/ggml `docs/gguf.md`).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

_MAGIC: Final = b"GGUF"
_READ_LIMIT: Final = 1_000_000
#: Metadata value types by number: the format of a scalar.
_SCALARS: Final = ("B", "b", "H", "h", "I", "i", "f", "?", None, None, "Q", "q", "d")
_STRING: Final = 8
#: `general.file_type` of llama.cpp's `llama_ftype`, the common ones.
_FILE_TYPES: Final = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 30: "IQ4_XS", 32: "BF16",
}  # fmt: skip


def describe_gguf(path: Path) -> str:
    """Return what the file is in words: `GGUF version 3, llama, 291 tensors, Q4_K_M`."""
    try:
        with path.open("rb") as file:
            data = file.read(_READ_LIMIT)
    except OSError as error:
        return f"a GGUF file that can't be read ({(error.strerror or 'error').lower()})"
    if data[:4] != _MAGIC or len(data) < 24:
        return "no GGUF file, whatever its name says"
    version, tensors, count = struct.unpack_from("<IQQ", data, 4)
    if version < 2 or version > 0xFFFF:
        return "GGUF of another version or byte order"
    stated = _read_metadata(data, min(count, 10_000))
    parts = [f"GGUF version {version}"]
    if isinstance(architecture := stated.get("general.architecture"), str):
        parts.append(architecture[:40])
    parts.append(f"{tensors} tensors")
    if isinstance(kind := stated.get("general.file_type"), int):
        parts.append(_FILE_TYPES.get(kind, f"file type {kind}"))
    return ", ".join(parts)


def _read_metadata(data: bytes, count: int) -> dict[str, object]:
    """Return the `general.*` entries up to the first list, which is the vocabulary's."""
    found: dict[str, object] = {}
    at = 24
    try:
        for _ in range(count):
            key, at = _string(data, at)
            (kind,) = struct.unpack_from("<I", data, at)
            at += 4
            value: object
            if kind == _STRING:
                value, at = _string(data, at)
            elif kind < len(_SCALARS) and (code := _SCALARS[kind]) is not None:
                (value,) = struct.unpack_from(f"<{code}", data, at)
                at += struct.calcsize(code)
            else:
                break
            if key.startswith("general."):
                found[key] = value
    except (struct.error, ValueError):
        return found
    return found


def _string(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", data, at)
    end = at + 8 + length
    if end > len(data):
        raise ValueError
    return data[at + 8 : end].decode("utf-8", "replace"), end
