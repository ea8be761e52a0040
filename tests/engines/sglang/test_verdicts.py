"""Predictions agree with what the real engine said (recorded in tests/golden/sglang/launches)."""

from __future__ import annotations

import importlib.util
import sys
import zlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden/sglang/launches"

#: One case in so many is compared by default, more of a short recording; a nightly run, all.
SHARE = 40
AT_LEAST = 6


@cache
def tool() -> ModuleType:
    """Return tools/verdicts.py, which is no package."""
    spec = importlib.util.spec_from_file_location("verdicts", ROOT / "tools/verdicts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["verdicts"] = module
    spec.loader.exec_module(module)
    return module


@cache
def golden(name: str) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    found: tuple[list[dict[str, Any]], dict[str, dict[str, Any]]] = tool().read_golden(
        GOLDEN / f"{name}.jsonl"
    )
    return found


def files() -> list[str]:
    return sorted(path.stem for path in GOLDEN.glob("*.jsonl"))


def releases(name: str) -> list[str]:
    return sorted(golden(name)[1])


def disagreements(name: str, release: str, share: int) -> tuple[int, list[str]]:
    """Compare one case in `share`, others in each release."""
    cases, verdicts = golden(name)
    recorded = [case for case in cases if case["id"] in verdicts[release]]
    shuffled = sorted(recorded, key=lambda c: zlib.crc32(f"{release} {c['id']}".encode()))
    chosen = shuffled[: max(AT_LEAST, len(recorded) // share)]
    found = tool().agree(chosen, verdicts[release], release)
    return found.stages.total(), found.disagreements


PARAMETERS = [(name, release) for name in files() for release in releases(name)]


@pytest.mark.parametrize(("name", "release"), PARAMETERS)
def test_agrees_with_the_recorded_verdicts(name: str, release: str) -> None:
    compared, found = disagreements(name, release, SHARE)
    assert compared > 0
    assert [line for line in found if not is_known(line)] == []


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "release"), PARAMETERS)
def test_agrees_with_all_recorded_verdicts(name: str, release: str) -> None:
    _, found = disagreements(name, release, 1)
    assert [line for line in found if not is_known(line)] == []


def is_known(line: str) -> bool:
    """Return whether docs/accuracy.md explains the disagreement."""
    explained: bool = tool().is_explained(line)
    return explained


@pytest.mark.shared
@pytest.mark.nightly
def test_agrees_on_the_pairs_of_the_corpus(shared: Path) -> None:
    rows: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for release, case, verdict in tool().pair_cases(shared / "corpus"):
        rows.setdefault(release, []).append((case, verdict))
    for release, pairs in rows.items():
        verdicts = {verdict["id"]: verdict for _, verdict in pairs}
        found = tool().agree((case for case, _ in pairs), verdicts, release)
        assert found.disagreements == []


@pytest.mark.shared
@pytest.mark.parametrize("start", range(8))
def test_starts_what_the_engine_started(shared: Path, start: int) -> None:
    """No accepted pair is stopped at a stage that the recorded validation saw."""
    accepted = [
        (release, case)
        for release, case, verdict in tool().pair_cases(shared / "corpus")
        if verdict["stage"] == "ok"
    ]
    for release, case in accepted[start::40]:
        resolved = tool().ENGINE.resolve(tool().build_launch(case, release))
        assert tool().first_stop(resolved) is None, (release, case["id"])
