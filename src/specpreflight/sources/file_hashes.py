"""Hashes of what a launch was made of: a checkpoint's small files, headers of weights, a tree."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Final

from specpreflight.models.lock import EngineSource, FileHash

_WEIGHTS: Final = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".npz")
#: Bytes of a weight file whose format has no length of its header in front, and of any other file
#: too large for a configuration.
_START: Final = 65_536
#: Bytes; a tokenizer.json of 200,000 merges has some 20 MB, an index of 100,000 tensors 10 MB.
_WHOLE: Final = 256_000_000


def hash_checkpoint(directory: Path) -> dict[str, FileHash]:
    """Return the hash of every file directly in a checkpoint's folder, by name.

    Of weights only the header is read: names, dtypes, shapes and places of the tensors. What can't
    be read is left out, hidden files and folders too.
    """
    found = {}
    for path in sorted(directory.iterdir()):
        if path.name.startswith(".") or not path.is_file():
            continue
        try:
            found[path.name] = _hash_file(path)
        except OSError:
            continue
    return found


def hash_bytes(data: bytes) -> FileHash:
    """Return the hash of a file whose content is at hand."""
    return FileHash(len(data), len(data), hashlib.sha256(data).hexdigest())


def hash_tree(package: Path) -> EngineSource:
    """Return one hash for the names and contents of all Python files of a package folder."""
    total, count = hashlib.sha256(), 0
    for path in sorted(package.rglob("*.py")):
        try:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError:
            continue
        total.update(f"{path.relative_to(package).as_posix()} {content}\n".encode())
        count += 1
    return EngineSource("tree", total.hexdigest(), count, str(package))


def _hash_file(path: Path) -> FileHash:
    size = path.stat().st_size
    with path.open("rb") as file:
        if path.suffix == ".safetensors":
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            wanted = min(8 + length, size, _WHOLE)
        elif path.suffix in _WEIGHTS or size > _WHOLE:
            wanted = min(size, _START)
        else:
            wanted = size
        file.seek(0)
        data = file.read(wanted)
    return FileHash(size, len(data), hashlib.sha256(data).hexdigest())
