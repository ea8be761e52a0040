"""What a command writes, read while it is passed on to where this process writes."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

from specpreflight.sources import log_follower
from specpreflight.sources.cut_lines import LONGEST_LINE
from specpreflight.sources.log_reader import BLOCK


def pass_on(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Copy a command's output byte for byte, and yield its whole lines; `b""` in between.

    Ends when the command's streams are closed, or when it has ended and its children, which may
    hold them open, say nothing more.

    Args:
        process: started with pipes for stdout and stderr.
    """
    rests: dict[int, bytes] = {}
    with selectors.DefaultSelector() as selector:
        for stream, own in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, own.buffer)
        while selector.get_map():
            ready = selector.select(log_follower.PAUSE)
            if not ready:
                if process.poll() is not None:
                    break
                yield b""
            for key, _ in ready:
                chunk = os.read(key.fd, BLOCK)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                _write(key.data, chunk)
                head, newline, tail = chunk.rpartition(b"\n")
                rest = rests.get(key.fd, b"")
                rests[key.fd] = tail if newline else (rest + tail)[:LONGEST_LINE]
                if newline:
                    yield rest + head + newline
    yield from (rest + b"\n" for rest in rests.values() if rest)


def copy_on(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Write what is read to stdout as well."""
    for block in blocks:
        if block:
            _write(sys.stdout.buffer, block)
        yield block


def _write(stream: IO[bytes], data: bytes) -> None:
    try:
        stream.write(data)
        stream.flush()
    except BrokenPipeError:
        # nobody reads on; the command itself is not to die of it
        return
