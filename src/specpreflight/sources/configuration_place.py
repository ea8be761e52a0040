"""Where the configuration is: the nearest file from the working directory upwards.

Apart from the reader, so that a check without a configuration imports next to nothing.
"""

from __future__ import annotations

import os
from typing import Final

OWN_FILE: Final = "specpreflight.toml"
SHARED_FILE: Final = "pyproject.toml"


def find_configuration(folder: str) -> str | None:
    """Return the path of the nearest configuration, `None` where there is none.

    In one folder `specpreflight.toml` comes first; a `pyproject.toml` counts only if it has a table
    of ours.
    """
    while True:
        own = os.path.join(folder, OWN_FILE)  # noqa: PTH118 (pathlib costs more than the search)
        if os.path.isfile(own):  # noqa: PTH113
            return own
        shared = os.path.join(folder, SHARED_FILE)  # noqa: PTH118
        if _mentions_us(shared):
            return shared
        parent = os.path.dirname(folder)  # noqa: PTH120
        if parent == folder:
            return None
        folder = parent


def _mentions_us(path: str) -> bool:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            return b"tool.specpreflight" in stream.read()
    except OSError:  # there is none, or it is another's
        return False
