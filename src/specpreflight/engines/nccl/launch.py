"""The NCCL environment of a launch, ready for the rules."""

from __future__ import annotations

from specpreflight.engines.nccl.engine_settings import engine_settings
from specpreflight.engines.nccl.read import read_nccl
from specpreflight.engines.nccl.versions import determine_release
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclReading


def read_launch(
    launch: Launch, *, wanted: str | None = None, installed: str | None = None
) -> NcclReading:
    """Read a launch's environment as the NCCL release that will run reads it.

    Args:
        launch: its engine, flags, environment and hardware are looked at.
        wanted: the release the user named (`--nccl`).
        installed: the release of the nvidia-nccl package beside the engine, where there is one.

    Raises:
        UsageError: `wanted` is no release.
    """
    engine = launch.engine
    release, determined_by = determine_release(wanted, installed, engine.name, engine.version)
    known = {
        name: variable.value
        for name, variable in launch.environment.items()
        if variable.value is not None
    }
    return read_nccl(
        launch.environment,
        release,
        determined_by,
        settings=engine_settings(engine.name, engine.version, launch.flags, known, launch.hardware),
        hardware=launch.hardware,
    )
