"""Changes as sentences and as a table."""

from __future__ import annotations

import json

import pytest

from specpreflight.models.change import Change, Consequence, Since
from specpreflight.models.comparison import Comparison
from specpreflight.models.finding import MISSING, Outcome
from specpreflight.models.report import Verdict
from specpreflight.reports.changes import (
    describe,
    lay_out_since,
    render_comparison,
    render_comparison_json,
)


def lines(since: Since, width: int = 80) -> list[str]:
    return ["".join(piece.text for piece in line) for line in lay_out_since(since, width)]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (Change("engine", "engine", "0.4.9", "0.5.9"), "engine 0.4.9 → 0.5.9"),
        (Change("environment", "NCCL_PROTO", "LL", MISSING), "NCCL_PROTO was LL, is unset"),
        (Change("environment", "NCCL_PROTO", MISSING, "LL"), "NCCL_PROTO was unset, is LL"),
        (Change("environment", "NCCL_PROTO", "LL", ""), "NCCL_PROTO was LL, is (empty)"),
        (Change("flags", "--tp-size", "4", "8"), "--tp-size 4 → 8"),
        (Change("flags", "--quick", MISSING, True), "--quick not given → given"),
        (Change("flags", "--spec.x", False, True), "--spec.x false → true"),
        (
            Change("draft", "max_position_embeddings", 262144, 131072),
            "the draft's config.json changed: max_position_embeddings 262144 → 131072",
        ),
        (
            Change("target", "config.json", "a", "b", note="its bytes differ"),
            "the target's config.json changed: its bytes differ",
        ),
        (Change("target", "path", "a", "b"), "the target's path: a → b"),
        (Change("libraries", "torch", "2.9.1", "2.10"), "libraries: torch 2.9.1 → 2.10"),
        (Change("hardware", "gpus", 4, 8), "hardware: gpus 4 → 8"),
    ],
)
def test_sentences(change: Change, sentence: str) -> None:
    assert describe(change) == sentence


def test_files_are_told_in_one_line() -> None:
    changes = tuple(
        Change("draft", f"model-{number:05}.safetensors", "a", "b", note="file")
        for number in range(40)
    )
    told = lines(Since("l.json", changes))
    assert told[0] == "changed since l.json"
    assert told[1].startswith("  other files: draft/model-00000.safetensors, ")
    assert told[-1].endswith("and 28 more")


def test_nothing_changed_by_itself() -> None:
    since = Since("l.json", (), (Consequence("worse", "now an error: x", "a-rule"),))
    assert lines(since) == [
        "nothing changed since l.json",
        "",
        "of several changes together, or of what is not compared",
        "      a-rule: now an error: x",
    ]


COMPARISON = Comparison(
    "a.sh",
    "b.sh",
    (
        Change("flags", "--tp-size", "4", "8", (Consequence("other", "ranks 4 → 8"),)),
        Change("environment", "A" * 50, "x" * 60, MISSING),
        Change("config", "hidden_size", 1, 2, rules=("hidden-size-differs",)),
    ),
    Verdict(Outcome.STARTS, None, "SGLang 0.5.9 starts with `this` launch"),
    same=(("flags", "--page-size", "16"),),
)


def test_a_table() -> None:
    told = render_comparison(COMPARISON)
    assert told.splitlines()[:2] == ["A  a.sh: SGLang 0.5.9 starts with this launch", "B  b.sh"]
    rows = [line.split() for line in told.splitlines()]
    assert rows[rows.index(["--tp-size", "4", "8"]) + 1] == ["ranks", "4", "→", "8"]
    assert ["--page-size", "16", "16"] in rows
    assert f"  {'A' * 50}\n      A  {'x' * 60}\n      B  -\n" in told
    assert "      read by hidden-size-differs\n" in told
    assert told.index("flags") < told.index("environment") < told.index("config")


def test_json() -> None:
    data = json.loads(render_comparison_json(COMPARISON))
    assert next(iter(data)) == "format_version"
    assert data["same"] == [{"part": "flags", "name": "--page-size", "value": "16"}]
    assert data["changes"][1]["after"] == "<missing>"
    assert data["before_verdict"]["outcome"] == "starts"
