"""Argument handling against what real releases did: see tests/golden/sglang/arguments/README.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sglang_arguments import HOPPER, SM100, SM120, arguments, first_stop

GOLDEN = Path(__file__).parents[3] / "golden" / "sglang" / "arguments"
MODELS: Mapping[str, Any] = json.loads((GOLDEN / "models.json").read_text())
MACHINES = {"h100": HOPPER, "b200": SM100, "sm120": SM120}
RELEASES = sorted(path.stem for path in GOLDEN.glob("*.jsonl"))


def differences(release: str, recorded: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is predicted otherwise than recorded."""
    args = arguments(
        release,
        recorded["flags"],
        target=MODELS[recorded["target"]],
        draft=MODELS[recorded["draft"]] if "draft" in recorded else None,
        machine=MACHINES[recorded.get("machine", "h100")],
        environment=recorded.get("environment"),
    )
    stop = first_stop(args)
    predicted = None if stop is None else [stop.exception, (stop.engine_message or "")[:200]]
    if predicted != recorded.get("stop"):
        yield f"{recorded['flags']}: {predicted}, recorded {recorded.get('stop')}"
        return
    for setting, value in recorded.get("settings", {}).items():
        if getattr(args, setting) != value:
            yield f"{recorded['flags']}: {setting} {getattr(args, setting)}, recorded {value}"


@pytest.mark.parametrize("release", RELEASES)
def test_arguments_are_handled_as_recorded(release: str) -> None:
    lines = (GOLDEN / f"{release}.jsonl").read_text().splitlines()
    found = [text for line in lines for text in differences(release, json.loads(line))]
    assert not found


def test_enough_is_recorded() -> None:
    assert len(RELEASES) >= 10
