"""What an engine must answer; the only thing the rest of the project knows of one."""

from __future__ import annotations

from typing import Protocol

from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.resolved import Resolved


class Engine(Protocol):
    """One inference engine, all its releases.

    `identify` maps what a user wrote after `@` (a release, `main`, an image tag, a path, `None`)
    to the release whose knowledge is used, or raises `UsageError` naming the nearest.
    `resolve` predicts, with this release's knowledge, everything the engine does with a launch.
    """

    name: str

    def identify(self, wanted: str | None) -> EngineVersion:
        """Return the version to predict for."""
        ...

    def resolve(self, launch: Launch) -> Resolved:
        """Predict what the engine does with this launch."""
        ...
