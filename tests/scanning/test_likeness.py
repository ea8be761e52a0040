"""Configs that differ only in what nothing reads get one check, and reports of their own."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from make_tree import FAULTS, draft_config, make_tree, target_config

from specpreflight import scan
from specpreflight.api import build_launch, check
from specpreflight.engines.mentions import find_unread as real_find_unread
from specpreflight.models.finding import Confidence
from specpreflight.models.report import Report
from specpreflight.reports.json import render_json
from specpreflight.scanning import runner
from specpreflight.scanning.checking import Checked, Job
from specpreflight.scanning.likeness import Likenesses

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
NOTHING_READS = ("run_id", "final_loss", "exported_at", "wandb_url", "_name_or_path")


def find_unread(keys: Collection[str]) -> set[str]:
    return set(keys).intersection(NOTHING_READS)


def text_of(**members: Any) -> bytes:
    return json.dumps({"model_type": "llama", **members}, indent=2).encode()


def are_alike(*configs: bytes) -> bool:
    """Return whether the last two of some configs, seen in this order, count as the same."""
    likenesses = Likenesses(find_unread)
    *_, one, other = [likenesses.of(data) for data in configs]
    return one is not None and one == other


def differing(*values: Any, key: str = "run_id", **others: Any) -> list[bytes]:
    return [text_of(**{key: value}, **others) for value in values]


@pytest.mark.parametrize(
    "values",
    [
        ("a", "b", ""),
        ("a", "b", "x" * 512),
        (1, 2, -999_999_999_999_999),
        (0.5, 1e-9, 123.25),
        (0.5, -1.5e10, 2.0),
    ],
)
def test_plain_values_that_nothing_reads(values: Sequence[Any]) -> None:
    assert are_alike(*differing(*values, hidden_size=4))


@pytest.mark.parametrize(
    "values",
    [
        ("a", "b", 1), (1, 2, 2.0), (1, 2, True), ("a", "b", None), (1, 2, [1]),
        ("a", "b", "x" * 513), ("a", "b", "ä"), ("a", "b", "\n"), ("a", "b", '"'), ("a", "b", "\\"),
        (1, 2, 10**15), (1, 2, {"hidden_size": 3}),
    ],
)  # fmt: skip
def test_a_value_of_another_type_or_one_that_is_not_plain(values: Sequence[Any]) -> None:
    assert not are_alike(*differing(*values))


def test_values_that_are_read() -> None:
    first, second = (text_of(run_id=number, hidden_size=number) for number in (1, 2))
    assert not are_alike(first, second, text_of(run_id=3, hidden_size=3))


def test_the_first_one_keeps_its_values() -> None:
    first, second, third = differing(1, 2, 3)
    assert not are_alike(first, second)
    assert are_alike(first, second, third)


def test_a_key_is_asked_for_when_it_varies_and_once() -> None:
    asked: list[str] = []

    def ask(keys: Collection[str]) -> set[str]:
        asked.extend(keys)
        return find_unread(keys)

    likenesses = Likenesses(ask)
    for number in range(5):
        likenesses.of(text_of(run_id=number, final_loss=0.5, hidden_size=number // 3))
    assert asked == ["run_id", "hidden_size"]


@pytest.mark.parametrize(
    "data",
    [
        b'{\n"model_type": "llama", "run_id": %d\n}',  # shares its line
        b'{\n"model_type": "llama",\n"run_id":\n%d\n}',
        b'{"run_id": %d\n}',
        b'{\n"text_config": {\n"run_id": %d\n}\n}',  # in a part
        b'{\n"run_id": 5,\n"run_id": %d\n}',  # twice
        b'{\n"run_id": %d,\n"text_config": {\n"run_id": 6\n}\n}',
        b'{\n"run_id": 0%d\n}',  # no JSON
        b'{\n"run_id": %d,\n}',
        b'{\n"note": "\n"run_id": %d\n"\n}',
        b'[\n"run_id", %d\n]',
    ],
)
def test_what_is_not_a_member_of_the_config_with_a_line_to_itself(data: bytes) -> None:
    assert not are_alike(*differing(1, 2), data % 3, data % 4)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \n"])
@pytest.mark.parametrize("indent", [b"", b"  ", b"\t"])
def test_ways_to_write_a_member(end: bytes, indent: bytes) -> None:
    lines = (b"{", indent + b'"run_id" : %d ,', indent + b'"model_type": "llama"', b"}")
    assert are_alike(*(end.join(lines) % number for number in (1, 22, 333)))


def write(folder: Path, text: str | bytes) -> Path:
    folder.mkdir(parents=True)
    data = text.encode() if isinstance(text, str) else text
    (folder / "config.json").write_bytes(data)
    return folder


def alone(report: Report, engine: str) -> Report:
    """Return what a check of the same directories says, with what only a scan adds."""
    inputs = report.inputs
    plain = check(build_launch(inputs.target, inputs.draft, engine=engine))
    findings = plain.findings
    if inputs.paired_by is not None and inputs.paired_by.startswith("equal facts"):
        findings = tuple(replace(one, confidence=Confidence.INFERRED) for one in findings)
    own = replace(plain.inputs, paired_by=inputs.paired_by)
    return replace(plain, findings=findings, inputs=own)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that were run."""
    jobs: list[Job] = []
    run = runner.run_job

    def note(job: Job, **given: Any) -> Checked:
        jobs.append(job)
        return run(job, **given)

    monkeypatch.setattr(runner, "run_job", note)
    return jobs


