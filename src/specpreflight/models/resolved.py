"""The resolved launch: what the engine makes of it, and everything it says or does on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from specpreflight.models.finding import Confidence, Outcome, Stage, Value
from specpreflight.models.frozen import dataclass


@dataclass(frozen=True, slots=True)
class ResolvedValue:
    """A setting as the engine will see it, and why it has that value (`steps+1, top-k is 1`)."""

    value: Any
    reason: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something the engine will do with this launch, predicted by its restated code.

    Attributes:
        topic: a dotted name that a rule claims, such as `context.draft-shorter`. A stop that no
            rule claims is reported by the rule `engine-refuses`, so nothing is lost.
        outcome: what happens; `ADJUSTS` and `STARTS` do not stop the launch.
        stage: where in the launch it happens.
        message: one line, lower case, for a rule that has nothing better to say.
        engine_message: the engine's own text, as far as it is known.
        exception: the name of the exception class, `SystemExit` for argparse errors.
        source: function and file in the engine (`configs/model_config.py:_derive_context_length`).
        values: the values that disagree, with their origins.
        facts: whatever the claiming rule needs besides.
    """

    topic: str
    outcome: Outcome
    stage: Stage
    message: str
    engine_message: str | None = None
    exception: str | None = None
    source: str | None = None
    values: tuple[Value, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    confidence: Confidence = Confidence.PROVEN


@dataclass(frozen=True, slots=True)
class Resolved:
    """What an engine answers about a launch.

    `values` are the settings of the report's `resolved` block, by its key names
    (`context_length`, `num_steps`, …). `events` are in the order in which this release would
    meet them. `stage_order` is this release's order of stages. `unknown` lists
    `(setting, why)` for what static facts cannot decide.
    """

    values: Mapping[str, ResolvedValue]
    events: tuple[Event, ...]
    stage_order: tuple[Stage, ...] = tuple(Stage)
    unknown: tuple[tuple[str, str], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, ResolvedValue]:
        """The settings of the report: what is known, and what is unknown and why."""
        undecided = {
            name: ResolvedValue(None, f"unknown: {why}")
            for name, why in self.unknown
            if name.isidentifier() and name not in self.values
        }
        return {**self.values, **undecided}

    def value(self, name: str) -> Any:
        """Return the resolved value called `name`, or `None` where it is not known."""
        known = self.values.get(name)
        return None if known is None else known.value
