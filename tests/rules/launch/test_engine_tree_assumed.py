"""A tree says once what is assumed of it."""

from __future__ import annotations

from specpreflight.models.finding import Outcome, Stage
from specpreflight.models.resolved import Event, Resolved
from specpreflight.rules.launch.engine_tree_assumed import RULE


def test_names_the_first_files_and_counts_the_rest() -> None:
    event = Event(
        "engine.tree-assumed",
        Outcome.STARTS,
        Stage.ARGUMENTS,
        "the tree counts as 0.5.9: 9 restated files differ",
        facts={"files": tuple(f"f{n}.py" for n in range(9)), "unanswered": ("flags",)},
    )
    (finding,) = RULE.check(None, Resolved({}, (event,)))  # type: ignore[arg-type]
    assert finding.outcome is Outcome.STARTS
    assert "f7.py and 1 more" in finding.detail
    assert finding.detail.endswith("Without an answer: flags.")


def test_a_release_has_nothing_to_say() -> None:
    assert list(RULE.check(None, Resolved({}, ()))) == []  # type: ignore[arg-type]
