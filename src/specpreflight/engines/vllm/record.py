"""Collects what vLLM will do with a launch, in the order in which it does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specpreflight.models.finding import STOPPING, Confidence, Origin, Outcome, Stage, Value
from specpreflight.models.resolved import Event, ResolvedValue

_ORDER = tuple(Stage)


class Record:
    """The events and resolved values of one prediction.

    vLLM checks some arguments only after both configs were read. An event that comes after a stop
    is therefore recorded at that stop's stage or later: the engine never goes back.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.values: dict[str, ResolvedValue] = {}
        self.unknown: list[tuple[str, str]] = []
        self._reached = 0

    @property
    def stopped(self) -> bool:
        """Whether anything so far stops the launch."""
        return any(event.outcome in STOPPING for event in self.events)

    def refuse(
        self,
        topic: str,
        stage: Stage,
        message: str,
        *,
        text: str | None = None,
        exception: str = "ValidationError",
        source: str,
        values: Sequence[Value] = (),
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a stop before anything is loaded; `text` is the engine's own message."""
        self._add(
            Event(
                topic, Outcome.REFUSES, stage, message, text, exception, source,
                tuple(values), facts or {},
            )
        )  # fmt: skip

    def add(
        self,
        topic: str,
        outcome: Outcome,
        stage: Stage,
        message: str,
        *,
        text: str | None = None,
        source: str,
        values: Sequence[Value] = (),
        facts: Mapping[str, Any] | None = None,
        confidence: Confidence = Confidence.PROVEN,
    ) -> None:
        """Add an event of another outcome: an adjustment, a warning, a later failure."""
        self._add(
            Event(
                topic, outcome, stage, message, text, None, source, tuple(values), facts or {},
                confidence,
            )
        )  # fmt: skip

    def resolve(self, name: str, value: Any, reason: str) -> None:
        """Set a value of the report's `resolved` block; a later one replaces it."""
        self.values[name] = ResolvedValue(value, reason)

    def _add(self, event: Event) -> None:
        stage = _ORDER[max(self._reached, _ORDER.index(event.stage))]
        if event.outcome in STOPPING:
            self._reached = _ORDER.index(stage)
        self.events.append(event if stage is event.stage else _at_stage(event, stage))


def _at_stage(event: Event, stage: Stage) -> Event:
    return Event(
        event.topic, event.outcome, stage, event.message, event.engine_message, event.exception,
        event.source, event.values, event.facts, event.confidence,
    )  # fmt: skip


def flag_value(label: str, value: Any, flag: str, pointer: str | None = None) -> Value:
    """Return a value that a command-line flag gave; `pointer` is its place in a JSON argument."""
    return Value(label, value, Origin("flag", name=flag, pointer=pointer))


def speculative_value(key: str, value: Any) -> Value:
    """Return the value of one key of `--speculative-config`."""
    return flag_value(key, value, "--speculative-config", f"/{key}")


def engine_value(label: str, value: Any, function: str) -> Value:
    """Return a value that the engine itself computed or defaulted in `function`."""
    return Value(label, value, Origin("engine", name=function))
