"""A log that is still written: when its launch is up, or dead, and no more is to be waited for.

A traceback is only known whole when something else follows or nothing does; so after the first
fatal line the log is read on for a moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from specpreflight.engines.logs.judge import judge
from specpreflight.engines.logs.lines import Unwrap
from specpreflight.engines.logs.reading import LogReading
from specpreflight.models.diagnosis import Diagnosis

State = Literal["starting", "ready", "dead"]

#: Empty blocks in a row after which a fatal error is whole, and after which a traceback that the
#: engine did not announce as its death was one.
_QUIET: Final = 5
_QUIET_UNANNOUNCED: Final = 25
#: Blocks after a fatal line after which it counts whatever follows: others may write on for ever.
_MOST_AFTER: Final = 100


class Watcher:
    """Reads a log as it grows.

    Args:
        unwrap: takes off what a container, a journal or a terminal added to a line.
    """

    def __init__(self, unwrap: Unwrap) -> None:
        self._reading = LogReading(unwrap)
        self._quiet = 0
        self._after = 0

    def read(self, block: bytes) -> State:
        """Take whole lines, or nothing where nothing was written for a moment."""
        self._reading.read(block)
        self._quiet = 0 if block else self._quiet + 1
        launch = self._reading.launches[-1]
        if launch.ready:
            return "ready"
        announced = bool(launch.marks) or any(
            trace.fatal and trace.finals for trace in launch.tracebacks.traces
        )
        told = announced or any(
            trace.finals and trace.before.progress == launch.progress and not trace.ignored
            for trace in launch.tracebacks.traces
        )
        if not told:
            self._after = 0
            return "starting"
        self._after += 1
        enough = _QUIET if announced else _QUIET_UNANNOUNCED
        return "dead" if self._quiet >= enough or self._after >= _MOST_AFTER else "starting"

    @property
    def diagnosis(self) -> Diagnosis:
        """What is known so far."""
        return judge(self._reading.launches)


def watch(blocks: Iterable[bytes], unwrap: Unwrap) -> Diagnosis:
    """Return what became of the launch once that is decided, or when the log ends.

    Args:
        blocks: whole lines as they are written; an empty one where nothing was for a moment.
        unwrap: takes off what a container, a journal or a terminal added to a line.
    """
    watcher = Watcher(unwrap)
    for block in blocks:
        if watcher.read(block) != "starting":
            break
    return watcher.diagnosis
