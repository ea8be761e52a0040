from __future__ import annotations

from typing import Any

import pytest
from nccl_launches import findings

from specpreflight.api import identify_engine
from specpreflight.engines.registry import find_engine
from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.engine_variable_unknown import RULE

KNOWN: dict[str, Any] = {"engine_variables": {"SGLANG_ENABLE_SPEC_V2", "SGLANG_IS_IN_CI"}}


def test_a_slip_is_reported() -> None:
    [finding] = findings(RULE, {"SGLANG_ENABLE_SPECV2": "1"}, facts=KNOWN)
    assert finding.outcome is Outcome.DEGRADES
    assert finding.message.endswith("did you mean SGLANG_ENABLE_SPEC_V2?")


def test_a_name_like_no_other_is_noted() -> None:
    [finding] = findings(RULE, {"SGLANG_EAGLE3_PROFILE": "1"}, facts=KNOWN)
    assert finding.outcome is Outcome.STARTS


@pytest.mark.parametrize("name", ["SGLANG_IS_IN_CI", "VLLM_USER_V1", "PATH", "NCCL_ALGO"])
def test_quiet(name: str) -> None:
    assert findings(RULE, {name: "1"}, facts=KNOWN) == []


def test_quiet_where_the_names_are_not_known() -> None:
    assert findings(RULE, {"SGLANG_ENABLE_SPECV2": "1"}) == []


def test_a_name_of_other_releases_is_a_note() -> None:
    facts = {**KNOWN, "engine_variables_ever": {"SGLANG_ENABLE_SPEC_V1"}}
    [finding] = findings(RULE, {"SGLANG_ENABLE_SPEC_V1": "1"}, facts=facts)
    assert finding.outcome is Outcome.STARTS
    assert finding.message == "sglang 0.5.9 does not read SGLANG_ENABLE_SPEC_V1"


@pytest.mark.parametrize(
    ("engine", "name", "reads"),
    [
        ("sglang@0.5.9", "SGLANG_ENABLE_SPEC_V2", True),
        ("vllm@0.10.0", "VLLM_USE_V1", True),
        ("vllm@0.33.0", "VLLM_USE_V1", False),
        ("vllm@0.10.0", "VLLM_USER_V1", False),
    ],
)
def test_what_releases_read(engine: str, name: str, reads: bool) -> None:
    version = identify_engine(engine)
    answers = find_engine(version.name)
    assert (name in answers.known_variables(version)) == reads
    assert (name in answers.known_variables(None)) == (name != "VLLM_USER_V1")
