"""The variables that an SGLang release writes itself, on both sides of each gate."""

from __future__ import annotations

from typing import Any

import pytest

from specpreflight.engines.nccl.engine_settings import engine_settings

DETERMINISTIC = {"tp-size": "8", "enable-deterministic-inference": True}


@pytest.mark.parametrize(
    ("release", "flags", "name", "expected"),
    [
        ("0.5.4.post1", {}, "NCCL_CUMEM_ENABLE", ("0", True)),
        ("0.5.4.post2", {}, "NCCL_CUMEM_ENABLE", ("0", False)),
        ("0.5.9", {"enable-symm-mem": True}, "NCCL_CUMEM_ENABLE", ("1", True)),
        ("0.5.9", {"enable-nccl-nvls": True}, "NCCL_NVLS_ENABLE", ("1", True)),
        ("0.5.22", {"tp-size": "8"}, "NCCL_GRAPH_REGISTER", None),
        ("0.5.23", {"tp-size": "8"}, "NCCL_GRAPH_REGISTER", ("0", False)),
        ("0.5.23", {}, "NCCL_GRAPH_REGISTER", None),
        ("0.5.17", DETERMINISTIC, "NCCL_MAX_NCHANNELS", None),
        ("0.5.18", DETERMINISTIC, "NCCL_MAX_NCHANNELS", ("8", True)),
    ],
)
def test_value_and_whether_the_users_is_lost(
    release: str, flags: dict[str, Any], name: str, expected: tuple[str, bool] | None
) -> None:
    written = {one.name: one for one in engine_settings("sglang", release, flags, {})}
    found = written.get(name)
    assert (None if found is None else (found.value, found.overwrites)) == expected
