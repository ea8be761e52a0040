from __future__ import annotations

from pathlib import Path

import pytest
from weight_launches import judge_twin

from specpreflight.models.finding import Outcome

RULE = "quantization-inherited"


@pytest.mark.parametrize(
    ("flags", "outcome"),
    [
        ({}, None),
        ({"quantization": "fp8"}, Outcome.DEGRADES),
        ({"quantization": "modelopt_fp4"}, Outcome.CRASHES),
        ({"quantization": "fp8", "speculative-draft-model-quantization": "unquant"}, None),
    ],
)
def test_the_flag_without_one_for_the_draft(
    tmp_path: Path, flags: dict[str, str], outcome: Outcome | None
) -> None:
    found = judge_twin(RULE, tmp_path, flags=flags)
    assert [finding.outcome for finding in found] == ([outcome] if outcome else [])


@pytest.mark.parametrize(("own", "count"), [("fp8", 0), ("awq", 1)])
def test_a_scheme_of_the_drafts_own(tmp_path: Path, own: str, count: int) -> None:
    def state(draft, target) -> None:
        draft.config["quantization_config"] = {"quant_method": own}

    found = judge_twin(RULE, tmp_path, change=state, flags={"quantization": "fp8"})
    assert len(found) == count
    assert all(finding.remedies[0].flags[0].split()[1] == own for finding in found)


@pytest.mark.parametrize(("release", "names_the_flag"), [("0.5.6.post2", False), ("0.5.7", True)])
def test_the_drafts_own_flag_from_the_release_that_has_it(
    tmp_path: Path, release: str, names_the_flag: bool
) -> None:
    found = judge_twin(RULE, tmp_path, release=release)
    assert found
    assert all(bool(finding.remedies[0].flags) is names_the_flag for finding in found)
