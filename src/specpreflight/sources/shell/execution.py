"""What a shell hands over, what it reads, and the ways in which it leaves a script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specpreflight.models.launch import Variable


@dataclass(frozen=True, slots=True)
class Execution:
    """An external command: its words, the variables the script hands it, and where it stands.

    `given` are the variables that the script itself was given; `unexported` those that stay in
    the shell; `directory` where it has changed to.
    """

    words: tuple[str, ...]
    environment: Mapping[str, Variable]
    given: Mapping[str, str]
    unexported: tuple[Variable, ...]
    line: int
    directory: str | None
    files: Mapping[str, str]
    stdin: str | None = None


class Exit(Exception):
    """The script ends."""


class Return(Exception):
    """A function, or a sourced file, ends."""

    def __init__(self, succeeded: bool) -> None:
        super().__init__()
        self.succeeded = succeeded


class Leave(Exception):
    """`break` or `continue` through `levels` loops."""

    def __init__(self, levels: int, again: bool) -> None:
        super().__init__()
        self.levels = levels
        self.again = again


@dataclass(slots=True)
class Input:
    """What a command can read, as far as it is known."""

    text: str = ""

    def read(self, delimiter: str = "\n") -> str | None:
        """Take the text up to the delimiter (all of it where that is empty)."""
        if not self.text:
            return None
        line, found, rest = self.text.partition(delimiter) if delimiter else (self.text, "", "")
        self.text = rest if found else ""
        return line
