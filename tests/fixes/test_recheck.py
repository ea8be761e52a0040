"""Fixes are planned on the result until nothing is left, and refused where they do harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from fixing import finding

from specpreflight.documents import Document, parse_document
from specpreflight.fixes.plan import plan_fixes
from specpreflight.fixes.recheck import FixRefused, converge
from specpreflight.models.finding import Edit, Finding, Outcome

Rules = Callable[[Document], list[Finding]]


def config(value: int) -> Document:
    return parse_document(b'{"a": %d, "b": 0}' % value, "config.json")


def raise_to(document: Document, after: int, rule: str = "too-small") -> Finding:
    return finding(Edit("config.json", "/a", document.get("/a"), after), rule=rule)


def run(value: int, rules: Rules) -> bytes:
    def check(documents: Sequence[Document]) -> list[Finding]:
        return [found for document in documents for found in rules(document)]

    plans = converge([config(value)], check([config(value)]), check, plan_fixes)
    return plans[0].new_data if plans else b""


def test_nothing_to_fix() -> None:
    assert run(1, lambda document: [finding()]) == b""


def test_one_round() -> None:
    def too_small(document: Document) -> list[Finding]:
        return [raise_to(document, 5)] if document.get("/a") < 5 else []

    assert run(1, too_small) == b'{"a": 5, "b": 0}'


@pytest.mark.parametrize(("start", "converges"), [(5, True), (6, False)])
def test_five_rounds_and_no_more(start: int, converges: bool) -> None:
    def counting_down(document: Document) -> list[Finding]:
        value = document.get("/a")
        return [raise_to(document, value - 1, "countdown")] if value else []

    if converges:
        assert run(start, counting_down) == b'{"a": 0, "b": 0}'
    else:
        with pytest.raises(FixRefused, match="after 5 rounds countdown still want"):
            run(start, counting_down)


def test_two_rules_that_never_agree() -> None:
    def never(document: Document) -> list[Finding]:
        value = document.get("/a")
        return [raise_to(document, 1 - value, "up" if value == 0 else "down")]

    with pytest.raises(FixRefused, match="down, up still want"):
        run(0, never)


def test_a_fix_that_brings_a_new_error_is_refused() -> None:
    def trap(document: Document) -> list[Finding]:
        return [raise_to(document, 5) if document.get("/a") < 5 else finding(rule="new-trouble")]

    with pytest.raises(FixRefused, match="too-small would bring new-trouble") as caught:
        run(1, trap)
    assert caught.value.exit_code == 1


def test_an_error_that_was_there_before_and_a_new_warning_are_no_reason() -> None:
    def rules(document: Document) -> list[Finding]:
        before = document.get("/a") < 5
        rest = [] if before else [finding(rule="slow", outcome=Outcome.DEGRADES)]
        return [finding(rule="old"), *([raise_to(document, 5)] if before else []), *rest]

    assert run(1, rules) == b'{"a": 5, "b": 0}'


def test_the_plan_goes_from_the_first_bytes_to_the_last() -> None:
    def steps(document: Document) -> list[Finding]:
        return [raise_to(document, document.get("/a") + 1)] if document.get("/a") < 3 else []

    original = config(1)
    (plan,) = converge(
        [original], steps(original), lambda documents: steps(documents[0]), plan_fixes
    )
    assert plan.document is original
    assert [edit.after for edit in plan.edits] == [2, 3]
    assert plan.rules == ("too-small",)
