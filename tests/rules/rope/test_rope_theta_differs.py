from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE, LLAMA_EAGLE3, bare_launch, change, resolved_with

from specpreflight.models.finding import Finding, Outcome
from specpreflight.rules.rope.rope_theta_differs import RULE

MTP = change(LLAMA, architectures=["DeepseekV3ForCausalLMNextN"])


def findings(directory: Path, target: dict[str, Any], draft: dict[str, Any]) -> list[Finding]:
    return list(RULE.check(bare_launch(directory, target, draft), resolved_with()))


@pytest.mark.parametrize("draft", [LLAMA_EAGLE, LLAMA_EAGLE3])
def test_head_with_its_own_theta_is_a_note_and_never_edited(
    tmp_path: Path, draft: dict[str, Any]
) -> None:
    [finding] = findings(tmp_path, LLAMA, change(draft, rope_theta=10000.0))
    assert finding.outcome is Outcome.STARTS
    assert finding.remedies == ()
    assert [value.value for value in finding.values] == [10000.0, 500000.0]
    assert finding.values[0].origin.line is not None


def test_mtp_layer_with_another_theta_degrades(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, LLAMA, change(MTP, rope_theta=10000.0))
    assert finding.outcome is Outcome.DEGRADES
    assert not any(remedy.edits for remedy in finding.remedies)


@pytest.mark.parametrize(
    "draft",
    [
        LLAMA_EAGLE3,
        change(LLAMA, rope_theta=10000.0),
        change(LLAMA_EAGLE3, rope_theta=...),
        change(LLAMA_EAGLE3, rope_theta=..., rope_parameters={"rope_theta": 500000.0}),
    ],
    ids=["equal", "standalone", "not stated", "equal in the other layout"],
)
def test_quiet(tmp_path: Path, draft: dict[str, Any]) -> None:
    assert findings(tmp_path, LLAMA, draft) == []


def test_v5_layout_is_compared_with_v4(tmp_path: Path) -> None:
    draft = change(LLAMA_EAGLE3, rope_theta=..., rope_parameters={"rope_theta": 1e6})
    [finding] = findings(tmp_path, LLAMA, draft)
    assert finding.values[0].origin.pointer == "/rope_parameters/rope_theta"
