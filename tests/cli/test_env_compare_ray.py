"""A real Ray cluster of two nodes on this machine, each with an environment of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from specpreflight.cli import main

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "1")
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "env_vars": {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}},
    )
    cluster.add_node(num_cpus=1, env_vars={"NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring"})
    try:
        yield cluster.address
    finally:
        cluster.shutdown()


def test_nodes_of_a_cluster_are_asked(address: str) -> None:
    result = CliRunner().invoke(main, ["env", "compare", "--ray", address, "--format", "json"])
    assert result.exit_code == 1, result.output
    data = json.loads(result.stdout)
    assert len(data["nodes"]) == 2
    [difference] = data["differences"]
    assert difference["name"] == "NCCL_PROTO"
    assert {group["value"] for group in difference["groups"]} == {"LL", "Simple"}


def test_no_cluster_is_one_line() -> None:
    result = CliRunner().invoke(main, ["env", "compare", "--ray", "127.0.0.1:1"])
    assert result.exit_code == 4
    assert "no Ray cluster at 127.0.0.1:1" in result.stderr
