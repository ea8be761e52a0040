"""Predictions against what the real vLLM said, for every recorded case.

Each case of `verdicts.json` is tried with two of the recorded releases, which rotate;
`tools/vllm_verdicts.py` tries all of them. Those of `fresh.json` were recorded with one release.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from vllm_verdicts import differences, predict, read_golden

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "vllm"
CASES, VERDICTS = read_golden(GOLDEN / "verdicts.json")
FRESH_CASES, FRESH_VERDICTS = read_golden(GOLDEN / "fresh.json")


def chosen() -> list[Any]:
    """Return every case with two of the versions."""
    versions = list(VERDICTS)
    pairs = []
    for number, name in enumerate(CASES):
        for offset in (0, len(versions) // 2):
            version = versions[(number + offset) % len(versions)]
            pairs.append(pytest.param(version, name, id=f"{name}-{version}"))
    return pairs


@pytest.mark.parametrize(("version", "name"), chosen())
def test_prediction_is_the_recorded_verdict(tmp_path: Path, version: str, name: str) -> None:
    verdict = next(each for each in VERDICTS[version] if each["id"] == name)
    predicted = predict(CASES[name], version, tmp_path)
    assert list(differences(predicted, verdict)) == []


def fresh() -> list[Any]:
    """Return every recorded verdict of the fresh cases."""
    return [
        pytest.param(version, verdict, id=f"{verdict['id']}-{version}")
        for version, verdicts in FRESH_VERDICTS.items()
        for verdict in verdicts
    ]


@pytest.mark.parametrize(("version", "verdict"), fresh())
def test_prediction_is_the_fresh_verdict(
    tmp_path: Path, version: str, verdict: dict[str, Any]
) -> None:
    predicted = predict(FRESH_CASES[verdict["id"]], version, tmp_path)
    assert list(differences(predicted, verdict)) == []
