from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Confidence, Outcome
from specpreflight.rules.nccl.nccl_only_named_collectives import RULE

PAIR = {"NCCL_ALGO": "allreduce:tree", "NCCL_PROTO": "Simple"}


def test_version_gate() -> None:
    assert findings(RULE, PAIR, nccl="2.30.7") == []
    [finding] = findings(RULE, PAIR, nccl="2.31.0")
    assert finding.outcome is Outcome.CRASHES
    assert finding.confidence is Confidence.OBSERVED


def test_the_engine_writes_one_of_the_two() -> None:
    flags = {"enable-deterministic-inference": True, "tp-size": "2"}
    [finding] = findings(RULE, {"NCCL_PROTO": "LL"}, nccl="2.32.3", flags=flags)
    assert finding.values[0].origin.kind == "engine"
    assert [remedy.title for remedy in finding.remedies] == ["unset NCCL_PROTO"]


def test_vllm_batch_invariance_before_and_after_its_mend() -> None:
    environment = {"VLLM_BATCH_INVARIANT": "1"}
    assert findings(RULE, environment, nccl="2.31.0", engine="vllm@0.30.0")
    assert findings(RULE, environment, nccl="2.31.0", engine="vllm@0.31.0") == []


@pytest.mark.parametrize(
    "environment",
    [
        {"NCCL_ALGO": "allreduce:tree"},
        {"NCCL_ALGO": "ring,tree;allreduce:tree", "NCCL_PROTO": "LL"},
        {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"},
        {"NCCL_ALGO": "allreduce:tree", "NCCL_PROTO": "allreduce:LL"},
    ],
)
def test_quiet(environment: dict[str, str]) -> None:
    assert findings(RULE, environment, nccl="2.31.0") == []
