"""`--engine PATH`: what the tree answers is sure, what the nearest release answers is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from engine_trees import write_configuration, write_tree
from launches import EAGLE3_FLAGS, found, make_launch

from specpreflight.api import check
from specpreflight.engines.sglang.assumptions import with_assumptions
from specpreflight.engines.sglang.harvest.restated import read_digests
from specpreflight.engines.sglang.knowledge import Knowledge, load, release
from specpreflight.engines.sglang.release_facts import ReleasedFacts
from specpreflight.models.finding import Confidence, Outcome, Stage
from specpreflight.models.report import Report
from specpreflight.models.resolved import Event, Resolved

FACTORY = """
    class DraftBackendFactory:
        def create_decode_backend(self):
            {table} = {{"triton": self._a}}
            return self._create(
                {table}, "EAGLE is not supported in decode attention backend {{backend_type}}"
            )
"""
RULE = "draft-attention-backend-unfit"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def check_tree(folder: Path, files: dict[str, str], *words: str) -> Report:
    write_configuration(folder / "tree", "0.5.9")
    tree = write_tree(folder / "tree", files)
    launch = make_launch(folder, None, None, *EAGLE3_FLAGS, *words, engine="sglang@0.5.9")
    return check(replace(launch, engine=replace(launch.engine, path=str(tree.root))))


def test_a_table_that_was_read_is_as_sure_as_a_releases(tmp_path: Path) -> None:
    files = {"srt/speculative/draft_utils.py": FACTORY.format(table="backend_map")}
    (finding,) = found(check_tree(tmp_path, files, "--attention-backend", "fa3"), RULE)
    assert finding.confidence is Confidence.PROVEN
    assert "assumed" not in finding.detail


def test_a_table_that_was_not_found_is_the_releases_and_less_sure(tmp_path: Path) -> None:
    words = ("--attention-backend", "torch_native")
    report = check_tree(tmp_path, {"srt/speculative/draft_utils.py": "def other(): ...\n"}, *words)
    (finding,) = found(report, RULE)
    assert finding.confidence is Confidence.INFERRED
    assert "`probes.backends.draft-decode`; 0.5.9's answer is assumed" in finding.detail
    (note,) = found(report, "engine-tree-assumed")
    assert "counts as 0.5.9" in note.message


def test_hand_written_behaviour_of_a_changed_file_says_so(tmp_path: Path) -> None:
    words = ("--speculative-use-nothing",)
    report = check_tree(tmp_path, {"srt/server_args.py": "class ServerArgs: ...\n"}, *words)
    launch = make_launch(
        tmp_path,
        None,
        None,
        "--speculative-algorithm",
        "EAGLE3",
        "--speculative-eagle-topk",
        "4",
        engine="sglang@0.5.9",
    )
    changed = replace(launch, engine=replace(launch.engine, path=str(tmp_path / "tree" / "sglang")))
    (finding,) = found(check(changed), "step-counts-contradict")
    assert finding.confidence is Confidence.INFERRED
    assert finding.detail.endswith(
        "This tree's server_args.py is not 0.5.9's, whose behaviour is assumed."
    )
    (finding,) = found(check(launch), "step-counts-contradict")
    assert finding.confidence is Confidence.PROVEN
    assert found(report, "arguments-not-understood")


def event(source: str, **facts: str) -> Event:
    return Event(
        "cache.topk-paged", Outcome.REFUSES, Stage.ARGUMENTS, "no", source=source, facts=facts
    )


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (event("server_args.py:f"), Confidence.INFERRED),
        (event("speculative/eagle_worker.py:f"), Confidence.PROVEN),
        (event("server_args.py:f", read="flags"), Confidence.PROVEN),
        (event("x.py:f", read="probes.backends.draft-decode"), Confidence.INFERRED),
        (event("x.py:f", read="probes.backends.draft-extend"), Confidence.PROVEN),
    ],
)
def test_what_an_event_hangs_on(told: Event, expected: Confidence) -> None:
    known = Knowledge(
        release("0.5.9"),
        ReleasedFacts("0.5.9"),
        assumed=frozenset({"probes.backends.draft-decode"}),
        changed=frozenset({"server_args.py"}),
    )
    resolved = with_assumptions(Resolved({}, (told,)), known)
    assert resolved.events[0].confidence is expected
    assert resolved.events[-1].topic == "engine.tree-assumed"
    assert [name for name, _ in resolved.unknown] == ["probes.backends.draft-decode"]


def test_a_tree_that_is_its_release_is_taken_at_its_word() -> None:
    resolved = Resolved({}, (event("server_args.py:f"),))
    assert with_assumptions(resolved, load("0.5.9")) == resolved


def test_digests_are_of_the_files_that_are_restated(tmp_path: Path) -> None:
    files = {"srt/server_args.py": "x = 1\n", "srt/managers/io_struct.py": "y = 2\n"}
    before = read_digests(write_tree(tmp_path / "a", files))
    after = read_digests(write_tree(tmp_path / "b", {**files, "srt/server_args.py": "x = 2\n"}))
    assert before.keys() == {"server_args.py"}
    assert before != after


@pytest.mark.parametrize("version", ["0.4.6.post5", "0.5.9", "0.5.23"])
def test_every_release_has_digests(version: str) -> None:
    assert "server_args.py" in ReleasedFacts(version).table("files")
