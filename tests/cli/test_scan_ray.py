"""A scan on a real Ray cluster of two nodes: the same report, whatever dies on the way."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from make_tree import make_tree

from specpreflight.cli import main

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")

TASK = "ray::scan_on_node"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    from ray.cluster_utils import Cluster

    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "1"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    try:
        yield cluster.address
    finally:
        cluster.shutdown()


def scan(root: Path, *options: str) -> Result:
    words = ["scan", str(root), "--no-env", "--no-cache", "--format", "json-lines", *options]
    return CliRunner().invoke(main, words)


def workers() -> list[int]:
    """Return the processes of this machine that are running a job of a scan."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            title = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(TASK.encode()):
            found.append(int(process.name))
    return found


def test_the_report_is_the_same(address: str, tmp_path: Path) -> None:
    make_tree(tmp_path / "tree", 24, 2)
    here, there = scan(tmp_path / "tree"), scan(tmp_path / "tree", "--ray", address)
    assert there.stdout == here.stdout
    assert there.exit_code == here.exit_code


def test_a_worker_that_dies_loses_and_doubles_nothing(address: str, tmp_path: Path) -> None:
    make_tree(tmp_path / "tree", 60, 2, differ="values")
    killed: list[int] = []
    done = threading.Event()

    def kill_one() -> None:
        while not killed and not done.is_set():
            for process in workers()[:1]:
                os.kill(process, signal.SIGKILL)
                killed.append(process)

    killer = threading.Thread(target=kill_one)
    killer.start()
    try:
        there = scan(tmp_path / "tree", "--ray", address)
    finally:
        done.set()
        killer.join()
    here = scan(tmp_path / "tree")
    assert killed
    assert there.stdout == here.stdout
    assert len(here.stdout.splitlines()) == 58


def test_a_directory_that_nodes_do_not_see_is_one_line(address: str) -> None:
    result = scan(Path("/no/such/directory"), "--ray", address, "--format", "json")
    assert result.exit_code == 4
    assert result.stdout == ""
    assert "does not see /no/such/directory" in result.stderr
