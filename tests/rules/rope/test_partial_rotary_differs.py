from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE3, bare_launch, change, resolved_with

from specpreflight.models.finding import Finding, Outcome
from specpreflight.rules.rope.partial_rotary_differs import RULE

MTP = change(LLAMA, architectures=["Glm4MoeForCausalLMNextN"])
HALF = change(LLAMA, partial_rotary_factor=0.5)


def findings(directory: Path, target: dict[str, Any], draft: dict[str, Any]) -> list[Finding]:
    return list(RULE.check(bare_launch(directory, target, draft), resolved_with()))


def test_lost_factor_is_compared_as_one(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, HALF, MTP)
    assert finding.outcome is Outcome.DEGRADES
    assert "of the draft is 1.0, of the target 0.5" in finding.message


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        (HALF, change(MTP, partial_rotary_factor=0.5)),
        (LLAMA, MTP),
        (LLAMA, change(MTP, partial_rotary_factor=1.0)),
        (HALF, LLAMA_EAGLE3),
    ],
    ids=["equal", "neither states it", "stated default", "a head may differ"],
)
def test_quiet(tmp_path: Path, target: dict[str, Any], draft: dict[str, Any]) -> None:
    assert findings(tmp_path, target, draft) == []
