"""Errors of public reports that have no id of their own, with the rule that covers them."""

from __future__ import annotations

from typing import Final

from specpreflight.engines.logs.causes.shape import Cause, cause

UNNAMED: Final[tuple[Cause, ...]] = (
    cause(
        "L-UNKNOWN",
        r"size mismatch(?: for (?P<key>[\w.]+))?:.*?(?P<loaded>\[[\d, ]+\]).*?current model"
        r".*?(?P<expected>\[[\d, ]+\])|size mismatch(?: for (?P<key_>[\w.]+))?: "
        r"(?P<loaded_>\[[\d, ]+\]).*?(?P<expected_>\[[\d, ]+\])",
        "",
        "tensors-do-not-fit",
    ),
    cause("L-UNKNOWN", r"Found bias in the loaded weights", "", "loader-refuses"),
    cause(
        "L-UNKNOWN",
        r"n_physical_experts=(?P<experts>\d+) must be divisible by ep_size=(?P<ep>\d+)",
        "",
        "parallelism-unfit",
    ),
    cause(
        "L-UNKNOWN", r"target lacks aux_hidden_state support", "", "vllm-target-unfit-for-drafts"
    ),
)
