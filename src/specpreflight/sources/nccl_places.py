"""Where NCCL's own files lie; most machines have none, and then nothing of NCCL is loaded."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

SYSTEM_FILE: Final = Path("/etc/nccl.conf")


def has_conf_file(variables: Collection[str]) -> bool:
    """Return whether NCCL may find a file of its own, whatever its release."""
    if "NCCL_CONF_FILE" in variables:
        return True
    homes = (find_passwd_home(), Path.home())
    places = (home / ".nccl.conf" for home in homes if home is not None)
    return any(map(os.path.exists, (*places, SYSTEM_FILE)))


def find_passwd_home() -> Path | None:
    """Return the home of the password database, which NCCL up to 2.29 uses."""
    try:
        import pwd

        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):
        return None
