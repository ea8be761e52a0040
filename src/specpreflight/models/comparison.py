"""Two launches, checkpoints or logs, side by side."""

from __future__ import annotations

from typing import Any

from specpreflight.models.change import Change, Consequence, Part
from specpreflight.models.frozen import dataclass
from specpreflight.models.report import Verdict

FORMAT_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two of a kind.

    Attributes:
        before: what the first is called.
        after: what the second is called.
        changes: what differs.
        before_verdict: of the first, where it is a launch.
        after_verdict: of the second.
        together: what differs in the verdicts and comes of no single change.
        same: what both have, `(part, name, value)`, where it was asked for.
    """

    before: str
    after: str
    changes: tuple[Change, ...]
    before_verdict: Verdict | None = None
    after_verdict: Verdict | None = None
    together: tuple[Consequence, ...] = ()
    same: tuple[tuple[Part, str, Any], ...] = ()
    format_version: str = FORMAT_VERSION


@dataclass(frozen=True, slots=True)
class Culprit:
    """The first commit of an engine where a launch gets another verdict than before.

    Attributes:
        sha: its name.
        date: the day it was authored (ISO).
        subject: the first line of its message.
        comparison: the launch at the commit before it and there, and what the source answers
            otherwise.
        crossed: the two releases, where what is known of a release beside its source changes at
            this commit too.
        tried: how many commits were read.
    """

    sha: str
    date: str
    subject: str
    comparison: Comparison
    crossed: tuple[str, str] | None
    tried: int
