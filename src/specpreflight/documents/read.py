"""Reading a JSON file that anybody may have put there: every failure is one line and a remedy."""

from __future__ import annotations

import errno
import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from specpreflight.documents.document import BYTE_ORDER_MARK, Document
from specpreflight.documents.malformed import explain_foreign, explain_syntax
from specpreflight.errors import InputError

#: Bytes. The largest honest JSON file of a checkpoint, a tokenizer or the index of 100,000
#: tensors, has some 30 MB.
SIZE_LIMIT = 256 * 1024 * 1024

#: Levels of arrays and objects; well below Python's recursion limit, far above any configuration.
DEPTH_LIMIT = 200

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt", ".pth", ".ckpt", ".npz", ".h5")

_REASONS: dict[int, tuple[str, str]] = {
    errno.EACCES: (
        "no permission to read it",
        "make it and its directories readable for this user",
    ),
    errno.EPERM: ("no permission to read it", "make it readable for this user"),
    errno.ELOOP: ("its symbolic links form a loop", "make the link point to a file"),
    errno.ENAMETOOLONG: ("the name is too long", "check the path"),
    errno.EISDIR: ("is a directory, not a file", "give the JSON file itself"),
    errno.ENXIO: ("is a socket or a device, not a file", "give a regular file"),
    errno.ESTALE: ("the network file system lost it", "check the mount and try again"),
    errno.EIO: ("the disk or network file system failed to read it", "check the mount"),
}


def read_document(
    path: str | Path, name: str | None = None, *, limit: int = SIZE_LIMIT
) -> Document:
    """Read a JSON file whose top level is an object.

    Args:
        path: a regular file, or a link to one; anything else is refused without blocking.
        name: what messages and reports call it; the path itself if not given.
        limit: size in bytes from which on the file is refused unread.

    Raises:
        InputError: the file is missing, unreadable or not such a JSON file.
    """
    path = Path(path)
    name = printable(name or str(path))
    return parse_document(read_bytes(path, name, limit=limit), name, path)


def parse_document(data: bytes, name: str, path: Path | None = None) -> Document:
    """Return the document in `data`, read from wherever it was.

    A byte order mark is accepted (`Document.has_bom` tells of it), as are NaN and Infinity
    (`Document.constants`) and duplicate keys (`Document.duplicates`).

    Raises:
        InputError: it is not UTF-8, not JSON, or its top level is not an object.
    """
    foreign = explain_foreign(data)
    if foreign is not None:
        raise InputError(f"{name}: {foreign.problem}", hint=foreign.hint)
    try:
        text = data.removeprefix(BYTE_ORDER_MARK).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise InputError(
            f"{name}:{line}:{column}: byte 0x{data[error.start]:02x} is not UTF-8",
            hint="save the file as UTF-8; the engines read no other encoding",
        ) from None
    try:
        root = json.loads(text)
    except json.JSONDecodeError as error:
        syntax = explain_syntax(text, error)
        raise InputError(
            f"{name}:{syntax.line}:{syntax.column}: {syntax.problem}", hint=syntax.hint
        ) from None
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError:
        raise InputError(
            f"{name}: a number has more digits than Python converts",
            hint="restore the file from its source",
        ) from None
    if not isinstance(root, dict):
        raise InputError(
            f"{name}:1:1: the top level is {kind_of(root)}, expected an object",
            hint="a config.json begins with {",
        )
    if text.count("[") + text.count("{") > DEPTH_LIMIT and _is_deeper(root, DEPTH_LIMIT):
        raise _too_deep(name)
    return Document(name, data, root, path)


def refuse_byte_order_mark(document: Document) -> None:
    """Refuse a config that begins with a byte order mark, as the engines do.

    transformers gives what it read as UTF-8 to `json.loads`, which takes no U+FEFF
    (`configuration_utils.py:_dict_from_json_file`, all releases from 4.54 to 5.19).

    Raises:
        InputError: it begins with one.
    """
    if document.has_bom:
        raise InputError(
            f"{document.name}:1:1: begins with a byte order mark, which the engines do not read",
            hint=r"save it as UTF-8 without one, or: sed -i '1s/^\xef\xbb\xbf//' config.json",
        )


def read_bytes(path: str | Path, name: str, *, limit: int = SIZE_LIMIT) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes; never block.

    Raises:
        InputError: it is missing, unreadable, too large or no regular file.
    """
    return read_with_status(path, name, limit=limit)[0]


def read_with_status(
    path: str | Path, name: str, *, limit: int = SIZE_LIMIT
) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a regular file and its status, as `read_bytes` does.

    Raises:
        InputError: it is missing, unreadable, too large or no regular file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except ValueError:
        raise InputError(f"{name}: the name holds a null character", hint="check it") from None
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(Path(path), name) from None
    except OSError as error:
        raise _unreadable(name, error) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{name}: {_file_kind(status.st_mode)}", hint=_FILE_KIND_HINT)
        if os.fspath(path).endswith(WEIGHT_SUFFIXES):
            raise InputError(
                f"{name}: is a weights file, expected a checkpoint's directory or its config.json",
                hint="give the directory that holds it",
            )
        if status.st_size > limit:
            raise InputError(
                f"{name}: has {status.st_size:,} bytes, more than the {limit:,} that are read",
                hint="it is no configuration file; check what was copied there",
            )
        data = os.read(descriptor, status.st_size + 1)
        while len(data) != status.st_size and (chunk := os.read(descriptor, status.st_size + 1)):
            data += chunk
    except OSError as error:
        raise _unreadable(name, error) from None
    else:
        return data, status
    finally:
        with suppress(OSError):  # nothing is lost of a file that was only read
            os.close(descriptor)


def printable(name: str) -> str:
    """Return a file name with line breaks and other control characters escaped."""
    return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")


def kind_of(value: object) -> str:
    """Return JSON's word for the type of a parsed value, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def _is_deeper(root: Any, levels: int) -> bool:
    """Whether arrays and objects are nested more than `levels` deep."""
    level: list[Any] = [root]
    for _ in range(levels):
        level = [
            child
            for value in level
            for child in (value.values() if isinstance(value, dict) else value)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def _too_deep(name: str) -> InputError:
    return InputError(
        f"{name}: arrays or objects are nested too deeply to be a configuration",
        hint="restore the file from its source",
    )


_FILE_KIND_HINT = "give a regular file or a directory that holds config.json"


def _file_kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "is a directory, expected a JSON file"
    if stat.S_ISFIFO(mode):
        return "is a named pipe, expected a regular file"
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return "is a device, expected a regular file"
    return "is no regular file"


def _missing(path: Path, name: str) -> InputError:
    if path.is_symlink():
        target = printable(str(path.readlink()))
        return InputError(
            f"{name}: is a link to {target}, which does not exist",
            hint="copy the file itself; of a Hub cache, the blobs folder must be copied too",
        )
    for parent in reversed(path.parents):
        if not parent.is_dir():
            problem = "is a file, not a directory" if parent.exists() else "does not exist"
            return InputError(f"{name}: {printable(str(parent))} {problem}", hint="check the path")
    return InputError(f"{name}: no such file", hint="check the path")


def _unreadable(name: str, error: OSError) -> InputError:
    reason, hint = _REASONS.get(
        error.errno or 0, ((error.strerror or str(error)).lower(), "check the file")
    )
    return InputError(f"{name}: {reason}", hint=hint)
