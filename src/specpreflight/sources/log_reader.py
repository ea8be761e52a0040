"""Logs: read as blocks of whole lines, in bounded memory, whatever wrote them.

A block is what the fast path searches; a line is unwrapped only where something was found in it.
Wrappers that cut long lines (Docker's json-file driver, containerd) are joined again while reading.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import IO, Final

from specpreflight.errors import InputError

#: What a collector's JSON record has the text under, somewhere in so many characters.
_COLLECTED: Final = ('"MESSAGE"', '"textPayload"')
_HEAD: Final = 4096
_CUT: Final = "the gzip file is cut; read as far as it goes"
BLOCK: Final = 1 << 18
#: A line is kept up to here; the longest that an engine writes are some 100 KiB.
LONGEST_LINE: Final = 1 << 20

_BYTE_ORDER_MARKS: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_CRI: Final = re.compile(rb"(\S+Z|\S+[+-]\d\d:\d\d) (?:stdout|stderr) ([PF])(?::\S*)? (.*)", re.S)
#: A whole line of Docker's json-file driver, with nothing escaped but quotes and its end.
_DOCKER: Final = re.compile(
    rb'^\{"log":"([^"\\]*(?:\\"[^"\\]*)*)\\n","stream":"\w+","time":"([^"\\]*)"\}$', re.M
)
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_PROGRAM: Final = r" \S+ [\w@.:\\-]+(?:\[\d+\])?: "
_WRAPPER: Final = re.compile(
    "|".join(
        (
            r"\[pod/[^\]]+\] ",
            r"[A-Za-z][\w.-]* +\| ?",
            r"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)(?:Z|[+-]\d\d:?\d\d)"
            rf"(?:{_PROGRAM}| ?)",
            rf"[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?{_PROGRAM}",
            r"\[\d+,\d+\]<std(?:err|out)>: ?",
            r"\[(?:default|rank)\d+\]: ?(?!\[[EWI]\d{4})",
            r"\d{1,5}: ",
            r"##\[\w+\]",
        )
    )
)


def _nobody(_: str) -> None:
    return


def read_blocks(path: str, tell: Callable[[str], None] = _nobody) -> Iterator[bytes]:
    """Yield a log's bytes in blocks that end with a line; `-` is the standard input.

    Args:
        path: the log.
        tell: is told of what could only be read in part.

    Raises:
        InputError: the file is missing, unreadable, empty, or no text.
    """
    name = "the standard input" if path == "-" else path
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else _open(path) as stream:
            yield from _whole_lines(_chunks(stream, lambda: tell(f"{name}: {_CUT}")), name)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{name}: cannot be read: {reason}") from None
    except zlib.error as error:
        raise InputError(f"{name}: is no whole gzip file: {error}") from None


def _open(path: str) -> IO[bytes]:
    if not path.startswith(("ssh://", "sftp://")):
        return Path(path).open("rb")
    from specpreflight.storage.connections import open_file

    return open_file(path)


def unwrap(line: bytes) -> tuple[str | None, str]:
    """Return a line without colours and without what a container or journal put before it.

    Returns:
        The wrapper's own time (`2026-08-10T11:00:24.2`), if it writes one with a year; the text.
    """
    text = line.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    time = None
    if text.startswith("{") and any(key in text[:_HEAD] for key in _COLLECTED):
        time, text = _collected(text)
    while not text.startswith(("[20", "(", " ")) and (match := _WRAPPER.match(text)):
        time = match[1] or time
        text = text[match.end() :]
    return time, text


def _collected(text: str) -> tuple[str | None, str]:
    """Return time and text of a JSON record of the journal or of a cloud's collector."""
    try:
        record = json.loads(text)
    except ValueError:
        return None, text
    said = record.get("MESSAGE", record.get("textPayload"))
    if not isinstance(said, str):
        return None, text
    micros = str(record.get("__REALTIME_TIMESTAMP", ""))
    if micros.isdecimal():
        moment = datetime.fromtimestamp(int(micros) / 1_000_000, timezone.utc)
        return moment.strftime("%Y-%m-%dT%H:%M:%S"), said
    return record.get("timestamp"), said


