"""Why one launch worked and the other did not: what differs between two logs, telling things first.

A mismatch of the context lengths is a warning where `SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN` is
true, which it is by default to 0.4.10 (`configs/model_config.py`); so the warning in a later
release's log proves that the variable was set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from packaging.version import Version

from specpreflight.models.diagnosis import Diagnosis, Difference

_OVERRIDE: Final = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_CONTEXT_CAUSES: Final = frozenset({"L-CTX-DRAFT", "L-CTX-DRAFT-EARLY"})
_NEEDED: Final = "since 0.5.1 the mismatch is an error unless this variable is true"
#: Drawn or bound anew at each start.
_INCIDENTAL: Final = frozenset({"random_seed", "port", "nccl_port", "host", "api_key"})


def compare(bad: Diagnosis, good: Diagnosis) -> tuple[Difference, ...]:
    """Return what differs, what can explain the failure first, speculation before the rest."""
    found = [
        *_messages(bad, good),
        *_releases(bad, good),
        *_environment(bad, good),
        *_arguments(bad.launch.arguments, good.launch.arguments),
    ]
    return tuple(sorted(found, key=_weight))


def _weight(difference: Difference) -> tuple[bool, bool, bool]:
    return (
        difference.explains is None,
        "model_path" not in difference.name,
        "speculative" not in difference.name,
    )


def _messages(bad: Diagnosis, good: Diagnosis) -> Iterator[Difference]:
    warned = good.warnings.get("context-exceeds-draft")
    if bad.cause in _CONTEXT_CAUSES and warned:
        yield Difference(
            "the context mismatch",
            "a warning",
            "an error",
            "the same two numbers; only the good run was allowed to go on",
        )
        low = good.version.low
        if _OVERRIDE not in good.launch.environment and low and Version(low) >= Version("0.5.1"):
            yield Difference(
                _OVERRIDE,
                "true (its log proves it)",
                "unset or false",
                _NEEDED,
            )
    for name in sorted(good.warnings.keys() ^ bad.warnings.keys()):
        if name != "context-exceeds-draft":
            place = [("printed" if name in run.warnings else None) for run in (good, bad)]
            yield Difference(f"message {name}", *place)


def _releases(bad: Diagnosis, good: Diagnosis) -> Iterator[Difference]:
    if bad.version == good.version and bad.engine == good.engine:
        return
    explains = None
    low, high = bad.version.low, good.version.high
    if (
        bad.cause in _CONTEXT_CAUSES
        and low
        and high
        and Version(high) < Version("0.5.1") <= Version(low)
    ):
        explains = "to 0.4.10 the mismatch only warned; since 0.5.1 it is an error"
    yield Difference(
        "release", f"{good.engine} {good.version}", f"{bad.engine} {bad.version}", explains
    )


def _environment(bad: Diagnosis, good: Diagnosis) -> Iterator[Difference]:
    theirs, ours = good.launch.environment, bad.launch.environment
    for name in sorted(theirs.keys() | ours.keys()):
        if theirs.get(name) != ours.get(name):
            explains = _NEEDED if name == _OVERRIDE and bad.cause in _CONTEXT_CAUSES else None
            yield Difference(name, theirs.get(name), ours.get(name), explains)


def _arguments(bad: Mapping[str, Any], good: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted(good.keys() & bad.keys() - _INCIDENTAL):
        if good[name] != bad[name]:
            yield Difference(name, str(good[name]), str(bad[name]))
