"""How far a scan is: the last line of a terminal, written over and over, and gone at the end."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from time import monotonic
from typing import IO, Final, TypeVar

#: Seconds of work before anything is shown, and from then on between two lines.
AFTER: Final = 1.0
EVERY: Final = 0.1

_BAR: Final = 20
_CLEAR: Final = "\r\x1b[K"

T = TypeVar("T")


class Progress:
    """Shows on a terminal how far something is, once that has taken long.

    Args:
        terminal: `None` for none: nothing is shown, and nothing counted.
    """

    def __init__(self, terminal: IO[str] | None) -> None:
        self._terminal = terminal
        self._next = monotonic() + AFTER
        self._is_shown = False

    def count(self, things: Iterable[T], most: int | None = None) -> Iterable[T]:
        """Return the same things, each of which is counted when the next one is asked for.

        Args:
            things: what is found, or the launches that are checked.
            most: of launches, how many there may be.
        """
        return things if self._terminal is None else self._counted(things, most, self._terminal)

    def _counted(self, things: Iterable[T], most: int | None, terminal: IO[str]) -> Iterator[T]:
        for done, one in enumerate(things, start=1):
            yield one
            now = monotonic()
            if now >= self._next:
                self._next = now + EVERY
                self._is_shown = True
                _tell(terminal, _CLEAR + _line(done, most)[: _columns(terminal) - 1])

    def clear(self) -> None:
        """Make room for what is written now; the line comes back when more is counted."""
        if self._terminal is not None and self._is_shown:
            self._is_shown = False
            _tell(self._terminal, _CLEAR)


def _line(done: int, most: int | None) -> str:
    if most is None:
        return f"{done:,} found"
    most = max(most, done)
    filled = _BAR * done // most
    bar = "#" * filled + "." * (_BAR - filled)
    return f"[{bar}] {done:,} of at most {most:,} launches"


class _Above(io.TextIOBase):
    """A terminal to which is written above the progress."""

    def __init__(self, stream: IO[str], progress: Progress) -> None:
        self._stream = stream
        self._progress = progress

    def write(self, text: str) -> int:
        self._progress.clear()
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return True


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Give a progress for stderr if it is a terminal; its line is gone at the end.

    What is written to stdout or stderr meanwhile stands above it.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield Progress(None)
        return
    progress = Progress(sys.stderr)
    with ExitStack() as stack:
        stack.callback(progress.clear)
        stack.enter_context(redirect_stderr(_Above(sys.stderr, progress)))
        if sys.stdout.isatty():
            stack.enter_context(redirect_stdout(_Above(sys.stdout, progress)))
        yield progress


def _tell(terminal: IO[str], text: str) -> None:
    terminal.write(text)
    terminal.flush()


def _columns(terminal: IO[str]) -> int:
    try:
        return os.get_terminal_size(terminal.fileno()).columns or 80
    except (ValueError, OSError):
        return 80
