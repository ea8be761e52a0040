from __future__ import annotations

from typing import Any

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome, Severity
from specpreflight.rules.nccl.nccl_changed_by_engine import RULE

SYMMETRIC = {"enable-symm-mem": True}
DETERMINISTIC = {"enable-deterministic-inference": True, "tp-size": "2"}


@pytest.mark.parametrize(
    ("name", "value", "engine", "flags", "written"),
    [
        ("NCCL_NVLS_ENABLE", "1", "sglang@0.5.2", {}, "0"),
        ("NCCL_NVLS_ENABLE", "1", "sglang@0.5.4.post2", {}, "0"),
        ("NCCL_NVLS_ENABLE", "1", "sglang@0.5.4.post3", {}, None),
        ("NCCL_CUMEM_ENABLE", "1", "sglang@0.4.10.post1", SYMMETRIC, "0"),
        ("NCCL_CUMEM_ENABLE", "1", "sglang@0.5.4.post1", {}, "0"),
        ("NCCL_CUMEM_ENABLE", "1", "sglang@0.5.4.post2", {}, None),
        ("NCCL_CUMEM_ENABLE", "0", "sglang@0.5.23", SYMMETRIC, "1"),
        ("NCCL_ALGO", "Ring", "sglang@0.5.2", DETERMINISTIC, None),
        ("NCCL_ALGO", "Ring", "sglang@0.5.3", DETERMINISTIC, "allreduce:tree"),
        ("NCCL_MAX_NCHANNELS", "16", "sglang@0.5.17", DETERMINISTIC, None),
        ("NCCL_MAX_NCHANNELS", "16", "sglang@0.5.18", DETERMINISTIC, "8"),
        ("NCCL_CUMEM_ENABLE", "1", "vllm@0.9.0", {}, "0"),
        ("NCCL_CUMEM_ENABLE", "1", "vllm@0.9.1", {}, None),
    ],
)
def test_each_side_of_a_release(
    name: str, value: str, engine: str, flags: dict[str, Any], written: str | None
) -> None:
    found = findings(RULE, {name: value}, engine=engine, flags=flags)
    if written is None:
        assert found == []
        return
    [finding] = found
    assert finding.outcome is Outcome.ADJUSTS
    assert finding.severity is Severity.WARNING
    assert finding.message == f"{name}=`{value}` is replaced by `{written}`"


def test_batch_invariance_of_vllm_writes_nine_variables() -> None:
    environment = {"VLLM_BATCH_INVARIANT": "1", "NCCL_PROTO": "LL", "NCCL_NTHREADS": "512"}
    assert findings(RULE, environment, engine="vllm@0.11.0") == []
    assert len(findings(RULE, environment, engine="vllm@0.11.1")) == 2


def test_the_same_value_is_no_change() -> None:
    assert findings(RULE, {"NCCL_NVLS_ENABLE": "0"}, engine="sglang@0.5.2") == []
