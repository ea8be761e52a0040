"""Ctrl-C while files are written: noticed between two files, not in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def delayed_interrupt() -> Iterator[Callable[[], bool]]:
    """Note the first SIGINT instead of raising at once; a second one raises `KeyboardInterrupt`.

    Yields a function that tells whether there was one. Outside of the main thread, where Python
    delivers no signals, nothing is changed.
    """
    seen = False

    def notice(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        if seen:
            signal.default_int_handler(number, frame)
        seen = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: seen
        return
    before = signal.signal(signal.SIGINT, notice)
    try:
        yield lambda: seen
    finally:
        signal.signal(signal.SIGINT, before)
