"""Reading a `launch.lock.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from specpreflight.documents.read import read_bytes
from specpreflight.errors import InputError
from specpreflight.models.lock import FORMAT_VERSION, Lock

_HINT: Final = "one is written by: specpreflight record -- COMMAND"


def read_lock(path: str) -> Lock:
    """Return the launch that a lock file records.

    Raises:
        InputError: it cannot be read, is no lock file, or is of another format.
    """
    try:
        data = json.loads(read_bytes(Path(path), path))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise InputError(f"{path}:{line}: not JSON", hint=_HINT) from None
    if not is_lock(data):
        raise InputError(f"{path}: no recorded launch", hint=_HINT)
    if data["format_version"] != FORMAT_VERSION:
        raise InputError(
            f"{path}: format version {data['format_version']!r}, known is {FORMAT_VERSION}",
            hint="record the launch again",
        )
    from pydantic import ValidationError

    from specpreflight.models.schema import lock_of

    try:
        return lock_of(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = "/".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: /{place}: {first['msg'].lower()}", hint=_HINT) from None


def is_lock(data: Any) -> bool:
    """Return whether JSON data looks like a recorded launch, of whatever format version."""
    return isinstance(data, dict) and {"format_version", "report", "argv"} <= data.keys()
