"""What a check can see of a checkpoint, as one digest: equal ones give equal reports.

The digest is of everything but the path: config.json, the other names with their kind, size, mode
and owner, where links lead, how much older the config is, the index, and the headers of weights.
Tensor data and tokenizers are large and rarely looked at; a check that did is not repeated for
another directory unless they are the same there as well (`content_of`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

_DAY: Final = 86_400
_INDEX: Final = "model.safetensors.index.json"
_SIDE_FILES: Final = frozenset({_INDEX, "hf_quant_config.json", "generation_config.json"})
_TOKENIZERS: Final = ("tokenizer_config.json", "tokenizer.json", "vocab.json", "tokenizer.model")

#: Bytes of a safetensors header above which the library refuses the file.
_HEADER_LIMIT: Final = 100_000_000


def is_known_by_path(config: bytes) -> bool:
    """Return whether the path of a checkpoint counts as well, so that it is like no other.

    transformers 4 guesses a missing `model_type` from the path's text
    (`models/auto/configuration_auto.py:AutoConfig.from_pretrained`).
    """
    return b'"model_type"' not in config


def identify(config: bytes, surroundings: bytes) -> bytes:
    """Return the digest of a checkpoint, given those of its config.json and of what is beside."""
    return blake2b(config + surroundings, digest_size=16).digest()


def digest_surroundings(status: os.stat_result, entries: Sequence[os.DirEntry[str]]) -> bytes:
    """Return the digest of a directory's entries, sorted by name.

    Args:
        status: that of its config.json.
        entries: all of them.

    Raises:
        OSError: a file that is part of it cannot be read.
    """
    facts: list[object] = []
    for entry in entries:
        name = entry.name
        try:
            found = status if name == "config.json" else entry.stat()
        except OSError:
            facts += (name, "dangling")
            continue
        facts += (name, found.st_mode, found.st_uid, found.st_gid)
        if entry.is_symlink():
            facts += ("link", os.path.realpath(entry.path))
        if found is status:
            continue
        if stat.S_ISDIR(found.st_mode):
            names = _names_in(entry.path)
            facts += (len(names), *names)
            continue
        days = int(max(found.st_mtime - status.st_mtime, 0) // _DAY)
        facts += (found.st_size, days)
        if not stat.S_ISREG(found.st_mode):  # a pipe would never end
            continue
        if name.endswith(".safetensors"):
            facts.append(digest_of(_read_header(entry.path)).hex())
        elif name in _SIDE_FILES:
            facts.append(digest_of(Path(entry.path).read_bytes()).hex())
    return digest_of("\0".join(map(str, facts)).encode("utf-8", "surrogateescape"))


def digest_of(data: bytes) -> bytes:
    """Return the digest of a file's bytes."""
    return blake2b(data, digest_size=16).digest()


def tokenizer_digest(directory: str) -> bytes:
    """Return the digest of the tokenizer's files in a directory.

    Raises:
        OSError: one of them cannot be read.
    """
    facts = []
    for name in _TOKENIZERS:
        path = Path(directory, name)
        if path.is_file():
            facts += [name, digest_of(path.read_bytes()).hex()]
    return digest_of("\0".join(facts).encode())


def _names_in(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))  # noqa: PTH208
    except OSError as error:
        return [str(error.errno)]


def _read_header(path: str) -> bytes:
    """Return the length and header of a safetensors file, or what there is of them."""
    with open(path, "rb") as file:  # noqa: PTH123 (pathlib costs more)
        start = file.read(8)
        length = int.from_bytes(start, "little")
        return start + (file.read(length) if length <= _HEADER_LIMIT else b"")
