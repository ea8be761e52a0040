"""A checkpoint: a directory with a `config.json`, and the view of its text model."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from specpreflight.documents import Document
from specpreflight.documents.pointer import split_pointer
from specpreflight.models.finding import Origin, Value
from specpreflight.models.frozen import dataclass

#: Where multimodal configs keep their language model.
TEXT_POINTERS = (
    "/thinker_config/text_config",
    "/text_config",
    "/llm_config",
    "/language_config",
)
#: The keys at the top that lead there.
_NESTING = frozenset(split_pointer(pointer)[0] for pointer in TEXT_POINTERS)


class Problem(NamedTuple):
    """Why a checkpoint could not be read.

    `kind` is `missing` (no such folder or file), `not-cached` (a Hub id that is not in the local
    cache), `invalid` (there, but no JSON object) or `unreadable`. `message` and `hint` are those
    of the `InputError`.
    """

    kind: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
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

    @property
    def text_pointer(self) -> str:
        """Return the JSON pointer of the language model's config, empty for the top level.

        Multimodal configs nest it under one of `TEXT_POINTERS`. Where several are there, the
        first that states a hidden size; releases of an engine may choose another.
        """
        if _NESTING.isdisjoint(self.config.root):
            return ""
        for pointer in TEXT_POINTERS:
            nested = self.config.get(pointer)
            if isinstance(nested, dict) and "hidden_size" in nested:
                return pointer
        return ""

    @property
    def text(self) -> dict[str, Any]:
        """Return the language model's part of the config."""
        nested = self.config.get(self.text_pointer)
        return nested if isinstance(nested, dict) else {}

    def text_value(self, label: str, key: str) -> Value:
        """Return a value of the language model's config with its origin."""
        return self.value(label, f"{self.text_pointer}/{key}")

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
