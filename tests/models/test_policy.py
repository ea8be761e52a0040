"""Policies and baselines: which findings count, and what they say when they do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sample_report import SAMPLE, SHORTER, THETA

from specpreflight.models.baseline import Baseline, Entry
from specpreflight.models.finding import Finding, Severity
from specpreflight.models.idle import IdleWatch
from specpreflight.models.paths import checkpoint_from, matches_glob, path_from
from specpreflight.models.policy import Ignore, PairGlobs, Policy

#: The sample's finding, at d/config.json and t/config.json.
PAIR = SAMPLE.inputs


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("drafts/*", "drafts/a", True),
        ("drafts/*", "drafts/a/config.json", True),
        ("drafts/*/config.json", "drafts/a/b/config.json", False),
        ("drafts/**", "drafts/a/b/config.json", True),
        ("**/config.json", "config.json", True),
        ("**/config.json", "a/b/config.json", True),
        ("**", "anything/at/all", True),
        ("d?aft", "draft", True),
        ("d?aft", "d/aft", False),
        ("a.b", "aXb", False),
        ("old/", "old/config.json", True),
        ("old", "older", False),
    ],
)
def test_globs(glob: str, path: str, matches: bool) -> None:
    assert matches_glob(path, glob) is matches


def test_paths_are_seen_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub" / "draft").mkdir(parents=True)
    (tmp_path / "sub" / "draft" / "config.json").touch()
    monkeypatch.chdir(tmp_path / "sub")
    root = str(tmp_path)
    assert path_from(root, "draft") == "sub/draft"
    assert path_from(root, str(tmp_path / "sub")) == "sub"
    assert path_from(root, "/elsewhere/draft") == "/elsewhere/draft"
    assert path_from(str(tmp_path / "sub" / "draft"), "../sub") == ".."
    assert path_from(root, "org/name") == "org/name"
    assert path_from(root, "ssh://host/draft") == "ssh://host/draft"
    assert checkpoint_from(root, "draft/config.json") == "sub/draft"
    assert checkpoint_from(root, "draft/") == "sub/draft"
    assert checkpoint_from(str(tmp_path / "sub" / "draft"), "draft/config.json") == "."
    assert checkpoint_from(root, None) == ""


def judge(policy: Policy, finding: Finding = SHORTER) -> Finding:
    return policy.judge(finding, PAIR)


def test_a_severity_of_ones_own() -> None:
    judged = judge(Policy(severities={"draft-context-shorter": Severity.WARNING}))
    assert (judged.severity, judged.ignored) == (Severity.WARNING, None)


def test_an_ignored_finding_is_a_note_that_says_why() -> None:
    judged = judge(Policy(ignores=(Ignore("draft-context-shorter", "we know", "x.toml:3"),)))
    assert judged.severity is Severity.NOTE
    assert judged.ignored is not None
    assert (judged.ignored.reason, judged.ignored.by) == ("we know", "x.toml:3")


@pytest.mark.parametrize(
    ("changes", "is_ignored"),
    [
        ({"rule": "rope-theta-differs"}, False),
        ({"paths": ("d/config.json",)}, True),
        ({"paths": ("t",)}, True),
        ({"paths": ("other/**", "d/*")}, True),
        ({"paths": ("other/**",)}, False),
        ({"pairs": (PairGlobs("t", "d"),)}, True),
        ({"pairs": (PairGlobs(draft="x"), PairGlobs(target="t"))}, True),
        ({"pairs": (PairGlobs("t", "x"),)}, False),
        ({"pairs": (PairGlobs("t", "d"),), "paths": ("other",)}, False),
    ],
)
def test_which_findings_an_ignore_covers(changes: dict[str, object], is_ignored: bool) -> None:
    ignore = Ignore("draft-context-shorter", "we know", "x.toml:3")
    judged = judge(Policy(ignores=(replace(ignore, **changes),)))  # type: ignore[arg-type]
    assert (judged.ignored is not None) is is_ignored


def test_a_finding_without_files_is_at_its_checkpoints() -> None:
    finding = replace(THETA, ignored=None)
    for glob, is_ignored in (("d", True), ("t", True), ("x", False)):
        policy = Policy(ignores=(Ignore("rope-theta-differs", "so", "x", paths=(glob,)),))
        assert (judge(policy, finding).ignored is not None) is is_ignored


def baseline(severity: Severity = Severity.ERROR, draft: str = "d") -> Baseline:
    empty = Baseline("known.json", "/no/such/folder", {})
    key = empty.key(SHORTER, replace(PAIR, draft=draft))
    return replace(empty, entries={key: Entry(SHORTER.rule, "sglang", severity)})


def test_a_known_finding_is_a_note() -> None:
    judged = judge(Policy(baseline=baseline()))
    assert judged.severity is Severity.NOTE
    assert judged.ignored is not None
    assert judged.ignored.by == "known.json"


def test_a_finding_that_got_worse_is_new() -> None:
    assert judge(Policy(baseline=baseline(Severity.WARNING))).ignored is None


def test_the_same_fault_in_another_draft_is_new() -> None:
    assert judge(Policy(baseline=baseline(draft="other"))).ignored is None


def test_what_has_nothing_to_do_any_more() -> None:
    ignores = (
        Ignore("rope-theta-differs", "used", "a"),
        Ignore("vocab-size-differs", "matches nothing", "b"),
        Ignore("vocab-size-differs", "is for others", "c", pairs=(PairGlobs(draft="other"),)),
    )
    empty = Baseline("known.json", "/no/such/folder", {})
    gone = empty.key(replace(SHORTER, fingerprint="gone"), PAIR)
    kept = empty.key(SHORTER, PAIR)
    unchecked = empty.key(SHORTER, replace(PAIR, draft="other"))
    other_engine = empty.key(replace(SHORTER, fingerprint="vllm"), PAIR)
    entry = Entry("rule", "sglang", Severity.ERROR)
    entries = {gone: entry, kept: entry, unchecked: entry, other_engine: entry._replace(engine="v")}
    watch = IdleWatch(Policy(ignores=ignores, baseline=replace(empty, entries=entries)))
    finding = replace(THETA, ignored=judge(Policy(ignores=ignores), THETA).ignored)
    watch.see(replace(SAMPLE, findings=(SHORTER, finding)))
    assert [ignore.by for ignore in watch.idle_ignores()] == ["b"]
    assert [ignore.by for ignore in watch.unasked_ignores()] == ["c"]
    assert list(watch.vanished()) == [gone]
