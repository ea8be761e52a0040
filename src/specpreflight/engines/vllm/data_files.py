"""Reads the data files beside this package, each once and only when it is asked for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "data"


@cache
def read_data(topic: str) -> dict[str, Any]:
    """Return the content of `data/<topic>.json`; callers must not change it."""
    content: dict[str, Any] = json.loads((_FOLDER / f"{topic}.json").read_bytes())
    return content
