"""`--interactive` asks for each fix, and only once."""

from __future__ import annotations

import io
import sys

import pytest
from fixing import finding

from specpreflight.cli.interactive import Chooser, ask_on_terminal, terminal_chooser
from specpreflight.errors import UsageError
from specpreflight.models.finding import MISSING, Edit

FINDINGS = [
    finding(Edit("config.json", f"/{key}", 1, MISSING), rule=f"rule-{key}") for key in "abcd"
]


@pytest.mark.parametrize(
    ("answers", "chosen"),
    [
        (["yes", "no", "yes", "no"], "ac"),
        (["no", "all"], "bcd"),
        (["yes", "quit"], "a"),
        (["quit"], ""),
        (["all"], "abcd"),
    ],
)
def test_answers(answers: list[str], chosen: str) -> None:
    left = list(answers)
    chooser = Chooser(("safe",), lambda question: left.pop(0))
    for _ in range(2):  # the second round asks nothing
        assert "".join(one.rule[-1] for one in chooser.choose(FINDINGS)) == chosen
    assert left == []


def test_what_cannot_be_fixed_is_not_asked() -> None:
    def never(question: str) -> str:
        raise AssertionError(question)

    unsafe = finding(Edit("config.json", "/a", 1, 2), how="unsafe")
    assert Chooser(("safe",), never).choose([finding(), unsafe]) == []


def test_the_question_shows_both_values() -> None:
    asked: list[str] = []

    def note(question: str) -> str:
        asked.append(question)
        return "no"

    both = finding(
        Edit("d/config.json", "/a", 131072, 262144), Edit("d/config.json", "/b", 1, MISSING)
    )
    Chooser(("safe",), note).choose([both])
    assert asked[0].splitlines() == [
        "draft-context-shorter: draft-context-shorter found it",
        "  d/config.json /a: 131072 -> 262144",
        "  d/config.json /b: 1 -> removed",
    ]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y\n", "yes"),
        ("No\n", "no"),
        ("all\n", "all"),
        ("q\n", "quit"),
        ("x\n\ny\n", "yes"),
        ("", "quit"),
    ],
)
def test_on_a_terminal(typed: str, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert ask_on_terminal("rule: message") == answer


def test_nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(UsageError, match="needs a terminal"):
        terminal_chooser(("safe",))
