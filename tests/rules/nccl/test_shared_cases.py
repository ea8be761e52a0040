"""Public reports about the NCCL environment: found where the variables alone show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nccl_launches import counted, nccl_launch

from specpreflight.models.finding import Outcome
from specpreflight.models.resolved import Resolved
from specpreflight.rules.registry import load_area
from specpreflight.sources.hardware import read_hardware

pytestmark = pytest.mark.shared

#: Case → the NCCL release it was seen with, the machine, and the outcomes that say the same.
FOUND = {
    "94": ("2.21.5", None, {Outcome.HANGS}),
    "95": ("2.27.5", None, {Outcome.CRASHES, Outcome.REFUSES}),
    # What the engine left behind: `overwritten 0`, on four nodes of one NVLink fabric.
    "99": ("2.27.5", "gb200,nodes=4", {Outcome.DEGRADES}),
    "97": ("2.19.3", None, {Outcome.HANGS}),
    "100": ("2.20.5", None, {Outcome.CRASHES}),
    "101": ("2.21.5", "gb200,nodes=2", {Outcome.DEGRADES}),
}
#: Cases whose variables are unset: nothing to find in them without the machine.
QUIET = ("91", "93", "98", "103")


def environment(shared: Path, number: str) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    [path] = (shared / "cases").glob(f"{number}-*.yaml")
    stated = yaml.safe_load(path.read_text())["env"]
    return {
        name: str(text).removeprefix("overwritten ")
        for name, text in stated.items()
        if str(text).split()[0] != "unset"
    }


@pytest.mark.parametrize("number", FOUND)
def test_a_report_is_found_with_its_outcome(shared: Path, number: str) -> None:
    release, machine, outcomes = FOUND[number]
    hardware = read_hardware(machine) if machine else None
    launch = nccl_launch(environment(shared, number), nccl=release, hardware=hardware)
    found = {
        finding.outcome
        for rule in load_area("nccl")
        if not rule.needs or machine
        for finding in rule.check(launch, Resolved({}, ()))
    }
    assert found & outcomes


@pytest.mark.parametrize("number", QUIET)
def test_what_no_variable_shows_is_quiet(shared: Path, number: str) -> None:
    assert counted(environment(shared, number)) == []
