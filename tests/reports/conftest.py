"""What the tests of formats share: packages of a registry, for the schemas that they publish."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def npm_package(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that unpacks `NAME@VERSION`; a test is skipped where it can't be had."""

    @cache
    def unpack(name: str) -> Path:
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip(f"needs npm, for {name}")
        folder = tmp_path_factory.mktemp("npm")
        packed = subprocess.run(
            [npm, "pack", "--silent", name], cwd=folder, capture_output=True, text=True, check=False
        )
        if packed.returncode:
            pytest.skip("the npm registry cannot be reached")
        with tarfile.open(next(folder.glob("*.tgz"))) as archive:
            archive.extractall(folder, filter="data")
        return folder / "package"

    return unpack
