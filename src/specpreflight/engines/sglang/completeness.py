"""How much is known of each release: the counts, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.knowledge import Knowledge, Release, load, releases


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """What is known of one release.

    `unknown` names what static reading could not answer: `--flag default`, `probe name`,
    `transformers 5.20.0`. A release without any is complete.
    """

    release: Release
    flags: int
    variables: int
    classes: int
    probes: int
    unknown: tuple[str, ...]


def summarize() -> Iterator[ReleaseSummary]:
    """Yield a summary of every known release, oldest first."""
    asked = {name for version in releases() for name in load(version).probes}
    for version in releases():
        knowledge = load(version)
        answered = set(knowledge.probes)
        yield ReleaseSummary(
            release=knowledge.about,
            flags=len(knowledge.flags),
            variables=len(knowledge.environment),
            classes=len(knowledge.classes),
            probes=len(answered),
            unknown=(
                *(f"probe {name}" for name in sorted(asked - answered)),
                *_unknown_parts(knowledge),
            ),
        )


def _unknown_parts(knowledge: Knowledge) -> Iterator[str]:
    for flag in knowledge.flags.values():
        if flag.default is UNKNOWN:
            yield f"{flag.name} default"
        if flag.choices is UNKNOWN:
            yield f"{flag.name} choices"
    if not knowledge.config_classes.exact:
        yield f"transformers {knowledge.transformers}"
