"""Lines that a container's or the journal's writer cut, joined again.

- Docker cuts what fills its buffer of 16 KiB without a newline (moby, `daemon/logger/copier.go`).
  Its json-file driver ends only the last piece with a newline (`jsonfilelog/jsonfilelog.go`,
  `marshalMessage`), its journald driver marks the others (`journald/journald.go`, `Log`:
  `CONTAINER_PARTIAL_MESSAGE`), and `docker logs -t` writes the time before each of them, within
  one line (`api/server/httputils/write_log_stream.go`).
- containerd marks all but the last with `P` (Kubernetes' CRI logs).
- journald cuts at `LineMax=`, 48 KiB if it is not set (journald.conf(5)), and says so in
  `_LINE_BREAK=line-max` (systemd.journal-fields(7), `journald-stream.c:stdout_stream_scan`).
  `journalctl -o json` shows that; `-o short` and the like show it by the length alone.

A cut that only another `LineMax=` explains cannot be told from a line's end.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

#: A line is kept up to here, in bytes; the longest that an engine writes are some 100 KiB.
LONGEST_LINE: Final = 1 << 20
#: What journalctl writes between time and text: the host, the program, its process.
PROGRAM: Final = r" (\S+ [\w@.:\\-]+(?:\[\d+\])?): "

_DOCKER_PIECE: Final = 16 << 10
_LINE_MAX: Final = 48 << 10
#: journald strips the blanks at a piece's end, and no two stand together in an arguments line.
_JOURNAL_PIECES: Final = (_DOCKER_PIECE, _LINE_MAX - 1, _LINE_MAX)
_PIECE_TIME: Final = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(?:Z|[+-]\d\d:\d\d) ")
#: How the text of a whole entry of the json-file driver ends.
_DOCKER_END: Final = b'\\n","stream":'
_CRI: Final = re.compile(rb"(\S+Z|\S+[+-]\d\d:\d\d) (stdout|stderr) ([PF])(?::\S*)? (.*)", re.S)
_CRI_WHOLE: Final = re.compile(rb"^(\S+) (?:stdout|stderr) F(?::\S*)? ", re.M)
_CRI_PIECE: Final = re.compile(rb" (?:stdout|stderr) P[: ]")
_SHORT: Final = re.compile(
    rb"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?"
    rb"|20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d))" + PROGRAM.encode(),
    re.M,
)
_CUT_RECORD: Final = re.compile(
    r'"_LINE_BREAK" ?: ?"line-max"|"CONTAINER_PARTIAL_MESSAGE" ?: ?"true"'
)
_CUT_RECORDS: Final = re.compile(_CUT_RECORD.pattern.encode())
_LEFT_OUT: Final = re.compile(rb'"MESSAGE" ?: ?null\b')
_LEFT_OUT_TOLD: Final = "lines of 4096 bytes and more are left out: give `journalctl -o json --all`"


class Rejoin(Protocol):
    """Joins what was cut, block by block."""

    def __call__(self, block: bytes) -> bytes:
        """Return a block of whole lines with its pieces joined; what waits for more is kept."""

    def finish(self) -> bytes:
        """Return the pieces that nothing followed, as lines."""


def _nobody(_: str) -> None:
    return


def rejoin_of(first: bytes, tell: Callable[[str], None] = _nobody) -> Rejoin:
    """Return what joins the lines of a log, by how it begins.

    Args:
        first: its first bytes.
        tell: is told of what the log's writer left out.
    """
    head = first[:4096].lstrip()
    if head.startswith(b"{") and b'"log":' in head:
        return _Docker()
    if head.startswith(b"{") and b'"MESSAGE"' in head:
        return _JournalRecords(tell)
    if _CRI.match(head.split(b"\n", 1)[0]):
        return _Containerd()
    return _JournalLines() if _SHORT.search(head) else _Whole()


def join_timed_pieces(line: bytes) -> bytes:
    """Return a line of `docker logs -t` without the times before its second and later pieces."""
    first = _PIECE_TIME.search(line, 0, _DOCKER_PIECE) if len(line) > _DOCKER_PIECE else None
    if first is None:
        return line
    joined, rest = line[: first.end()], line[first.end() :]
    while match := _PIECE_TIME.match(rest, _DOCKER_PIECE):
        joined += rest[:_DOCKER_PIECE]
        rest = rest[match.end() :]
    return joined + rest


class _Whole:
    """Joins nothing."""

    def __call__(self, block: bytes) -> bytes:
        return block

    def finish(self) -> bytes:
        return b""


_Key = TypeVar("_Key")
_Piece = TypeVar("_Piece", str, bytes)


class _Joiner(ABC, Generic[_Key, _Piece]):
    """Joins the pieces of each writer; what waits for more is kept."""

    def __init__(self) -> None:
        self._pieces: dict[_Key, _Piece] = {}

    def __call__(self, block: bytes) -> bytes:
        if not self._pieces and not self._has_pieces(block):
            return self._whole(block)
        lines = map(self._join, block.split(b"\n"))
        return b"\n".join(line for line in lines if line is not None)

    def finish(self) -> bytes:
        return b"\n".join(map(self._line, self._pieces.values()))

    def _whole(self, block: bytes) -> bytes:
        """Return a block without pieces as it is told on."""
        return block

    @abstractmethod
    def _has_pieces(self, block: bytes) -> bool:
        """Return whether a block may hold a piece, found without looking at each line."""

    @abstractmethod
    def _join(self, line: bytes) -> bytes | None:
        """Return a line with the pieces before it, `None` where it waits for more."""

    @abstractmethod
    def _line(self, piece: _Piece) -> bytes:
        """Return what is there of a line."""


class _Docker(_Joiner[str, str]):
    """Joins the entries of a json-file that do not end with a newline, each stream's own."""

    def _has_pieces(self, block: bytes) -> bool:
        return block.count(_DOCKER_END) != block.count(b"\n")

    def _join(self, line: bytes) -> bytes | None:
        entry = _record(line)
        if entry is None or not isinstance(entry.get("log"), str):
            return line
        stream = str(entry.get("stream"))
        text = self._pieces.pop(stream, "") + entry["log"]
        if text.endswith("\n") or len(text) > LONGEST_LINE:
            return _line_of({**entry, "log": text})
        self._pieces[stream] = text
        return None

    def _line(self, piece: str) -> bytes:
        return _line_of({"log": piece})


