from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE, LLAMA_EAGLE3, bare_launch, resolved_with

from specpreflight.models.finding import Finding, Outcome
from specpreflight.rules.launch.speculation_off import RULE


def findings(directory: Path, draft: dict[str, Any], **flags: Any) -> list[Finding]:
    named = {name.replace("_", "-"): value for name, value in flags.items()}
    return list(RULE.check(bare_launch(directory, draft=draft, flags=named), resolved_with()))


@pytest.mark.parametrize(
    ("draft", "algorithm"),
    [(LLAMA_EAGLE, "EAGLE"), (LLAMA_EAGLE3, "EAGLE3"), (LLAMA, "STANDALONE")],
)
def test_names_the_algorithm_of_the_draft(
    tmp_path: Path, draft: dict[str, Any], algorithm: str
) -> None:
    [finding] = findings(tmp_path, draft, speculative_draft_model_path="draft")
    assert finding.outcome is Outcome.DEGRADES
    assert finding.remedies[0].flags == (f"--speculative-algorithm {algorithm}",)


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"speculative_algorithm": "EAGLE3", "speculative_draft_model_path": "draft"},
        {"tp_size": "8"},
    ],
)
def test_quiet(tmp_path: Path, flags: dict[str, Any]) -> None:
    assert findings(tmp_path, LLAMA_EAGLE3, **flags) == []
