"""Every launch of the shared collection, field by field."""

import json
from pathlib import Path

import pytest

from specpreflight.cli.launch import describe
from specpreflight.sources.launch_command import read_launch_file

pytestmark = pytest.mark.shared
LAUNCHES = Path(__file__).resolve().parents[3] / "shared" / "launches"
EXPECTED = sorted(LAUNCHES.glob("*.expect.json"))
FIELDS = (
    "engine",
    "entry",
    "command_index",
    "argv",
    "flags",
    "env",
    "paths",
    "unresolved",
    "engine_version",
    "image",
)
#: The list of flags came with the name of an image in prose, which is not in the file.
NOT_IN_THE_FILE = {("066", "engine_version"), ("066", "image")}


@pytest.mark.parametrize("expectation", EXPECTED, ids=lambda path: path.name[:24])
def test_understands(expectation):
    expected = json.loads(expectation.read_text())
    stem = expectation.name.removesuffix(".expect.json")
    (file,) = (
        path for path in LAUNCHES.glob(f"{stem}.*") if path.is_file() and path != expectation
    )
    command = read_launch_file(
        file, arguments=expected.get("called_with", ()), environment=expected.get("given", {})
    )
    got = describe(command)
    fields = [field for field in FIELDS if (stem[:3], field) not in NOT_IN_THE_FILE]
    assert {field: got[field] for field in fields} == {field: expected[field] for field in fields}
    assert got["lost"] == expected.get("lost", [])
    assert got["others"] == expected.get("others", [])
    assert got["service"] == expected.get("service", got["service"])
