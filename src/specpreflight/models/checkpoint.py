"""A checkpoint: a directory with a `config.json`, and the view of its text model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specpreflight.documents import Document
from specpreflight.models.finding import Origin, Value


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a checkpoint could not be read.

    `kind` is `missing` (no such folder or file), `not-cached` (a Hub id that is not in the local
    cache), `invalid` (there, but no JSON object) or `unreadable`. `message` and `hint` are those
    of the `InputError`.
    """

    kind: str
    message: str
    hint: str | None = None


@dataclass(frozen=True)
class Checkpoint:
    """A target or a draft, as read.

    Attributes:
        role: `target` or `draft`.
        given: the path or Hub id as the user wrote it; reports use it.
        directory: the folder that holds `config.json`, or `None` if only an id is known.
        config: the parsed `config.json`; its root is `{}` where there is a problem.
        files: names in the directory (not recursive), sorted.
        problem: why it could not be read; the engine predicts what it would say of that.
    """

    role: str
    given: str
    directory: Path | None
    config: Document
    files: tuple[str, ...] = ()
    problem: Problem | None = None
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
