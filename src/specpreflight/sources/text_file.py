"""Reading a small text file of the user's, with one clear line for everything that can be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from specpreflight.errors import InputError

#: No environment, conf or topology file is larger; a larger one is not what it claims to be.
LARGEST: Final = 4 * 1024 * 1024
_BOM: Final = "\ufeff"


def read_text_file(path: Path, given: str | None = None) -> str:
    """Return a file's text without a byte-order mark; `given` is how the user named it.

    Raises:
        InputError: it is missing, a directory, unreadable, over 4 MiB, or not UTF-8 text.
    """
    name = str(path) if given is None else given
    return decode_text(read_bytes(path, name), name).removeprefix(_BOM)


def read_bytes(path: Path, given: str) -> bytes:
    """Return a file's bytes, at most 4 MiB of them (devices and pipes never end).

    Raises:
        InputError: it is missing, a directory, unreadable, or larger.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except FileNotFoundError:
        raise InputError(f"{given}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{given}: is a directory, not a file") from None
    except PermissionError:
        raise InputError(
            f"{given}: permission denied", hint="run as a user who may read it"
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{given}: cannot be read ({reason.lower()})") from None
    if len(data) > LARGEST:
        raise InputError(f"{given}: larger than 4 MiB, not an environment or listing file")
    return data


def decode_text(data: bytes, given: str) -> str:
    """Decode UTF-8.

    Raises:
        InputError: it is not UTF-8, or holds NUL bytes; the line is named.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{given}:{line}: not UTF-8 text (byte 0x{data[error.start]:02x})"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{given}:{line}: binary data (a NUL byte), not a text file")
    return text
