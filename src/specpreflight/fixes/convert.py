"""Write a copy of a checkpoint whose tensors have other names; the data bytes are the same.

The copy is made beside its final place and moved there when it is complete, so a run that is
stopped half way leaves nothing under the final name. The source is only read.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from specpreflight.errors import InputError, UsageError

INDEX_NAME = "model.safetensors.index.json"
#: Bytes that are copied at a time where the system can't copy by itself.
_CHUNK = 4 * 1024 * 1024
#: Bytes; the length of a header is aligned to this, as the format's library does.
_ALIGNMENT = 8


def convert_checkpoint(
    source: Path, destination: Path, renaming: Mapping[str, str], config: bytes | None = None
) -> tuple[str, ...]:
    """Write `source` to `destination` with tensors renamed; return the names of written files.

    `config` replaces the bytes of config.json, `None` keeps them. Folders inside `source` are left
    out; links are followed.

    Raises:
        UsageError: `destination` exists.
        InputError: a file can't be read or written, or two tensors would get one name.
    """
    if os.path.lexists(destination):
        raise UsageError(
            f"{destination}: exists, nothing is overwritten", hint="give a path that is not there"
        )
    parent = destination.parent
    if not parent.is_dir():
        raise UsageError(f"{parent}: no such directory", hint="make it first")
    workshop = parent / f".{destination.name}.specpreflight-{os.getpid()}"
    try:
        workshop.mkdir()
        written = _write_all(source, workshop, renaming, config)
        _sync(workshop)
        workshop.rename(destination)
    except OSError as error:
        shutil.rmtree(workshop, ignore_errors=True)
        place = error.filename or source
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{place}: {reason}", hint="nothing was written") from error
    except BaseException:
        shutil.rmtree(workshop, ignore_errors=True)
        raise
    _sync(parent)
    return written


def _write_all(
    source: Path, workshop: Path, renaming: Mapping[str, str], config: bytes | None
) -> tuple[str, ...]:
    names = sorted(entry.name for entry in source.iterdir() if entry.is_file())
    for name in names:
        place = workshop / name
        if name == "config.json" and config is not None:
            _write_bytes(place, config)
        elif name == INDEX_NAME:
            _write_bytes(place, _renamed_index(source / name, renaming))
        elif name.endswith(".safetensors"):
            _write_renamed(source / name, place, renaming)
        else:
            with (source / name).open("rb") as read, place.open("xb") as write:
                _copy_bytes(read, write, os.fstat(read.fileno()).st_size)
                _flush(write)
    return tuple(names)


def _write_renamed(source: Path, place: Path, renaming: Mapping[str, str]) -> None:
    with source.open("rb") as read, place.open("xb") as write:
        size = os.fstat(read.fileno()).st_size
        start = read.read(8)
        if len(start) < 8:
            raise InputError(f"{source}: too short for a safetensors file")
        (length,) = struct.unpack("<Q", start)
        if length + 8 > size:
            raise InputError(f"{source}: the file ends inside its header")
        header = renamed_header(read.read(length), renaming, source)
        write.write(struct.pack("<Q", len(header)) + header)
        write.flush()
        _copy_bytes(read, write, size - length - 8)
        _flush(write)


def renamed_header(text: bytes, renaming: Mapping[str, str], source: Path) -> bytes:
    """Return a header with tensors renamed, in the order it had, padded with blanks.

    Raises:
        InputError: the header is no JSON object, or two tensors would get one name.
    """
    try:
        root = json.loads(text.decode("utf-8"))
    except ValueError as error:
        raise InputError(f"{source}: the header is not JSON: {error}") from error
    if not isinstance(root, dict):
        raise InputError(f"{source}: the header is not a JSON object")
    renamed: dict[str, Any] = {}
    for name, entry in root.items():
        new = name if name == "__metadata__" else renaming.get(name, name)
        if new in renamed:
            raise InputError(f"{source}: two tensors would be called {new}")
        renamed[new] = entry
    encoded = json.dumps(renamed, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return encoded + b" " * (-len(encoded) % _ALIGNMENT)


def _renamed_index(source: Path, renaming: Mapping[str, str]) -> bytes:
    try:
        index = json.loads(source.read_bytes().decode("utf-8"))
        places = index["weight_map"]
        index["weight_map"] = {renaming.get(name, name): file for name, file in places.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{source}: not an index of weights") from error
    return json.dumps(index, indent=2, ensure_ascii=False).encode("utf-8") + b"\n"


def _copy_bytes(read: IO[bytes], write: IO[bytes], count: int) -> None:
    """Copy `count` bytes from where both files stand, inside the kernel where it can."""
    offset = read.tell()
    write.flush()
    while count and hasattr(os, "copy_file_range"):
        try:
            done = os.copy_file_range(read.fileno(), write.fileno(), count, offset)
        except OSError:
            break
        if done == 0:
            break
        offset, count = offset + done, count - done
    write.seek(0, os.SEEK_END)
    read.seek(offset)
    while count:
        chunk = read.read(min(_CHUNK, count))
        if not chunk:
            raise InputError(f"{read.name}: the file ended while it was copied")
        write.write(chunk)
        count -= len(chunk)


def _write_bytes(place: Path, data: bytes) -> None:
    with place.open("xb") as write:
        write.write(data)
        _flush(write)


def _flush(write: IO[bytes]) -> None:
    write.flush()
    os.fsync(write.fileno())


def _sync(directory: Path) -> None:
    """Make the names in a directory durable, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
