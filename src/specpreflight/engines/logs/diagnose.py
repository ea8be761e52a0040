"""Diagnosing a log: from its blocks to what became of the launch."""

from __future__ import annotations

from collections.abc import Iterable

from specpreflight.engines.logs.judge import judge
from specpreflight.engines.logs.lines import Unwrap
from specpreflight.engines.logs.reading import LogReading
from specpreflight.models.diagnosis import Diagnosis


def diagnose(blocks: Iterable[bytes], unwrap: Unwrap) -> Diagnosis:
    """Return what became of the last launch that a log tells of.

    Args:
        blocks: the log, in blocks of whole lines.
        unwrap: takes off what a container, a journal or a terminal added to a line.
    """
    reading = LogReading(unwrap)
    for block in blocks:
        reading.read(block)
    reading.finish()
    return judge(reading.launches)
