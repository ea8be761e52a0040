"""NCCL's own files as part of a launch's environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from specpreflight.models.launch import Variable
from specpreflight.models.nccl import Release
from specpreflight.sources.nccl_conf import SYSTEM_FILE, read_nccl_conf


def add_nccl_files(
    environment: Mapping[str, Variable], engine: str, version: str, wanted: str | None
) -> dict[str, Variable]:
    """Return an environment with what NCCL's files add for the release that will run.

    Raises:
        InputError: a file is there and cannot be read.
        UsageError: `wanted` is no release.
    """
    passwd_home = find_passwd_home()
    places = [home / ".nccl.conf" for home in (passwd_home, Path.home()) if home is not None]
    if "NCCL_CONF_FILE" not in environment and not any(map(os.path.exists, [*places, SYSTEM_FILE])):
        return dict(environment)
    from specpreflight.engines.nccl.versions import determine_release
    from specpreflight.sources.installed_nccl import find_installed_nccl

    release, _ = determine_release(wanted, find_installed_nccl(), engine, version)
    return {**environment, **read_files(environment, release)}


def read_files(environment: Mapping[str, Variable], release: Release) -> dict[str, Variable]:
    """Return what NCCL's files add to an environment."""
    texts = {name: known.value or "" for name, known in environment.items()}
    return read_nccl_conf(texts, release, find_passwd_home())


def find_passwd_home() -> Path | None:
    """Return the home of the password database, which NCCL up to 2.29 uses."""
    try:
        import pwd

        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):
        return None