def _chunks(stream: IO[bytes], tell_cut: Callable[[], None]) -> Iterator[bytes]:
    chunk = stream.read(BLOCK)
    if not chunk.startswith(b"\x1f\x8b"):
        while chunk:
            yield chunk
            chunk = stream.read(BLOCK)
        return
    inflate = zlib.decompressobj(wbits=31)
    while chunk:
        yield inflate.decompress(chunk, BLOCK)
        chunk = inflate.unconsumed_tail or inflate.unused_data.lstrip(b"\0")
        if inflate.eof and chunk:
            inflate = zlib.decompressobj(wbits=31)
        chunk = chunk or stream.read(BLOCK)
    if not inflate.eof:
        tell_cut()


def _whole_lines(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    first = next(chunks, b"")
    if not first.strip():
        raise InputError(f"{name}: is empty", hint="give the file that the server's output went to")
    encoding = _BYTE_ORDER_MARKS.get(first[:2]) or _encoding_without_mark(first)
    if encoding is None and b"\0" in first[:4096]:
        raise InputError(f"{name}: is no text", hint="give the server's log, or pipe it to `-`")
    decode = getincrementaldecoder(encoding or "utf-8")("replace").decode
    rejoin = _wrapper_that_cuts(first)
    rest = b""
    for chunk in chain([first], chunks):
        block = decode(chunk).encode() if encoding else chunk
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            yield rejoin(rest + head + b"\n")
            rest = tail
        else:
            rest = (rest + tail)[:LONGEST_LINE]
    if rest:
        yield rejoin(rest + b"\n")


def _encoding_without_mark(first: bytes) -> str | None:
    """Return UTF-16 where every other byte of ASCII text is zero."""
    for encoding, start in (("utf-16-le", 1), ("utf-16-be", 0)):
        others = first[start:512:2]
        if len(others) > 8 and others.count(0) > 0.9 * len(others):
            return encoding
    return None


class _Docker:
    """Joins the json-file driver's pieces of 16 KiB."""

    def __init__(self) -> None:
        self._piece = ""

    def __call__(self, block: bytes) -> bytes:
        if not self._piece and b'{"log":' not in (plain := _DOCKER.sub(rb"\2 \1", block)):
            return plain.replace(b'\\"', b'"')
        lines = []
        for line in block.split(b"\n"):
            try:
                entry = json.loads(line) if line else None
            except ValueError:
                entry = None
            if not isinstance(entry, dict) or not isinstance(entry.get("log"), str):
                lines.append(line)
                continue
            self._piece += entry["log"]
            if self._piece.endswith("\n") or len(self._piece) > LONGEST_LINE:
                text, self._piece = self._piece.rstrip("\n"), ""
                lines.append(f"{entry.get('time', '')} {text}".encode())
        return b"\n".join(lines)


class _Containerd:
    """Joins the pieces that containerd marks with `P`."""

    def __init__(self) -> None:
        self._piece = b""

    def __call__(self, block: bytes) -> bytes:
        lines = []
        for line in block.split(b"\n"):
            match = _CRI.fullmatch(line)
            if match is None:
                lines.append(line)
                continue
            self._piece += match[3]
            if match[2] == b"F" or len(self._piece) > LONGEST_LINE:
                lines.append(match[1] + b" " + self._piece)
                self._piece = b""
        return b"\n".join(lines)


def _wrapper_that_cuts(block: bytes) -> _Docker | _Containerd | type[bytes]:
    head = block[:4096].lstrip()
    if head.startswith(b"{") and b'"log":' in head:
        return _Docker()
    if _CRI.match(head.split(b"\n", 1)[0]):
        return _Containerd()
    return bytes
