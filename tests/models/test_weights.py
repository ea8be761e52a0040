"""Which untouched parameters a draft computes with."""

from __future__ import annotations

import pytest

from specpreflight.models.loader_report import LoaderReport, Untouched


def report(parameter: str, initial: str, **changes: bool) -> LoaderReport:
    untouched = (Untouched(parameter, (4,), initial),)
    return LoaderReport("Draft", "models/draft.py", untouched=untouched, **changes)


@pytest.mark.parametrize(
    ("parameter", "initial", "changes", "lost"),
    [
        ("model.norm.weight", "ones", {}, True),
        ("model.fc.weight", "random", {}, True),
        ("model.embed_tokens.weight", "uninitialised", {}, False),
        ("model.embed_tokens.weight", "uninitialised", {"shares_embedding": False}, True),
        ("lm_head.weight", "uninitialised", {}, True),
        ("lm_head.weight", "uninitialised", {"reads_head": False}, False),
        ("model.layers.0.self_attn.attn.k_scale", "constant", {}, False),
        ("model.fc.bias", "zeros", {}, False),
        ("model.fc.bias", "uninitialised", {}, True),
    ],
)
def test_what_counts_as_lost(
    parameter: str, initial: str, changes: dict[str, bool], lost: bool
) -> None:
    assert bool(report(parameter, initial, **changes).lost) == lost
