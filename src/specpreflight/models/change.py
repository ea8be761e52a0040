"""What differs between two launches, checkpoints or releases, and what each difference does."""

from __future__ import annotations

from typing import Any, Literal

from specpreflight.models.frozen import dataclass

#: Where a change is, in the order in which reports list them. `config`, `tensors` and `files` are
#: of checkpoints without a launch, `log` is what two logs tell, the rest of two releases as well.
Part = Literal[
    "engine",
    "requirements",
    "behaviour",
    "flags",
    "environment",
    "hardware",
    "target",
    "draft",
    "config",
    "tensors",
    "files",
    "libraries",
    "speculative keys",
    "variables",
    "architectures",
    "drafts",
    "configs",
    "log",
]


@dataclass(frozen=True, slots=True)
class Consequence:
    """What a change makes of the launch.

    Attributes:
        effect: `worse` or `better` for what a rule finds now or no longer, `other` for a setting.
        text: one sentence, without a final full stop.
        rule: the rule that knows it, or `None` for a setting of the resolved launch.
    """

    effect: Literal["worse", "better", "other"]
    text: str
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs; `MISSING` stands for a side that does not have it.

    Attributes:
        part: what it belongs to.
        name: a flag with its dashes, a variable, a key (`/` separated below the top level), a file.
        consequences: what comes of this change alone; none where nothing is known to.
        rules: the rules whose page names it, for checkpoints that are compared without a launch.
        note: what a reader should know of it besides.
    """

    part: Part
    name: str
    before: Any
    after: Any
    consequences: tuple[Consequence, ...] = ()
    rules: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Since:
    """What changed since a launch that was recorded in a file.

    Attributes:
        path: the file.
        changes: what differs, those with consequences first.
        together: what a report says differently that comes of no single change.
    """

    path: str
    changes: tuple[Change, ...]
    together: tuple[Consequence, ...] = ()
