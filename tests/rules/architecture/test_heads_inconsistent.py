from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA_EAGLE3, bare_launch, change, resolved_with

from specpreflight.models.finding import Finding, Outcome
from specpreflight.rules.architecture.heads_inconsistent import RULE


def findings(directory: Path, draft: dict[str, Any], **flags: Any) -> list[Finding]:
    named = {name.replace("_", "-"): value for name, value in flags.items()}
    return list(RULE.check(bare_launch(directory, draft=draft, flags=named), resolved_with()))


@pytest.mark.parametrize(
    ("heads", "kv_heads", "ranks", "count"),
    [
        (32, 8, "1", 0),
        (32, 8, "8", 0),
        (32, 8, "16", 0),
        (32, 8, "32", 0),
        (32, 8, "3", 1),
        (12, 4, "8", 1),
        (24, 6, "4", 1),
        (24, 3, "4", 1),
        (32, 5, "1", 1),
        (32, 32, "64", 1),
    ],
)
def test_heads_and_ranks(tmp_path: Path, heads: int, kv_heads: int, ranks: str, count: int) -> None:
    draft = change(LLAMA_EAGLE3, num_attention_heads=heads, num_key_value_heads=kv_heads)
    found = findings(tmp_path, draft, tp_size=ranks)
    assert len(found) == count
    assert all(finding.outcome is Outcome.CRASHES for finding in found)


@pytest.mark.parametrize(
    "changes",
    [
        {"num_attention_heads": 0},
        {"num_attention_heads": "32"},
        {"num_attention_heads": ...},
        {"num_attention_heads": True},
        {"num_key_value_heads": None},
        {"num_key_value_heads": 0},
        {"kv_lora_rank": 512, "num_attention_heads": 12},
    ],
)
def test_what_cannot_be_compared_is_left_to_others(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert findings(tmp_path, change(LLAMA_EAGLE3, **changes), tp_size="8") == []


@pytest.mark.parametrize("flags", [{"tp_size": "eight"}, {"enable_dp_attention": True}])
def test_unclear_ranks_are_not_guessed(tmp_path: Path, flags: dict[str, Any]) -> None:
    draft = change(LLAMA_EAGLE3, num_attention_heads=12, num_key_value_heads=4)
    assert findings(tmp_path, draft, **{"tp_size": "8", **flags}) == []
