from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Confidence, Outcome
from specpreflight.rules.nccl.nccl_releases_differ import RULE


@pytest.mark.parametrize(
    ("older", "confidence"), [("2.23.4", Confidence.PROVEN), ("2.22.3", Confidence.INFERRED)]
)
def test_nodes_with_different_releases(older: str, confidence: Confidence) -> None:
    releases = (("2.27.5", ("node0", "node1")), (older, ("node2",)))
    [finding] = findings(RULE, {}, facts={"nccl_releases": releases})
    assert finding.outcome is Outcome.CRASHES
    assert finding.confidence is confidence
    assert finding.message == f"nodes run different releases of NCCL: 2.27.5, {older}"


@pytest.mark.parametrize("releases", [(), (("2.27.5", ("node0", "node1")),)])
def test_quiet(releases: tuple[object, ...]) -> None:
    assert findings(RULE, {}, facts={"nccl_releases": releases}) == []
