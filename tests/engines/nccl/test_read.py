from __future__ import annotations

import pytest
from nccl_launches import STORY, nccl_launch

from specpreflight.models.launch import Hardware
from specpreflight.models.nccl import NcclReading, reading_of


def reading(environment: dict[str, str | None], **given: object) -> NcclReading:
    found = reading_of(nccl_launch(environment, **given))  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "text", "understood", "effect"),
    [
        ("NCCL_ALGO", "tree", "all:Tree", "used"),
        ("NCCL_ALGO", '"Ring"', "fatal: Unrecognized element token", "fatal"),
        ("NCCL_ALGO", "", "all:Tree,Ring,CollNetDirect,CollNetChain,NVLS,NVLSTree,PAT", "default"),
        ("NCCL_BUFFSIZE", "16M", "16", "used"),
        ("NCCL_BUFFSIZE", "", "default", "default"),
        ("NCCL_P2P_LEVEL", "sys", "default", "default"),
        ("NCCL_P2P_DISABLE", "1", "LOC", "used"),
        ("NCCL_DEBUG", "info", "INFO", "used"),
        ("NCCL_MIN_CHANNELS", "8", "ignored", "ignored"),
        ("NCCL_SOCKET_IFNAME", "^lo,docker", "all but lo*, docker*", "used"),
        ("NCCL_SOCKET_IFNAME", "e", "default", "default"),
        ("NCCL_SOCKET_FAMILY", "af_inet6", "default", "default"),
        ("NCCL_COMM_ID", "host:1", "host:1", "used"),
    ],
)
def test_one_variable(name: str, text: str, understood: str, effect: str) -> None:
    [variable] = reading({name: text}).variables
    assert (variable.understood.text, variable.effect) == (understood, effect)


def test_the_engine_wins() -> None:
    found = reading({"NCCL_NVLS_ENABLE": "1"}, engine="sglang@0.5.2")
    [variable] = found.variables
    assert variable.effect == "changed-by-engine"
    assert found.effective("NCCL_NVLS_ENABLE") == "0"
    assert found.in_force("NCCL_NVLS_ENABLE") is None


def test_a_value_nobody_knows() -> None:
    [variable] = reading({"NCCL_ALGO": None}).variables
    assert variable.effect == "unknown"


def test_lists_are_answered_by_the_machine() -> None:
    machine = Hardware(interfaces=("lo", "eth0", "eth1"), hcas=("mlx5_0:1", "mlx5_1"))
    environment: dict[str, str | None] = {"NCCL_SOCKET_IFNAME": "eth", "NCCL_IB_HCA": "=mlx5_1"}
    found = {one.name: one.understood.text for one in reading(
        environment, hardware=machine).variables}  # fmt: skip
    assert found == {"NCCL_IB_HCA": "mlx5_1:1", "NCCL_SOCKET_IFNAME": "eth0,eth1"}


def test_resolved_numbers_of_the_story() -> None:
    resolved = reading(dict(STORY)).resolved
    assert resolved["max_nchannels"] == 16
    assert resolved["channels_when_4_found"] == 4
    assert resolved["threads_ll"] == 512
    assert resolved["buffer_simple"] == 16777216
    assert resolved["buffer_ll"] == 524288


def test_other_names_are_passed_over() -> None:
    assert reading({"PATH": "/bin", "TORCH_NCCL_BLOCKING_WAIT": "1"}).variables == ()
