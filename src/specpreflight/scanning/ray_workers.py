"""Run the jobs of a scan on a Ray cluster; needs the extra `ray`, and shared directories.

Every job is a task that reads what it needs itself. Ray runs a task again whose worker or node
died; its answer is taken once, by the one place that waits for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import redirect_stdout
from typing import Any, Final

from specpreflight import __version__
from specpreflight.conditions import Conditions
from specpreflight.errors import InputError
from specpreflight.scanning.checking import Checked, Job, run_job
from specpreflight.sources.ray_nodes import connect

#: Times that a task is begun again after its worker or node died.
_RETRIES: Final = 5
_SECONDS_TO_ANSWER: Final = 60


class RayWorkers:
    """The workers of a cluster.

    Args:
        address: the cluster's, as `ray.init` takes it.
        conditions: those of the scan.
        plugins: names of packages with further rules.
        roots: directories that every node must see.

    Raises:
        InputError: Ray is not installed, the cluster cannot be reached, or one of its nodes has
            not this version of specpreflight or does not see the directories.
    """

    def __init__(
        self,
        address: str,
        conditions: Sequence[Conditions],
        plugins: tuple[str, ...],
        roots: Sequence[str],
    ) -> None:
        self._ray = connect(address)
        self._redirected = redirect_stdout(sys.stderr)  # where Ray tells of workers that died
        self._redirected.__enter__()
        try:
            _require_nodes(self._ray, [os.path.abspath(root) for root in roots])  # noqa: PTH100
            self._task = self._ray.remote(num_cpus=1, max_retries=_RETRIES)(scan_on_node)
            self._given = self._ray.put((list(conditions), plugins, os.getcwd()))  # noqa: PTH109
        except BaseException:
            self.close()
            raise
        self.window = 8 * max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def submit(self, job: Job) -> Future[Checked]:
        """Hand a job to the cluster."""
        future: Future[Checked] = self._task.remote(job, self._given).future()
        return future

    def close(self) -> None:
        """Leave the cluster; what is under way there is cancelled."""
        self._redirected.__exit__(None, None, None)
        self._ray.shutdown()


def scan_on_node(job: Job, given: tuple[list[Conditions], tuple[str, ...], str]) -> Checked:
    """Run a job in a worker of the cluster, where relative paths mean what they mean here."""
    conditions, plugins, folder = given
    if os.path.isdir(folder):  # noqa: PTH112
        os.chdir(folder)
    return run_job(job, conditions, plugins)


def _require_nodes(ray: Any, roots: Sequence[str]) -> None:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    look = ray.remote(num_cpus=0)(look_at_node)
    names, asked = [], []
    for node in ray.nodes():
        if node["Alive"]:
            pinned = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            names.append(node["NodeManagerHostname"])
            asked.append(look.options(scheduling_strategy=pinned).remote(list(roots)))
    for name, answer in zip(names, asked, strict=True):
        try:
            version, unseen = ray.get(answer, timeout=_SECONDS_TO_ANSWER)
        except Exception as error:
            reason = str(error).strip().splitlines()[-1]
            raise InputError(
                f"Ray node {name} cannot run specpreflight: {reason}",
                hint="install it on every node, in the Python that Ray uses",
            ) from None
        if version != __version__:
            raise InputError(
                f"Ray node {name} has specpreflight {version}, this is {__version__}",
                hint="install the same version everywhere",
            )
        if unseen:
            raise InputError(
                f"Ray node {name} does not see {unseen[0]}",
                hint="scan a directory that is shared with all nodes",
            )


def look_at_node(roots: Sequence[str]) -> tuple[str, list[str]]:
    """Return this node's version, and those of `roots` that it does not see."""
    return __version__, [root for root in roots if not os.path.lexists(root)]
