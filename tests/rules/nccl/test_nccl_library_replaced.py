from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_library_replaced import RULE


@pytest.mark.parametrize(
    ("environment", "engine"),
    [
        ({"SGLANG_NCCL_SO_PATH": "/opt/libnccl.so.2"}, "sglang@0.5.9"),
        ({"VLLM_NCCL_SO_PATH": "/opt/libnccl.so.2"}, "vllm@0.11.0"),
        ({"LD_PRELOAD": "/opt/libnccl.so.2"}, "sglang@0.5.9"),
        ({"NCCL_ENV_PLUGIN": "mine"}, "sglang@0.5.9"),
    ],
)
def test_noted(environment: dict[str, str], engine: str) -> None:
    [finding] = findings(RULE, environment, engine=engine)
    assert finding.outcome is Outcome.STARTS


@pytest.mark.parametrize(
    "environment",
    [
        {"VLLM_NCCL_SO_PATH": "/opt/libnccl.so.2"},
        {"LD_PRELOAD": "/usr/lib/libjemalloc.so"},
        {"NCCL_ENV_PLUGIN": "none"},
        {},
    ],
)
def test_quiet(environment: dict[str, str]) -> None:
    assert findings(RULE, environment) == []
