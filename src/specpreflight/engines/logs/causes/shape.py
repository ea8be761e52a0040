"""What a failure shape is."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """A failure shape.

    Attributes:
        name: its id.
        message: pattern of the final message, its continuation lines included; named groups become
            the diagnosis' values.
        stage: where it stops; `T|D` is the one for the target and the one for the draft; empty:
            decided by the frames.
        rule: the rule that reports it before a launch.
        engine: the engine that can say so, or `None`.
        frames: pattern that the frames and source lines must hold.
    """

    name: str
    message: re.Pattern[str]
    stage: str = ""
    rule: str | None = None
    engine: str | None = None
    frames: re.Pattern[str] | None = None


def cause(
    name: str,
    message: str,
    stage: str = "",
    rule: str | None = None,
    engine: str | None = None,
    frames: str | None = None,
) -> Cause:
    """Return a failure shape; patterns see all lines at once."""
    flags = re.MULTILINE | re.DOTALL
    found = re.compile(frames, flags) if frames else None
    return Cause(name, re.compile(message, flags), stage, rule, engine, found)
