"""What is in the wheel beside the code: the published schemas, the page's parts, the manual."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("specpreflight/schemas/report.schema.json", "docs/report.schema.json"),
        ("specpreflight/schemas/configuration.schema.json", "docs/configuration.schema.json"),
        ("specpreflight/reports/page/page.css", "src/specpreflight/reports/page/page.css"),
        ("specpreflight/reports/page/page.js", "src/specpreflight/reports/page/page.js"),
        ("specpreflight/py.typed", "src/specpreflight/py.typed"),
        ("data/share/man/man1/specpreflight.1", "docs/specpreflight.1"),
    ],
)
def test_it_holds(wheel: zipfile.ZipFile, name: str, source: str) -> None:
    [found] = [one for one in wheel.namelist() if one.endswith(name)]
    assert wheel.read(found) == (ROOT / source).read_bytes()
