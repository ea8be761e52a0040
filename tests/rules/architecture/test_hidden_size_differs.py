from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE, LLAMA_EAGLE3, bare_launch, change, resolved_with

from specpreflight.models.finding import Finding, Outcome
from specpreflight.rules.architecture.hidden_size_differs import RULE


def findings(directory: Path, target: dict[str, Any], draft: dict[str, Any]) -> list[Finding]:
    return list(RULE.check(bare_launch(directory, target, draft), resolved_with()))


@pytest.mark.parametrize("width", [4095, 4097, 8192])
@pytest.mark.parametrize("draft", [LLAMA_EAGLE, LLAMA_EAGLE3])
def test_other_width_crashes(tmp_path: Path, draft: dict[str, Any], width: int) -> None:
    [finding] = findings(tmp_path, change(LLAMA, hidden_size=width), draft)
    assert finding.outcome is Outcome.CRASHES
    assert f"width 4096, the target's hidden size is {width}" in finding.message


def test_eagle3_states_the_targets_width(tmp_path: Path) -> None:
    target = change(LLAMA, hidden_size=8192)
    assert findings(tmp_path, target, change(LLAMA_EAGLE3, target_hidden_size=8192)) == []
    [finding] = findings(tmp_path, target, change(LLAMA_EAGLE3, target_hidden_size=6144))
    assert finding.values[0].origin.pointer == "/target_hidden_size"


def test_adding_the_key_is_offered_as_unsafe(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, change(LLAMA, hidden_size=8192), LLAMA_EAGLE3)
    edits = [remedy for remedy in finding.remedies if remedy.edits]
    assert [remedy.applicability for remedy in edits] == ["unsafe"]


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        (LLAMA, LLAMA_EAGLE),
        (change(LLAMA, hidden_size=8192), LLAMA),
        ({"architectures": ["X"], "text_config": {"hidden_size": 4096}}, LLAMA_EAGLE3),
        (change(LLAMA, hidden_size=...), LLAMA_EAGLE3),
    ],
    ids=["equal", "standalone", "nested target", "not stated"],
)
def test_quiet(tmp_path: Path, target: dict[str, Any], draft: dict[str, Any]) -> None:
    assert findings(tmp_path, target, draft) == []
