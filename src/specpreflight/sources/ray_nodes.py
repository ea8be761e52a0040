"""The environment of the workers on every node of a Ray cluster; needs the extra `ray`."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specpreflight.errors import InputError

_SECONDS: Final = 60
_SECONDS_TO_CONNECT: Final = 5
_PLACES: Final = ("/etc/nccl.conf", "~/.nccl.conf")


@dataclass(frozen=True, slots=True)
class RayNode:
    """What a task on one node saw.

    `conf_files` are the contents of NCCL's own files, by path, the user's before the system's;
    `nccl` is the release of the package on the worker's path.
    """

    name: str
    environment: Mapping[str, str]
    conf_files: Mapping[str, bytes]
    nccl: str | None


def read_ray_nodes(address: str, seconds: float = _SECONDS) -> list[RayNode]:
    """Run a task pinned to each living node and return what it saw.

    Raises:
        InputError: Ray is not installed, the cluster cannot be reached, or a node does not answer.
    """
    ray = connect(address)
    try:
        return _ask(ray, seconds)
    finally:
        ray.shutdown()


def connect(address: str) -> Any:
    """Connect this process to a cluster and return Ray.

    Raises:
        InputError: Ray is not installed, or the cluster cannot be reached.
    """
    try:
        import ray
    except ImportError:
        raise InputError(
            "talking to a Ray cluster needs Ray", hint="pip install 'specpreflight[ray]'"
        ) from None
    _require_listener(address)
    try:
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"no Ray cluster at {address}: {reason}") from None
    return ray


def _require_listener(address: str) -> None:
    """Refuse `HOST:PORT` where nobody listens; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS_TO_CONNECT).close()
    except (OSError, OverflowError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"no Ray cluster at {address}: {reason}") from None


def _ask(ray: Any, seconds: float) -> list[RayNode]:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    look = ray.remote(num_cpus=0, max_retries=0)(look_around)
    alive = [node for node in ray.nodes() if node["Alive"]]
    tasks = {
        node["NodeID"]: look.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote(_PLACES)
        for node in alive
    }
    _, waiting = ray.wait(list(tasks.values()), num_returns=len(tasks), timeout=seconds)
    if waiting:
        silent = [node["NodeManagerHostname"] for node in alive if tasks[node["NodeID"]] in waiting]
        raise InputError(f"no answer within {seconds:g} s from {', '.join(silent)}")
    try:
        answers = ray.get(list(tasks.values()))
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(f"a task on a node of the cluster failed: {reason}") from None
    names = [
        f"{answer['node']} ({node['NodeManagerAddress']})"
        if sum(other["node"] == answer["node"] for other in answers) > 1
        else answer["node"]
        for node, answer in zip(alive, answers, strict=True)
    ]
    return [
        RayNode(
            name if names.count(name) == 1 else f"{name} {node['NodeID'][:8]}",
            answer["environment"],
            answer["conf_files"],
            answer["nccl"],
        )
        for name, node, answer in zip(names, alive, answers, strict=True)
    ]


def look_around(places: tuple[str, ...]) -> dict[str, Any]:
    """Return what matters of the process it runs in; uses nothing that a node may lack."""
    import platform
    import re
    from pathlib import Path

    named = os.environ.get("NCCL_CONF_FILE")
    paths = [Path(named) if named else Path(places[1]).expanduser(), Path(places[0])]
    folders = [Path(place) for place in sys.path if os.path.isdir(place)]  # noqa: PTH112
    packages = " ".join(path.name for folder in folders for path in folder.glob("nvidia_nccl_cu*"))
    found = re.search(r"nvidia_nccl_cu\d+-(\d+\.\d+\.\d+)\S*\.dist-info", packages)
    return {
        "node": platform.node(),
        "environment": {
            name: value for name, value in os.environ.items() if name.upper().startswith("NCCL_")
        },
        "conf_files": {str(path): path.read_bytes() for path in paths if os.access(path, os.R_OK)},
        "nccl": found and found.group(1),
    }
