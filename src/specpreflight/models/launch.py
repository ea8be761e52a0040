"""A launch: everything the engine is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Origin
from specpreflight.models.frozen import dataclass
from specpreflight.models.topology import Topology


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """Which engine, at which version, and how that was determined.

    `version` is the release whose knowledge is used; `determined_by` is a phrase for the report
    ("--engine", "image tag lmsysorg/sglang:v0.5.9", "assumed: the newest known release").
    `path` is a source tree or site-packages given with `--engine PATH`.
    """

    name: str
    version: str
    determined_by: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable of the launch; `value` is `None` where it is set but not known."""

    name: str
    value: str | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class Hardware:
    """What is known of the machine; `None` is unknown.

    `capability` is CUDA's `(major, minor)`, `memory_mib` one GPU's memory in MiB; `interfaces`
    and `hcas` (`mlx5_0:1`, device and port) are the host's own, in its order.
    """

    profile: str | None = None
    gpu: str | None = None
    capability: tuple[int, int] | None = None
    memory_mib: int | None = None
    gpus: int | None = None
    nodes: int | None = None
    nvlink: bool | None = None
    platform: str = "cuda"
    topology: Topology | None = None
    interfaces: tuple[str, ...] | None = None
    hcas: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch, before the engine has made anything of it.

    `argv` are the engine's arguments (after the entry point). `flags` is what the engine's own
    argument parser would make of them: canonical name without dashes → value as written (string,
    list of strings, `True` for a bare flag).
    """

    engine: EngineVersion
    target: Checkpoint | None
    draft: Checkpoint | None
    argv: tuple[str, ...] = ()
    flags: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Variable] = field(default_factory=dict)
    hardware: Hardware = field(default_factory=Hardware)
    target_path: str | None = None
    draft_path: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def variable(self, name: str) -> str | None:
        """Return the text of an environment variable, or `None` where it is unset or unknown."""
        known = self.environment.get(name)
        return None if known is None else known.value