@pytest.mark.parametrize("engine", ["sglang@0.5.11", "vllm"])
@pytest.mark.parametrize("fault", [None, *FAULTS], ids=lambda fault: fault and fault.rule)
def test_reports_are_those_of_each_alone(
    tmp_path: Path, checks: list[Job], engine: str, fault: Any
) -> None:
    target = target_config(3)
    write(tmp_path / "target", json.dumps(target, indent=2))
    for number in range(6):
        config = {"run_id": f"r{number}", **draft_config(target), "final_loss": number / 7 + 1}
        text = json.dumps(config, indent=2) if fault is None else fault.write(config)
        write(tmp_path / f"epoch_{number}", text)
    options: dict[str, Any] = {"target": str(tmp_path / "target"), "jobs": 1, "cache": False}
    reports = [one for one in scan(tmp_path, engine=engine, **options) if one.inputs.draft]
    assert len(reports) == 6
    for report in reports:
        expected = alone(report, engine)
        assert render_json(report) == render_json(expected)
        assert report.excerpts == expected.excerpts
    if fault is None or fault.rule != "config-unreadable":
        assert len(checks) == 2


def test_a_report_that_shows_such_a_key_is_not_shared(tmp_path: Path, checks: list[Job]) -> None:
    """A repeated key is told of with both of its values."""
    for number in range(4):
        text = json.dumps({**draft_config(target_config(3)), "run_id": number}, indent=2)
        write(tmp_path / f"epoch_{number}", text.replace("{", '{\n  "run_id": true,', 1))
    target = write(tmp_path / "target", json.dumps(target_config(3)))
    engine = "sglang@0.5.11"
    for report in scan(tmp_path, engine=engine, target=str(target), jobs=1, cache=False):
        assert "key-repeated" in {finding.rule for finding in report.findings}
        assert render_json(report) == render_json(alone(report, engine))
    assert len(checks) == 4


def test_exports_of_a_run_are_checked_once(tmp_path: Path, checks: list[Job]) -> None:
    make_tree(tmp_path, 62, 2, differ="provenance", faults=0)
    assert sum(1 for _ in scan(tmp_path, jobs=1, cache=False)) == 60
    assert len(checks) == 3


def test_with_an_engine_of_ones_own_all_values_count(tmp_path: Path, checks: list[Job]) -> None:
    from specpreflight.api import identify_engine
    from specpreflight.conditions import Conditions
    from specpreflight.scanning.runner import Runner
    from specpreflight.scanning.subjects import subjects
    from specpreflight.scanning.survey import survey
    from specpreflight.sources.checkpoint_tree import CheckpointTree

    make_tree(tmp_path, 6, 1, differ="provenance", faults=0)
    engine = identify_engine("sglang@0.5.11")
    found = survey(CheckpointTree([str(tmp_path)]))
    runner = Runner([Conditions(replace(engine, path=None))])
    assert len(list(runner.run(subjects(found)))) == 5
    assert len(checks) == 2
    runner = Runner([Conditions(replace(engine, path=str(tmp_path / "nothing")))])
    assert len(list(runner.run(subjects(found)))) == 5
    assert len(checks) == 2 + 5
    found.close()


plain_values = st.one_of(
    st.integers(-(10**15) + 1, 10**15 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40),
    st.sampled_from(["float16", "bfloat16", "eagle3", "0", "{}", "https://x.org/a_b", "-1"]),
)


