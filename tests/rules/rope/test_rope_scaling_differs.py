from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE3, bare_launch, change, resolved_with

from specpreflight.models.finding import Finding, Outcome
from specpreflight.rules.rope.rope_scaling_differs import RULE

YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


def findings(directory: Path, target: dict[str, Any], draft: dict[str, Any]) -> list[Finding]:
    return list(RULE.check(bare_launch(directory, target, draft), resolved_with()))


def test_unscaled_head_of_a_scaled_target_is_a_note(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, change(LLAMA, rope_scaling=YARN), LLAMA_EAGLE3)
    assert finding.outcome is Outcome.STARTS
    assert "is none, of the target yarn x4 over 32768" in finding.message


def test_mtp_layer_must_match(tmp_path: Path) -> None:
    draft = change(LLAMA, architectures=["Qwen3NextForCausalLMMTP"])
    [finding] = findings(tmp_path, change(LLAMA, rope_scaling=YARN), draft)
    assert finding.outcome is Outcome.DEGRADES


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        (YARN, YARN),
        (YARN, {**YARN, "rope_type": "yarn", "type": "yarn"}),
        (None, {"rope_type": "default"}),
        (None, None),
    ],
    ids=["same", "type and rope_type", "default is none", "both none"],
)
def test_quiet(tmp_path: Path, target: Any, draft: Any) -> None:
    launch = (change(LLAMA, rope_scaling=target), change(LLAMA_EAGLE3, rope_scaling=draft))
    assert findings(tmp_path, *launch) == []


@pytest.mark.parametrize("factor", ["4", None, [4]])
def test_strange_factor_is_no_crash(tmp_path: Path, factor: Any) -> None:
    draft = change(LLAMA_EAGLE3, rope_scaling={"type": "linear", "factor": factor})
    assert len(findings(tmp_path, LLAMA, draft)) == 1