class _Containerd(_Joiner[bytes, bytes]):
    """Joins the pieces that are marked with `P`, each stream's own."""

    def _has_pieces(self, block: bytes) -> bool:
        return _CRI_PIECE.search(block) is not None

    def _whole(self, block: bytes) -> bytes:
        return _CRI_WHOLE.sub(rb"\1 ", block)

    def _join(self, line: bytes) -> bytes | None:
        match = _CRI.fullmatch(line)
        if match is None:
            return line
        piece = self._pieces.pop(match[2], b"") + match[4]
        if match[3] == b"F" or len(piece) > LONGEST_LINE:
            return match[1] + b" " + piece
        self._pieces[match[2]] = piece
        return None

    def _line(self, piece: bytes) -> bytes:
        return piece


class _JournalLines(_Joiner[bytes, bytes]):
    """Joins lines of one process that are as long as pieces are with what it wrote next."""

    def _has_pieces(self, block: bytes) -> bool:
        return _has_line_of(_DOCKER_PIECE, block)

    def _join(self, line: bytes) -> bytes | None:
        match = _SHORT.match(line)
        if match is None:
            return line
        held = self._pieces.pop(match[1], None)
        joined = line if held is None else held + line[match.end() :]
        if len(line) - match.end() not in _JOURNAL_PIECES or len(joined) >= LONGEST_LINE:
            return joined
        self._pieces[match[1]] = joined
        return None

    def _line(self, piece: bytes) -> bytes:
        return piece


class _JournalRecords(_Joiner[tuple[str, ...], str]):
    """Joins the records that say that they were cut, each stream's own."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell: Callable[[str], None] | None = tell

    def __call__(self, block: bytes) -> bytes:
        if self._tell is not None and _LEFT_OUT.search(block):
            self._tell(_LEFT_OUT_TOLD)
            self._tell = None
        return super().__call__(block)

    def _has_pieces(self, block: bytes) -> bool:
        return _CUT_RECORDS.search(block) is not None

    def _join(self, line: bytes) -> bytes | None:
        record = _record(line)
        if record is None or not isinstance(record.get("MESSAGE"), str):
            return line
        writer = tuple(
            str(record.get(key)) for key in ("_STREAM_ID", "CONTAINER_ID_FULL", "PRIORITY")
        )
        text = self._pieces.pop(writer, "") + record["MESSAGE"]
        is_cut = _CUT_RECORD.search(line.decode("utf-8", "replace"))
        if not is_cut or len(text) >= LONGEST_LINE:
            return _line_of({**record, "MESSAGE": text})
        self._pieces[writer] = text
        return None

    def _line(self, piece: str) -> bytes:
        return _line_of({"MESSAGE": piece})


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line) if line.startswith(b"{") else None
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _line_of(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _has_line_of(length: int, block: bytes) -> bool:
    """Whether a line has at least so many bytes, found without looking at all of them."""
    start = 0
    while len(block) - start >= length:
        end = block.rfind(b"\n", start, start + length)
        if end < 0:
            return True
        start = end + 1
    return False
