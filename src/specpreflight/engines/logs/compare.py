"""Why one launch worked and the other did not: what differs between two logs, telling things first.

A mismatch of the context lengths is a warning where `SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN` is
true, which it is by default to 0.4.10 (`configs/model_config.py`); so the warning in a later
release's log proves that the variable was set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from packaging.version import Version

from specpreflight.engines.logs.explanations import explain_argument, explain_fact
from specpreflight.models.diagnosis import Diagnosis, Difference

_OVERRIDE: Final = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_CONTEXT_CAUSES: Final = frozenset({"L-CTX-DRAFT", "L-CTX-DRAFT-EARLY", "L-CTX-TARGET"})
_NEEDED: Final = "since 0.5.1 the mismatch is an error unless this variable is true"
_SAME_TEXT: Final = "printed and passed over in the good run; here it stops the launch"
#: Drawn or bound anew at each start, or a consequence of what is shown already.
_INCIDENTAL: Final = frozenset(
    {"random_seed", "port", "nccl_port", "host", "api_key", "admin_api_key", "tokenizer_path",
     "served_model_name", "model_tag"}
)  # fmt: skip
#: Seconds and GB differ from run to run by so much without meaning anything.
_NOISE: Final = 0.2
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


def compare(bad: Diagnosis, good: Diagnosis) -> tuple[Difference, ...]:
    """Return what differs, what can explain the failure first, speculation before the rest."""
    found = [
        *_messages(bad, good),
        *_releases(bad, good),
        *_environment(bad, good),
        *_arguments(bad, good),
        *_serving(bad, good),
        *_start(bad, good),
    ]
    return tuple(sorted(found, key=_weight))


def _weight(difference: Difference) -> tuple[bool, bool, bool, bool]:
    return (
        difference.explains is None,
        difference.by_default,
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
            "the same two numbers; only the good run was allowed to go on"
            if _alike(warned, bad.message or "")
            else "only the good run was allowed to go on",
        )
        if _OVERRIDE in good.launch.proven and _OVERRIDE not in good.launch.environment:
            yield Difference(_OVERRIDE, "true (its log proves it)", "unset or false", _NEEDED)
    for name in sorted(good.warnings.keys() | bad.warnings.keys()):
        theirs, ours = good.warnings.get(name), bad.warnings.get(name)
        if name == "context-exceeds-draft":
            continue
        if theirs and ours is None and _alike(theirs, bad.message or ""):
            yield Difference(f"message {name}", "a warning", "an error", _SAME_TEXT)
        elif (theirs is None) != (ours is None):
            before, after = (("printed" if text else None) for text in (theirs, ours))
            yield Difference(f"message {name}", before, after)


def _alike(warning: str, message: str) -> bool:
    """Whether a warning and an error say the same but for numbers and the exception's name."""
    said, told = (_NUMBER.sub("#", text).casefold() for text in (warning, message))
    start = said.removeprefix("warning: ")[:60]
    return len(start) > 20 and start in told


def _releases(bad: Diagnosis, good: Diagnosis) -> Iterator[Difference]:
    if bad.version != good.version or bad.engine != good.engine:
        low, high = bad.version.low, good.version.high
        explains = None
        if bad.cause in _CONTEXT_CAUSES and low and high:
            if Version(high) < Version("0.5.1") <= Version(low):
                explains = "to 0.4.10 the mismatch only warned; since 0.5.1 it is an error"
        elif bad.engine == good.engine:
            explains = explain_fact("release", bad.cause)
        yield Difference(
            "release", f"{good.engine} {good.version}", f"{bad.engine} {bad.version}", explains
        )
    theirs, ours = good.values.get("build"), bad.values.get("build")
    if theirs != ours:
        yield Difference("build", theirs, ours)
    old, new = (run.values.get("libraries", {}) for run in (good, bad))
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            yield Difference(name, old[name], new[name], explain_fact(name, bad.cause))


def _environment(bad: Diagnosis, good: Diagnosis) -> Iterator[Difference]:
    theirs, ours = good.launch.environment, bad.launch.environment
    told = [any(name.startswith("NCCL_") for name in run) for run in (theirs, ours)]
    if told[0] != told[1]:
        before, after = (("printed" if one else None) for one in told)
        yield Difference("NCCL's variables", before, after)
    for name in sorted(theirs.keys() | ours.keys()):
        if name.startswith("NCCL_") and not all(told):
            continue
        if theirs.get(name) != ours.get(name):
            explains = explain_fact(name, bad.cause)
            if name == _OVERRIDE and bad.cause in _CONTEXT_CAUSES:
                explains = _NEEDED
            yield Difference(name, theirs.get(name), ours.get(name), explains)


def _arguments(bad: Diagnosis, good: Diagnosis) -> Iterator[Difference]:
    theirs, ours = good.launch.arguments, bad.launch.arguments
    if not theirs or not ours:
        return
    old, new = _defaults(good), _defaults(bad)
    names = (theirs.keys() | ours.keys()) - _INCIDENTAL
    for run in (good, bad):
        if not run.launch.complete:
            names &= run.launch.arguments.keys()
    for name in sorted(names):
        if _is_default_of_one(name, theirs, ours, new) or _is_default_of_one(
            name, ours, theirs, old
        ):
            continue
        before, after = theirs.get(name, old.get(name)), ours.get(name, new.get(name))
        if before == after or name.startswith("_"):
            continue
        by_default = name in old and name in new and (before, after) == (old[name], new[name])
        yield Difference(
            name,
            None if before is None else str(before),
            None if after is None else str(after),
            explain_argument(name, bad.cause, bad.silent_fault),
            by_default,
        )


def _is_default_of_one(
    name: str, without: Mapping[str, Any], has: Mapping[str, Any], defaults: Mapping[str, Any]
) -> bool:
    """Whether only one run's release has a flag, and nobody gave it there."""
    if name in without or not defaults:
        return False
    return name not in defaults or has[name] == defaults[name]


def _defaults(run: Diagnosis) -> Mapping[str, Any]:
    """Return the defaults of the release that wrote a log, empty where it is not known."""
    release = run.version.high or run.version.low
    if run.engine != "sglang" or release is None:
        return {}
    from specpreflight.engines.sglang.knowledge import load

    return {flag.dest: flag.default for flag in load(release).flags.values()}


def _serving(bad: Diagnosis, good: Diagnosis) -> Iterator[Difference]:
    length, before = bad.acceptance_length, good.acceptance_length
    if length is not None and before is not None and abs(length - before) > 0.1:
        yield Difference("acceptance length", f"{before:.2f}", f"{length:.2f}")
    speed, before = bad.serving.tokens_per_second, good.serving.tokens_per_second
    if speed and before and _differ(before, speed):
        yield Difference("tokens a second", f"{before:.0f}", f"{speed:.0f}")


def _start(bad: Diagnosis, good: Diagnosis) -> Iterator[Difference]:
    """Yield seconds and GB of the steps that both runs went through."""
    if bad.seconds_to_ready and good.seconds_to_ready:
        before, after = good.seconds_to_ready, bad.seconds_to_ready
        if _differ(before, after):
            yield Difference("seconds to ready", f"{before:.0f}", f"{after:.0f}")
    for name in sorted(good.memory.keys() & bad.memory.keys()):
        before, after = good.memory[name], bad.memory[name]
        if name != "free_gb" and _differ(before, after):
            explains = explain_fact(name, bad.cause)
            yield Difference(name.replace("_", " "), f"{before:g}", f"{after:g}", explains)


def _differ(before: float, after: float) -> bool:
    return abs(after - before) > _NOISE * max(abs(before), abs(after))
