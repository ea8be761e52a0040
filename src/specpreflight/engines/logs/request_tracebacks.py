"""Tracebacks of requests, in a server that serves on: each text is read once.

A client that sends what the model refuses has a traceback written for every request, a server that
is asked often writes megabytes of the same one. None of them ends the launch; what they tell is
the release, by its files and functions, and that is the same each time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from specpreflight.engines.logs.tracebacks import FATAL

HEADER: Final = b"Traceback (most recent call last)"
_FRAME: Final = re.compile(rb'[^\n]*\n([^\n]*?)  File \\?"')
#: A traceback that may be the launch's end, by its header and the lines before: the engine says so,
#: or one of vLLM's inner processes wrote it.
_NO_REQUEST: Final = re.compile(
    b"|".join(words.encode() for words in (*FATAL, "Exception ignored", "EngineCore", "Worker"))
)
#: So many lines before a header may announce it.
_LINES_BEFORE: Final = 3
_DIGITS: Final = b"0123456789"
#: A log with more texts than this repeats none of them.
_MOST_KNOWN: Final = 4096


@cache
def _indented(columns: int) -> re.Pattern[bytes]:
    return re.compile(rb"(?:[^\n]{%d}  [^\n]*\n)*" % columns)


def announced_from(block: bytes, header: int) -> int:
    """Return where the lines begin that may announce the traceback whose header is given."""
    start = block.rfind(b"\n", 0, header) + 1
    for _ in range(_LINES_BEFORE):
        start = block.rfind(b"\n", 0, max(start - 1, 0)) + 1
    return start


class RequestTracebacks:
    """The tracebacks of one log that were read: by their frames, whatever time and numbers say."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def frames_at(self, block: bytes, header: int) -> bytes | None:
        """Return the header's line and its frames, `None` where it may be the launch's end.

        Nothing is returned for a header without frames, such as one that a request quotes.

        Args:
            block: whole lines.
            header: where `HEADER` stands in it.
        """
        if _NO_REQUEST.search(block, announced_from(block, header), header + len(HEADER)):
            return None
        line = block.rfind(b"\n", 0, header) + 1
        frame = _FRAME.match(block, header)
        if frame is None:
            return b""
        end = _indented(len(frame[1])).match(block, frame.start(1))
        return block[line : end.end()] if end else b""

    def is_known(self, frames: bytes) -> bool:
        """Whether the same frames were asked for before, whatever their digits."""
        key = hash(frames.translate(None, _DIGITS))
        if key in self._known:
            return True
        if len(self._known) < _MOST_KNOWN:
            self._known.add(key)
        return False
