"""How sure a prediction for a user's own tree is: what was read there, and what is assumed.

What the tree answers (flags, probes, evaluated configuration code) is as sure as for a release.
The rest is restated from the nearest release; it is as sure only where the tree has the very file
that is restated.
"""

from __future__ import annotations

from dataclasses import replace

from specpreflight.engines.sglang.knowledge import Knowledge
from specpreflight.models.finding import Confidence, Outcome, Stage
from specpreflight.models.resolved import Event, Resolved


def with_assumptions(resolved: Resolved, knowledge: Knowledge) -> Resolved:
    """Return the prediction with a lower confidence where the nearest release stands in."""
    events = tuple(_as_sure_as_read(event, knowledge) for event in resolved.events)
    unanswered = tuple(
        (name, f"the tree does not answer; {knowledge.nearest}'s answer is used")
        for name in sorted(knowledge.assumed)
    )
    if not knowledge.assumed and not knowledge.changed:
        return resolved
    stated = _stated(knowledge)
    return replace(resolved, events=(*events, stated), unknown=(*resolved.unknown, *unanswered))


def _as_sure_as_read(event: Event, knowledge: Knowledge) -> Event:
    why = _assumed(event, knowledge)
    if why is None:
        return event
    return replace(event, confidence=Confidence.INFERRED, facts={**event.facts, "assumed": why})


def _assumed(event: Event, knowledge: Knowledge) -> str | None:
    """Return what stands in for the tree in this event, `None` where it was read there."""
    read = event.facts.get("read")
    if read is not None:
        if read not in knowledge.assumed:
            return None
        return f"The tree does not answer `{read}`; {knowledge.nearest}'s answer is assumed."
    file = str(event.source).partition(":")[0]
    if file not in knowledge.changed:
        return None
    return f"This tree's {file} is not {knowledge.nearest}'s, whose behaviour is assumed."


def _stated(knowledge: Knowledge) -> Event:
    """Return the event that says once what is assumed of this tree."""
    files, facts = sorted(knowledge.changed), sorted(knowledge.assumed)
    counts = [f"{len(files)} restated files differ"] if files else []
    if facts:
        counts.append(f"{len(facts)} questions have no answer")
    return Event(
        "engine.tree-assumed",
        Outcome.STARTS,
        Stage.ARGUMENTS,
        f"the tree counts as {knowledge.nearest}: {' and '.join(counts)}",
        facts={"files": tuple(files), "unanswered": tuple(facts), "nearest": knowledge.nearest},
    )
