from __future__ import annotations

from pathlib import Path

import pytest
from launches import LLAMA_EAGLE3, bare_launch, change, resolved_with

from specpreflight.models.finding import Outcome
from specpreflight.rules.rope.rope_key_layout import RULE

V5 = change(LLAMA_EAGLE3, rope_theta=..., rope_parameters={"rope_theta": 1e6})
BOTH = change(LLAMA_EAGLE3, rope_parameters={"rope_theta": 500000.0})


@pytest.mark.parametrize(("major", "count"), [(4, 1), (5, 0)])
def test_only_transformers_four_does_not_read_it(tmp_path: Path, major: int, count: int) -> None:
    found = list(
        RULE.check(bare_launch(tmp_path, draft=V5), resolved_with(transformers_major=major))
    )
    assert len(found) == count
    assert all(finding.outcome is Outcome.DEGRADES for finding in found)


@pytest.mark.parametrize("draft", [LLAMA_EAGLE3, BOTH], ids=["v4", "both"])
def test_quiet(tmp_path: Path, draft: dict[str, object]) -> None:
    launch = bare_launch(tmp_path, draft=draft)
    assert list(RULE.check(launch, resolved_with(transformers_major=4))) == []
