"""A checkpoint: a directory with a `config.json`, and the view of its text model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specpreflight.documents import Document
from specpreflight.models.finding import Origin, Value


@dataclass(frozen=True)
class Checkpoint:
    """A target or a draft, as read.

    Attributes:
        role: `target` or `draft`.
        given: the path or Hub id as the user wrote it; reports use it.
        directory: the folder that holds `config.json`, or `None` if only an id is known.
        config: the parsed `config.json`.
        files: names in the directory (not recursive), sorted.
    """

    role: str
    given: str
    directory: Path | None
    config: Document
    files: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    def origin(self, pointer: str) -> Origin:
        """Return the place of the value at `pointer` in config.json (of the file if absent)."""
        place = self.config.place(pointer)
        if place is None:
            return Origin("file", path=self.config.name, pointer=pointer)
        return Origin(
            "file",
            path=self.config.name,
            pointer=pointer,
            line=place.line,
            column=place.column,
            end_column=place.end_column,
        )

    def value(self, label: str, pointer: str) -> Value:
        """Return the value at `pointer` with its origin (JSON null where it is absent)."""
        return Value(label, self.config.get(pointer), self.origin(pointer))
