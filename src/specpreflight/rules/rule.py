"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from specpreflight.models.finding import Finding
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved

Check = Callable[[Launch, Resolved], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One check.

    Attributes:
        name: kebab-case, reads well after "ignore".
        summary: one line for tables; the first line of the module's docstring says the same.
        since: the version of specpreflight that introduced it.
        engines: the engines it knows about.
        needs: facts it reads (`target.config`, `draft.config`, `draft.weights`, `hardware` …); a
            missing one makes the rule `skipped`, with the reason.
        topics: the engine events it explains; a stop that no rule claims goes to `engine-refuses`.
        check: the generator of findings.
    """

    name: str
    summary: str
    since: str
    check: Check
    engines: tuple[str, ...] = ("sglang",)
    needs: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
