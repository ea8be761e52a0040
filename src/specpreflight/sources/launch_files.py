"""Where the files that a launch names are found: scripts it sources, env files, configurations."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from specpreflight.errors import InputError
from specpreflight.sources.text_file import read_text_file

_HERE = re.compile(r"^(?:\$\(pwd\)|\$\{PWD\})/")


@dataclass(frozen=True, slots=True)
class LaunchFiles:
    """Looks for files in the places where a launch that was copied elsewhere keeps them.

    A name is taken as it is written, then beside the launch file, then (by its last part) in the
    folders that stand in for other machines: those given, and `NAME.files` beside `NAME.service`.
    """

    launch: Path | None = None
    folders: tuple[Path, ...] = ()

    def find(self, name: str) -> Path | None:
        """Return the file's path, `None` where it is in none of the places."""
        # `os.path` answers where `Path` raises: no such user, a name too long, a NUL in it.
        name = _HERE.sub("", name)
        candidates = [Path(os.path.expanduser(name))]  # noqa: PTH111
        last = Path(name).name
        if self.launch is not None:
            beside = self.launch.parent
            candidates += [beside / name, beside / f"{self.launch.stem}.files" / last]
        candidates += [folder / last for folder in self.folders]
        return next((path for path in candidates if os.path.isfile(path)), None)  # noqa: PTH113

    def read(self, name: str) -> str | None:
        """Return the file's text, `None` where it is missing or no text."""
        path = self.find(name)
        if path is None:
            return None
        try:
            return read_text_file(path, name)
        except InputError:
            return None
