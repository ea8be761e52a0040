from __future__ import annotations

from nccl_launches import findings

from specpreflight.models.finding import Confidence, Outcome
from specpreflight.models.nccl import Disagreement
from specpreflight.rules.nccl.nccl_ranks_disagree import RULE


def test_nodes_are_named() -> None:
    groups = (("LL", ("node0", "node1")), (None, ("node2",)))
    fact = (Disagreement("NCCL_PROTO", groups, Confidence.PROVEN),)
    [finding] = findings(RULE, {}, facts={"nccl_disagreements": fact})
    assert finding.outcome is Outcome.HANGS
    assert finding.message == "NCCL_PROTO is `LL` on 2 nodes, unset on node2"
    assert [value.label for value in finding.values] == ["node0", "node1", "node2"]


def test_quiet() -> None:
    assert findings(RULE, {"NCCL_PROTO": "LL"}) == []