def with_members(text: str, members: dict[str, Any], at: Sequence[int]) -> str:
    """Return a config with further members among its own, each with a line to itself."""
    lines = text.splitlines()
    ends = [i for i, line in enumerate(lines[:-2]) if line.startswith("  ") and line[2:3] == '"']
    ends = [i for i in ends if lines[i].endswith(",")]
    for (key, value), place in zip(members.items(), at, strict=False):
        lines.insert(ends[place % len(ends)] + 1, f"  {json.dumps(key)}: {json.dumps(value)},")
    return "\n".join(lines)


#: Keys of a draft's config, those that are read by a part of their name, and any others.
keys = st.one_of(
    st.sampled_from(NOTHING_READS),
    st.sampled_from(["max_position_embeddings", "rope_theta", "draft_vocab_size", "use_cache"]),
    st.sampled_from(["decoder_max_position_embeddings", "encoder_layers", "my_token_id"]),
    st.from_regex(r"[a-z]{1,8}(_[a-z]{1,8}){0,2}", fullmatch=True),
)

exports_of_a_run = st.lists(keys, min_size=1, max_size=6, unique=True).flatmap(
    lambda names: st.lists(
        st.fixed_dictionaries(dict.fromkeys(names, plain_values)), min_size=3, max_size=5
    )
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    exports=exports_of_a_run,
    at=st.lists(st.integers(0, 40), min_size=6, max_size=6),
    engine=st.sampled_from(["sglang@0.4.10", "sglang@0.5.9", "sglang", "vllm"]),
)
def test_any_values_of_any_keys(
    tmp_path_factory: pytest.TempPathFactory,
    exports: list[dict[str, Any]],
    at: list[int],
    engine: str,
) -> None:
    """Whatever exports differ in, each has the report of a check of its own."""
    root = tmp_path_factory.mktemp("tree")
    text = json.dumps(json.loads((EXAMPLE / "draft" / "config.json").read_text()), indent=2)
    for number, members in enumerate(exports):
        write(root / f"epoch_{number}", with_members(text, members, at))
    target = str(EXAMPLE / "target")
    for report in scan(root, target=target, engine=engine, jobs=1, cache=False):
        expected = alone(report, engine)
        assert render_json(report) == render_json(expected)
        assert report.excerpts == expected.excerpts


def with_other_values(text: str, number: int) -> str:
    """Return a config in which all that nothing reads has another value."""
    config = json.loads(text)
    unread = {
        key: value + (str(number) if isinstance(value, str) else number)
        for key, value in config.items()
        if type(value) in (str, int, float) and real_find_unread([key])
    }
    stored = {"_name_or_path": f"/runs/{number}", "transformers_version": f"4.{50 + number}.0"}
    return json.dumps({**config, **unread, **stored, "run_id": number}, indent=2)


@pytest.mark.shared
@pytest.mark.parametrize("engine", ["sglang", "sglang@0.5.11", "vllm"])
def test_published_pairs_with_other_values(shared: Path, tmp_path: Path, engine: str) -> None:
    """Nothing of a report depends on a value that nothing reads; the scan says the same."""
    configs = shared / "corpus" / "configs"
    with (shared / "corpus" / "PAIRS.tsv").open() as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    pairs = sorted({(row["target_id"], row["draft_id"]) for row in rows})
    texts = {
        name: (configs / name / "config.json").read_text()
        for pair in pairs
        for name in pair
        if (configs / name / "config.json").is_file()
    }
    here = [(a, b) for a, b in pairs if a != b and a in texts and b in texts][::30]
    lines = []
    for target, draft in here:
        for name in {target, draft}:
            for number in range(3):
                folder = tmp_path / name / str(number)
                if not folder.exists():
                    write(folder, with_other_values(texts[name], number))
        lines += [f"{tmp_path}/{target}/{n} {tmp_path}/{draft}/{n}\n" for n in range(3)]
    (tmp_path / "pairs").write_text("".join(lines))
    said: dict[str, set[str]] = {}
    for report in scan(tmp_path, engine=engine, pairs=tmp_path / "pairs", jobs=1, cache=False):
        if report.inputs.draft is not None:
            expected = alone(report, engine)
            assert render_json(report) == render_json(expected)
            text = render_json(replace(expected, inputs=replace(expected.inputs, paired_by=None)))
            number = Path(report.inputs.draft).name
            pair = f"{report.inputs.target} {report.inputs.draft}"
            text = re.sub(rf"({re.escape(str(tmp_path))}/[^/\"]+)/{number}\b", r"\1", text)
            said.setdefault(pair.replace(f"/{number}", ""), set()).add(text)
    assert len(said) == len(here)
    assert [pair for pair, texts in said.items() if len(texts) > 1] == []
