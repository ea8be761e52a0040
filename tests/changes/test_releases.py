"""What is known of two versions and not alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import EAGLE3_FLAGS, make_launch

from specpreflight.api import identify_engine
from specpreflight.changes.releases import diff_facts, summarize_lists, touches
from specpreflight.changes.versions import compare_on_versions, compare_versions
from specpreflight.engines.registry import find_engine
from specpreflight.models.change import Change
from specpreflight.models.finding import MISSING
from specpreflight.reports.releases import render_releases

OLD = {
    "flags": {
        "--a": {"default": 1},
        "--gone": {"default": None},
        "--tensor-size": {"default": 1, "aliases": ["--tp-size"]},
        "--list": {"choices": ["x", "y"]},
    },
    "behaviour": {"context.x": {"value": "warns", "about": "what it does"}},
}
NEW = {
    "flags": {
        "--a": {"default": 2},
        "--new": {"default": None},
        "--tp-size": {"default": 1, "aliases": ["--tensor-size"]},
        "--list": {"choices": ["y", "z"]},
    },
    "behaviour": {"context.x": {"value": "refuses", "about": "what it does"}},
}


def test_facts() -> None:
    found = {change.name: change for change in diff_facts(OLD, NEW)}
    assert (found["--a default"].before, found["--a default"].after) == (1, 2)
    assert (found["--gone"].after, found["--new"].before) == (MISSING, MISSING)
    assert (found["context.x"].before, found["context.x"].after) == ("warns", "refuses")
    assert found["context.x"].note == "what it does"
    assert summarize_lists(found["--list choices"]).note == "gains z; loses x"
    assert set(found) == {
        "--a default", "--gone", "--new", "--list choices", "--tp-size aliases", "context.x",
    }  # fmt: skip


def test_the_same_facts() -> None:
    assert not list(diff_facts(OLD, OLD))


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_every_pair_of_neighbours_is_shown_in_80_columns(engine: str) -> None:
    module = find_engine(engine).identify(None)
    first = {"sglang": "0.4.6.post5", "vllm": "0.10.0"}[engine]
    text = render_releases(compare_versions(identify_engine(f"{engine}@{first}"), module))
    assert max(len(line) for line in text.splitlines() if " " in line.strip()) <= 80
    assert text.count("\n\n") >= 4


def test_what_touches_a_launch(tmp_path: Path) -> None:
    launch = make_launch(tmp_path, None, None, *EAGLE3_FLAGS, environment={"SGLANG_X": "1"})
    touch = touches([launch], [find_engine("sglang").resolve(launch)])

    def change(part: str, name: str) -> Change:
        return Change(part, name, 1, 2)  # type: ignore[arg-type]

    assert touch(change("flags", "--speculative-num-steps choices"))
    assert touch(change("flags", "--page-size default"))
    assert not touch(change("flags", "--page-size choices"))
    assert not touch(change("flags", "--page-size"))
    assert touch(change("variables", "SGLANG_X default"))
    assert not touch(change("variables", "SGLANG_Y default"))
    assert touch(change("architectures", "LlamaForCausalLM offers"))
    assert not touch(change("architectures", "Qwen2ForCausalLM"))
    assert touch(change("behaviour", "eagle3.ids-read"))
    assert not touch(change("behaviour", "eagle3.gpt-oss-ids"))
    assert not touch(change("behaviour", "arguments.ngram-topk-with-pages"))
    assert not touch(change("drafts", "every other target: steps, top-k, draft tokens"))


def test_behaviour_of_drafts_does_not_touch_a_launch_without(tmp_path: Path) -> None:
    launch = make_launch(tmp_path, None, None, "--tp-size", "2")
    touch = touches([launch], [find_engine("sglang").resolve(launch)])
    assert not touch(Change("behaviour", "eagle3.ids-read", 1, 2))


def test_the_errors_of_both_are_to_be_mended(tmp_path: Path) -> None:
    launches = [
        make_launch(
            tmp_path, None, None, *EAGLE3_FLAGS, "--tp-size", "3", engine=f"sglang@{release}"
        )
        for release in ("0.5.9", "0.5.11")
    ]
    found = compare_on_versions(*launches)
    assert {one.rule for one in found.to_do} == {"heads-inconsistent"}
