"""A log that is still written, read as it grows: a file, or what a command pipes in."""

from __future__ import annotations

import os
import selectors
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep
from typing import Final

from specpreflight.errors import InputError
from specpreflight.sources.cut_lines import LONGEST_LINE, rejoin_of
from specpreflight.sources.log_reader import BLOCK

#: Seconds between two looks at a log that did not grow.
PAUSE: Final = 0.2


def follow_blocks(path: str, wait: Callable[[], None] | None = None) -> Iterator[bytes]:
    """Yield a log's whole lines as they are written, and `b""` when there were none for a moment.

    A file is followed for ever, also where it is cut and begun anew; the standard input (`-`) to
    its end.

    Args:
        path: the log.
        wait: called when there is nothing new, instead of a pause.

    Raises:
        InputError: the file is missing or unreadable.
    """
    if path == "-":
        yield from _rejoined(whole_lines(read_as_written(sys.stdin.fileno())))
        return
    try:
        yield from _rejoined(whole_lines(_growing(Path(path), wait or _pause)))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{path}: cannot be read: {reason}") from None


def read_as_written(descriptor: int) -> Iterator[bytes]:
    """Yield what is written to a pipe until it is closed, `b""` when nothing was for a moment."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if not selector.select(PAUSE):
                yield b""
            elif chunk := os.read(descriptor, BLOCK):
                yield chunk
            else:
                return


def whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what was read up to the last line's end; the rest waits for its own, or for the end."""
    rest = b""
    for chunk in chunks:
        head, newline, tail = chunk.rpartition(b"\n")
        if newline:
            yield rest + head + newline
            rest = tail
        else:
            rest = (rest + tail)[:LONGEST_LINE]
            yield b""
    if rest:
        yield rest + b"\n"


def _rejoined(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Join the lines that the log's writer cut; what waits for its rest is as if not written."""
    rejoin = None
    for block in blocks:
        if rejoin is None and block:
            rejoin = rejoin_of(block)
        yield rejoin(block) if rejoin else block
    if rejoin and (left := rejoin.finish()):
        yield left + b"\n"


def _pause() -> None:
    sleep(PAUSE)


def _growing(path: Path, wait: Callable[[], None]) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while True:
            if chunk := stream.read(BLOCK):
                yield chunk
                continue
            if path.stat().st_size < stream.tell():
                stream.seek(0)
                continue
            yield b""
            wait()
