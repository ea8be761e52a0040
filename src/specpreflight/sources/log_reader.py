"""Logs: read as blocks of whole lines, in bounded memory, whatever wrote them.

A block is what the fast path searches; a line is unwrapped only where something was found in it.
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
from specpreflight.sources.cut_lines import LONGEST_LINE, PROGRAM, join_timed_pieces, rejoin_of

#: What a collector's JSON record has the text under, somewhere in so many characters.
_COLLECTED: Final = ('{"log":', '"MESSAGE"', '"textPayload"')
_HEAD: Final = 4096
#: Digits of the microseconds since 1970 of all times up to the year 2286.
_LONGEST_MICROS: Final = 16
_CUT: Final = "the gzip file is cut; read as far as it goes"
BLOCK: Final = 1 << 18

_BYTE_ORDER_MARKS: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_WRAPPER: Final = re.compile(
    "|".join(
        (
            r"\[pod/[^\]]+\] ",
            r"[A-Za-z][\w.-]* +\| ?",
            r"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)(?:Z|[+-]\d\d:?\d\d)"
            rf"(?:{PROGRAM}| ?)",
            rf"[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?{PROGRAM}",
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

    def tell_of_log(text: str) -> None:
        tell(f"{name}: {text}")

    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else _open(path) as stream:
            yield from _whole_lines(_chunks(stream, tell_of_log), name, tell_of_log)
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
    text = join_timed_pieces(line).decode("utf-8", "replace")
    time = None
    if text.startswith("{") and any(key in text[:_HEAD] for key in _COLLECTED):
        time, text = _collected(text)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    while not text.startswith(("[20", "(", " ")) and (match := _WRAPPER.match(text)):
        time = match[1] or time
        text = text[match.end() :]
    return time, text


def _collected(text: str) -> tuple[str | None, str]:
    """Return time and text of a JSON record of Docker, of the journal, or of a cloud's collector.

    A text with colours is a list of its bytes in the journal's (journalctl(1), `-o json`).
    """
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None, text
    said = record.get("MESSAGE", record.get("textPayload", record.get("log")))
    if isinstance(said, list):
        codes = [code for code in said if isinstance(code, int) and 0 <= code < 256]
        said = bytes(codes).decode("utf-8", "replace")
    if not isinstance(said, str):
        return None, text
    micros = str(record.get("__REALTIME_TIMESTAMP", ""))
    if micros.isdecimal() and len(micros) <= _LONGEST_MICROS:
        moment = datetime.fromtimestamp(int(micros) / 1_000_000, timezone.utc)
        return moment.strftime("%Y-%m-%dT%H:%M:%S"), said
    time = record.get("timestamp", record.get("time"))
    return time if isinstance(time, str) else None, said.removesuffix("\n")


def _chunks(stream: IO[bytes], tell: Callable[[str], None]) -> Iterator[bytes]:
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
        tell(_CUT)


def _whole_lines(
    chunks: Iterator[bytes], name: str, tell: Callable[[str], None]
) -> Iterator[bytes]:
    first = next(chunks, b"")
    if not first.strip():
        raise InputError(f"{name}: is empty", hint="give the file that the server's output went to")
    encoding = _BYTE_ORDER_MARKS.get(first[:2]) or _encoding_without_mark(first)
    if encoding is None and b"\0" in first[:4096]:
        raise InputError(f"{name}: is no text", hint="give the server's log, or pipe it to `-`")
    decode = getincrementaldecoder(encoding or "utf-8")("replace").decode
    rejoin = rejoin_of(first, tell)
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
    if left := rejoin.finish():
        yield left + b"\n"


def _encoding_without_mark(first: bytes) -> str | None:
    """Return UTF-16 where every other byte of ASCII text is zero."""
    for encoding, start in (("utf-16-le", 1), ("utf-16-be", 0)):
        others = first[start:512:2]
        if len(others) > 8 and others.count(0) > 0.9 * len(others):
            return encoding
    return None
