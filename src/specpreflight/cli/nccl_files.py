"""NCCL's own files as part of a launch's environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from specpreflight.models.launch import Variable
from specpreflight.sources.nccl_places import find_passwd_home, has_conf_file

if TYPE_CHECKING:
    from specpreflight.models.nccl import Release


def add_nccl_files(
    environment: Mapping[str, Variable], engine: str, version: str, wanted: str | None
) -> dict[str, Variable]:
    """Return an environment with what NCCL's files add for the release that will run.

    Raises:
        InputError: a file is there and cannot be read.
        UsageError: `wanted` is no release.
    """
    if not has_conf_file(environment):
        return dict(environment)
    from specpreflight.engines.nccl.versions import determine_release
    from specpreflight.sources.installed_nccl import find_installed_nccl

    release, _ = determine_release(wanted, find_installed_nccl(), engine, version)
    return {**environment, **read_files(environment, release)}


def read_files(environment: Mapping[str, Variable], release: Release) -> dict[str, Variable]:
    """Return what NCCL's files add to an environment."""
    from specpreflight.sources.nccl_conf import read_nccl_conf

    texts = {name: known.value or "" for name, known in environment.items()}
    return read_nccl_conf(texts, release, find_passwd_home())


def explain_named_file(
    environment: Mapping[str, Variable], added: Mapping[str, Variable], release: Release
) -> Iterator[str]:
    """Yield a note where the file that NCCL_CONF_FILE names adds nothing, which NCCL never says."""
    from specpreflight.sources.nccl_conf import conf_files

    named = environment.get("NCCL_CONF_FILE")
    path = Path(named.value or "") if named is not None else None
    files = conf_files({"NCCL_CONF_FILE": str(path)}, release, None)
    if path is None or path not in files or str(path) in {a.origin.path for a in added.values()}:
        return
    why = "sets nothing new" if path.exists() else "is not here"
    yield f"NCCL_CONF_FILE: {path} {why}, and ~/.nccl.conf is not read instead"
