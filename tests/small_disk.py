"""A disk that is soon full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SmallDisk:
    """A file system of 256 KiB."""

    path: Path

    def fill(self) -> None:
        """Leave no room for anything."""
        with (self.path / "full").open("wb", buffering=0) as full:
            try:
                while True:
                    full.write(b"\0" * 4096)
            except OSError:
                pass

    def make_room(self) -> None:
        """Take away what filled it."""
        (self.path / "full").unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A small disk, as far as this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small file system")
    yield SmallDisk(place)
    subprocess.run(["umount", str(place)], check=True)
