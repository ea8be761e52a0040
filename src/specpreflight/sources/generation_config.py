"""Look at `generation_config.json` as transformers reads it: is it a JSON object?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from specpreflight.models.checkpoint import Problem

GENERATION_CONFIG: Final = "generation_config.json"
#: Bytes; it holds a dozen numbers.
_SIZE_LIMIT: Final = 4_000_000


def find_generation_problem(directory: Path) -> Problem | None:
    """Return what is wrong with the file, `None` where it is sound or not there.

    The kind is `unreadable` where transformers raises an OSError (no access, no JSON, not UTF-8, a
    byte-order mark), `not-object` where it is JSON of another kind.
    """
    path = directory / GENERATION_CONFIG
    try:
        if path.is_fifo():
            return Problem("unreadable", "can't be read: is a named pipe")
        with path.open("rb") as file:
            data = file.read(_SIZE_LIMIT + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Problem("unreadable", f"can't be read: {(error.strerror or 'error').lower()}")
    if len(data) > _SIZE_LIMIT:
        return Problem("unreadable", f"is larger than {_SIZE_LIMIT} bytes")
    try:
        root = json.loads(data.decode("utf-8"))
    except json.JSONDecodeError as error:
        return Problem("unreadable", f"is not JSON: line {error.lineno}, {error.msg.lower()}")
    except (ValueError, RecursionError):
        return Problem("unreadable", "is not JSON: not UTF-8 text, or nested too deeply")
    if isinstance(root, dict):
        return None
    return Problem("not-object", f"holds a {type(root).__name__}, expected an object")
