from __future__ import annotations

from pathlib import Path

import pytest
from weight_launches import judge_twin

from specpreflight.models.finding import MISSING, Outcome

RULE = "dtype-differs"


def stating(ours: str | None, theirs: str | None, key: str = "torch_dtype"):
    def change(draft, target) -> None:
        for checkpoint, dtype in ((draft, ours), (target, theirs)):
            del checkpoint.config["torch_dtype"]
            if dtype is not None:
                checkpoint.config[key] = dtype

    return change


@pytest.mark.parametrize(
    ("ours", "theirs", "count"),
    [
        ("float16", "bfloat16", 1),
        ("bfloat16", "bfloat16", 0),
        ("float32", "float16", 0),
        ("float32", "bfloat16", 1),
        (None, "bfloat16", 1),
        (None, "float16", 0),
        ("half", "float16", 0),
        ("int4", "bfloat16", 0),
    ],
)
@pytest.mark.parametrize("key", ["torch_dtype", "dtype"])
def test_what_auto_makes_of_both(
    tmp_path: Path, ours: str | None, theirs: str | None, count: int, key: str
) -> None:
    found = judge_twin(RULE, tmp_path, change=stating(ours, theirs, key))
    assert [finding.outcome for finding in found] == [Outcome.CRASHES] * count


def test_the_flag_makes_both_the_same(tmp_path: Path) -> None:
    assert judge_twin(RULE, tmp_path, flags={"dtype": "bfloat16"}) == []


def test_a_missing_key_is_added(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path, change=stating(None, "bfloat16"))
    [edit] = finding.remedies[1].edits
    assert (edit.pointer, edit.before, edit.after) == ("/torch_dtype", MISSING, "bfloat16")
