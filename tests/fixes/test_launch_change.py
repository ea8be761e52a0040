"""Which flags and variables findings call for, where no edit of a config mends them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specpreflight.errors import UsageError
from specpreflight.fixes.launch_change import LaunchChange, launch_change
from specpreflight.models.finding import Edit, Finding, Ignored, Outcome, Remedy

CONTEXT = Remedy("lower it", "flag", "safe", flags=("--context-length 131072",))
ALLOW = Remedy("allow it", "environment", "safe", environment={"SGLANG_ALLOW": "1"})
EDIT = Remedy("raise it", "edit", "safe", edits=(Edit("config.json", "/a", 1, 2),))
MANUAL = Remedy("think", "manual", "safe")


def found(*remedies: Remedy, rule: str = "a-rule") -> Finding:
    return Finding(rule, Outcome.CRASHES, "it crashes", remedies=remedies)


@pytest.mark.parametrize(
    ("flag", "parsed"),
    [
        ("--context-length 131072", {"--context-length": "131072"}),
        ("--context-length=131072", {"--context-length": "131072"}),
        ("--trust-remote-code", {"--trust-remote-code": None}),
        ("""--json '{"a": "b=c"}'""", {"--json": '{"a": "b=c"}'}),
        ("--layers 1 2", {"--layers": "1 2"}),
    ],
)
def test_flags(flag: str, parsed: dict[str, str | None]) -> None:
    assert launch_change([found(Remedy("", "flag", "safe", flags=(flag,)))], ("safe",)) == (
        LaunchChange(parsed)
    )


def test_flags_and_variables_of_several_findings() -> None:
    change = launch_change([found(CONTEXT), found(MANUAL, ALLOW), found(ALLOW)], ("safe",))
    assert change == LaunchChange({"--context-length": "131072"}, {"SGLANG_ALLOW": "1"})
    assert change.lines() == ["export SGLANG_ALLOW=1", "--context-length 131072"]


def test_the_first_remedy_counts() -> None:
    assert launch_change([found(ALLOW, CONTEXT)], ("safe",)).flags == {}


@pytest.mark.parametrize(
    "finding",
    [
        found(ALLOW, EDIT),
        found(MANUAL),
        found(replace(ALLOW, applicability="unsafe")),
        replace(found(ALLOW), ignored=Ignored("known", "command line")),
    ],
)
def test_nothing_to_change(finding: Finding) -> None:
    assert launch_change([finding], ("safe",)) == LaunchChange()


def test_contradictions_name_both_rules() -> None:
    other = replace(CONTEXT, flags=("--context-length 4096",))
    with pytest.raises(UsageError, match="first wants --context-length 131072 and second 4096"):
        launch_change([found(CONTEXT, rule="first"), found(other, rule="second")], ("safe",))
