from __future__ import annotations

from pathlib import Path

import pytest
from weight_launches import write_pair

from specpreflight import api
from specpreflight.models.finding import Finding, Outcome

RULE = "token-map-unfit"


def judge(tmp_path: Path, algorithm: str, token_map: str | None) -> list[Finding]:
    draft, target = write_pair(tmp_path)
    words = ["--speculative-algorithm", algorithm]
    if token_map is not None:
        words += ["--speculative-token-map", token_map]
    launch = api.build_launch(str(target), str(draft), engine="sglang@0.5.13", words=tuple(words))
    return [each for each in api.check(launch).findings if each.rule == RULE]


@pytest.mark.parametrize("algorithm", ["EAGLE", "NEXTN"])
def test_a_map_that_is_not_there_stops_the_worker(tmp_path: Path, algorithm: str) -> None:
    [finding] = judge(tmp_path, algorithm, str(tmp_path / "freq.pt"))
    assert finding.outcome is Outcome.CRASHES
    assert finding.message.endswith("freq.pt` is not there")


def test_the_same_map_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "freq.pt"
    path.write_bytes(b"PK\x03\x04")
    assert judge(tmp_path, "EAGLE", str(path)) == []


def test_a_map_of_the_hub_is_left_to_the_engine(tmp_path: Path) -> None:
    assert judge(tmp_path, "EAGLE", "thunlp/LLaMA3-Instruct-8B-FR-Spec/freq_32768.pt") == []


def test_a_file_that_torch_refuses(tmp_path: Path) -> None:
    path = tmp_path / "freq.pt"
    path.write_text("[1, 2]")
    [finding] = judge(tmp_path, "EAGLE", str(path))
    assert finding.outcome is Outcome.CRASHES


@pytest.mark.parametrize("name", [None, "freq.pt"])
def test_eagle3_never_reads_it(tmp_path: Path, name: str | None) -> None:
    given = None if name is None else str(tmp_path / name)
    found = judge(tmp_path, "EAGLE3", given)
    assert [each.outcome for each in found] == ([] if name is None else [Outcome.ADJUSTS])


def test_other_algorithms_have_no_map(tmp_path: Path) -> None:
    assert judge(tmp_path, "DFLASH", str(tmp_path / "freq.pt")) == []
