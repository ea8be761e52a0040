"""Published pairs: what the real launch validation of four releases said of them.

The configs and the verdicts lie in the team's shared material.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specpreflight.api import build_launch, check
from specpreflight.models.finding import Origin
from specpreflight.models.launch import Variable
from specpreflight.models.report import Report
from specpreflight.sources.hardware import read_hardware

SHARED = Path(__file__).resolve().parents[2] / "shared"
CONFIGS = SHARED / "corpus" / "configs"
TABLE = SHARED / "corpus" / "PAIRS_VERDICTS.tsv"

#: DESIGN's table: an oracle's stage → the stages of a report that say the same.
STAGES = {
    "args": {"arguments", "target-config", "draft-config"},
    "target_config": {"target-config"},
    "target_model_class": {"target-config"},
    "draft_config": {"draft-config"},
    "draft_model_class": {"draft-config"},
}
SEEN = frozenset({"arguments", "target-config", "draft-config"})


def rows() -> list[dict[str, str]]:
    if not TABLE.is_file():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def report_on(row: dict[str, str]) -> Report:
    variables = dict(part.split("=", 1) for part in row["environment"].split() if "=" in part)
    own = row["draft_id"] in ("", "self")
    return check(
        build_launch(
            str(CONFIGS / row["target_id"]),
            None if own else str(CONFIGS / row["draft_id"]),
            engine=f"sglang@{row['sglang']}",
            words=row["flags"].split(),
            environment={
                name: Variable(name, value, Origin("environment", name=name))
                for name, value in variables.items()
            },
            hardware=read_hardware("h100"),
        )
    )


def stops(report: Report) -> Iterator[Any]:
    """Yield what stops the launch at the stages that the validation sees, in the engine's order."""
    found = [
        finding
        for finding in report.findings
        if finding.outcome.value in ("refuses", "crashes")
        and finding.stage is not None
        and finding.stage.value in SEEN
    ]
    yield from sorted(found, key=lambda one: one.order)


@pytest.mark.shared
@pytest.mark.parametrize("version", sorted({row["sglang"] for row in rows()}) or ["none"])
def test_verdicts(version: str, shared: Path) -> None:
    wrong = []
    for row in rows():
        if row["sglang"] != version:
            continue
        report = report_on(row)
        stages = [finding.stage.value for finding in stops(report)]
        expected = STAGES.get(row["stage"], set())
        agrees = not stages if row["stage"] == "ok" else bool(stages) and stages[0] in expected
        if not agrees:
            wrong.append((row["target_id"], row["draft_id"], row["stage"], report.verdict.summary))
    assert wrong == []
