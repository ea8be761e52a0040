"""A report with open slots, filled, is the report of a plain check of the same directories."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from specpreflight.api import build_launch, check, identify_engine
from specpreflight.conditions import Conditions
from specpreflight.reports.json import render_json
from specpreflight.scanning.checking import Job, JobSide, run_job
from specpreflight.scanning.template import Names, Template, slot_of

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"


def assert_filled_is_plain(target: str, draft: str, engine: str) -> None:
    slots = slot_of("target", target), slot_of("draft", draft)
    job = Job(0, JobSide(target, slots[0]), JobSide(draft, slots[1]))
    template = Template(run_job(job, [Conditions(identify_engine(engine))]))
    names = dict(zip(slots, (Names.of(target), Names.of(draft)), strict=True))
    filled = template.fill(names, None).report
    plain = check(build_launch(target, draft, engine=engine))
    assert render_json(filled) == render_json(plain)
    assert filled.excerpts == plain.excerpts


@pytest.mark.parametrize("engine", ["sglang@0.5.11", "sglang@0.4.10", "vllm"])
def test_the_example(engine: str) -> None:
    assert_filled_is_plain(str(EXAMPLE / "target"), str(EXAMPLE / "draft"), engine)


@pytest.mark.shared
@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_published_pairs(shared: Path, engine: str) -> None:
    configs = shared / "corpus" / "configs"
    with (shared / "corpus" / "PAIRS.tsv").open() as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    pairs = {(row["target_id"], row["draft_id"]) for row in rows}
    here = sorted(
        (target, draft)
        for target, draft in pairs
        if target != draft and (configs / target).is_dir() and (configs / draft).is_dir()
    )
    for target, draft in here[::3]:
        assert_filled_is_plain(str(configs / target), str(configs / draft), engine)


def test_only_slots_are_touched() -> None:
    template = Template({"a": ["x", "/specpreflight-slot/draft/config.json"], "b": {"c": 1}})
    names = {"/specpreflight-slot/draft": Names("org/name", "/hub/snapshots/1/config.json")}
    filled = template.fill(names, None)
    assert filled == {"a": ["x", "/hub/snapshots/1/config.json"], "b": {"c": 1}}
    assert filled["b"] is template.value["b"]
