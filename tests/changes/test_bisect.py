"""The commit that changes a verdict, found in real repositories that the tests make."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from engine_trees import write_tree
from launches import EAGLE3_FLAGS, LLAMA, change, make_launch
from release_tree import ARGUMENTS, MODEL_CONFIG, release_files

from specpreflight.changes.bisect import Tried, bisect
from specpreflight.cli import main
from specpreflight.engines.sglang.harvest.cache import cache_folder
from specpreflight.errors import InputError, UsageError
from specpreflight.models.comparison import Culprit
from specpreflight.models.launch import Launch

RELEASE = "0.5.9"
_REFUSES, _WARNS = "raise ValueError(f'{msg} To", "logger.warning(f'{msg} To"
_CHOICES = "choices=['EAGLE', 'EAGLE3', 'NEXTN', 'STANDALONE', 'NGRAM']"


class Clone:
    """A repository with a fake engine below `python/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.files = release_files(RELEASE)
        self.commit("Begin")
        self.git("tag", f"v{RELEASE}")

    def git(self, *words: str) -> str:
        identity = {
            f"GIT_{who}_{what}": text
            for who in ("AUTHOR", "COMMITTER")
            for what, text in (
                ("NAME", "A"), ("EMAIL", "a@b.example"), ("DATE", "2026-02-01T00:00:00Z"),
            )
        }  # fmt: skip
        isolated = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(
            ["git", "-C", str(self.root), *words],
            env={**os.environ, **identity, **isolated},
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, subject: str) -> str:
        write_tree(self.root / "python", self.files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)
        return self.git("rev-parse", "HEAD")

    def replace(self, file: str, old: str, new: str, subject: str) -> str:
        assert old in self.files[file]
        self.files[file] = self.files[file].replace(old, new)
        return self.commit(subject)

    def grow(self, count: int, what: str) -> None:
        """Add commits that change nothing for a launch."""
        for number in range(count):
            self.files[ARGUMENTS] += f"\n{what}_{number} = 1\n"
            self.commit(f"Add {what} {number}")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Clone(tmp_path / "clone")


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    return make_launch(tmp_path, engine=f"sglang@{RELEASE}")


def find(clone: Clone, launch: Launch, good: str, bad: str = "main") -> tuple[Culprit, list[str]]:
    told: list[str] = []

    def tell(tried: Tried) -> None:
        told.append(tried.commit.subject)

    return bisect(clone.root, good, bad, launch, tell), told


def drop_eagle3(clone: Clone) -> str:
    return clone.replace(ARGUMENTS, _CHOICES, _CHOICES.replace("'EAGLE3', ", ""), "Drop EAGLE3")


@pytest.mark.parametrize(("before", "after"), [(0, 0), (4, 2)])
def test_the_commit_that_removes_an_algorithm(
    clone: Clone, launch: Launch, before: int, after: int
) -> None:
    clone.grow(before, "before")
    wanted = drop_eagle3(clone)
    clone.grow(after, "after")
    culprit, told = find(clone, launch, f"v{RELEASE}")
    assert (culprit.sha, culprit.subject, culprit.date) == (wanted, "Drop EAGLE3", "2026-02-01")
    assert culprit.tried == len(told) <= 2 + (before + after + 1).bit_length()
    assert culprit.crossed is None
    [change] = [one for one in culprit.comparison.changes if one.part == "flags"]
    assert change.name == "--speculative-algorithm choices"
    assert change.note == "loses EAGLE3"
    [commit] = [one for one in culprit.comparison.changes if one.part == "engine"]
    assert "arguments-not-understood" in {one.rule for one in commit.consequences}


def test_the_commit_that_makes_a_warning_an_error(clone: Clone, tmp_path: Path) -> None:
    shorter = make_launch(
        tmp_path, change(LLAMA, max_position_embeddings=262144), engine=f"sglang@{RELEASE}"
    )
    clone.replace(MODEL_CONFIG, _REFUSES, _WARNS, "Only warn")
    clone.git("tag", "--force", f"v{RELEASE}")
    clone.grow(2, "before")
    wanted = clone.replace(MODEL_CONFIG, _WARNS, _REFUSES, "Refuse")
    clone.grow(2, "after")
    culprit, _ = find(clone, shorter, f"v{RELEASE}")
    assert culprit.sha == wanted
    [commit] = [one for one in culprit.comparison.changes if one.part == "engine"]
    [worse] = [one for one in commit.consequences if one.effect == "worse"]
    assert worse.rule == "draft-context-shorter"
    assert worse.text.startswith("now an error (crashes, draft-config)")


def test_nothing_in_the_clone_or_the_cache_is_touched(clone: Clone, launch: Launch) -> None:
    drop_eagle3(clone)
    (clone.root / "python" / "sglang" / ARGUMENTS).write_text("broken =")
    clone.git("checkout", "--quiet", "--detach", "--force", f"v{RELEASE}")
    (clone.root / "mine.txt").write_text("mine")
    before = {path: path.stat().st_mtime_ns for path in clone.root.rglob("*")}
    find(clone, launch, f"v{RELEASE}")
    assert {path: path.stat().st_mtime_ns for path in clone.root.rglob("*")} == before
    assert not list(cache_folder().rglob("*.json"))


def test_a_bare_clone(clone: Clone, launch: Launch, tmp_path: Path) -> None:
    wanted = drop_eagle3(clone)
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "clone", "--quiet", "--bare", clone.root, bare], check=True)
    assert bisect(bare, f"v{RELEASE}", "main", launch, lambda _: None).sha == wanted


def test_a_release_in_between_is_told(clone: Clone, launch: Launch) -> None:
    clone.grow(1, "before")
    drop_eagle3(clone)
    clone.git("tag", "v0.5.10")
    culprit, _ = find(clone, launch, f"v{RELEASE}")
    assert culprit.crossed == (RELEASE, "0.5.10")


def test_without_tags_the_options_tell_the_release(clone: Clone, launch: Launch) -> None:
    clone.git("tag", "--delete", f"v{RELEASE}")
    good = clone.git("rev-parse", "HEAD")
    wanted = drop_eagle3(clone)
    culprit, _ = find(clone, launch, good)
    assert culprit.sha == wanted
    assert culprit.comparison.before_verdict is not None
    assert culprit.comparison.before_verdict.summary.startswith(f"SGLang {RELEASE} ")


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("nope", "main", "`nope` names no commit"),
        ("--all", "main", "names no commit"),
        ("main", f"v{RELEASE}", "is no ancestor of"),
        (f"v{RELEASE}", "main~1", "the verdict is the same at both"),
    ],
)
def test_revisions_that_give_no_answer(
    clone: Clone, launch: Launch, good: str, bad: str, words: str
) -> None:
    clone.grow(1, "before")
    drop_eagle3(clone)
    with pytest.raises(UsageError, match=words):
        find(clone, launch, good, bad)


def test_no_repository(launch: Launch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a git repository"):
        bisect(tmp_path, "a", "b", launch, lambda _: None)


def test_a_repository_of_something_else(launch: Launch, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path / "other"], check=True)
    with pytest.raises((InputError, UsageError), match="names no commit"):
        bisect(tmp_path / "other", "a", "b", launch, lambda _: None)


def test_the_source_of_vllm_is_not_read(tmp_path: Path) -> None:
    launch = make_launch(tmp_path, None, None, "--speculative-config", "{}", engine="vllm@0.20.0")
    with pytest.raises(UsageError, match="only its releases are known"):
        bisect(tmp_path, "a", "b", launch, lambda _: None)


def test_the_command(clone: Clone, tmp_path: Path, launch: Launch) -> None:
    wanted = drop_eagle3(clone)
    words = (
        "engines", "bisect", clone.root, tmp_path / "target", tmp_path / "draft",
        "--good", f"v{RELEASE}", "--bad", "main", "--no-env",
    )  # fmt: skip
    ran = CliRunner().invoke(main, [*map(str, words), "--", *EAGLE3_FLAGS])
    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[0] == f"{wanted[:12]} 2026-02-01 Drop EAGLE3"
    assert "loses EAGLE3" in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80
    ran = CliRunner().invoke(main, [*map(str, words), "--format", "json", "--", *EAGLE3_FLAGS])
    data = json.loads(ran.stdout)
    assert (data["format_version"], data["sha"]) == ("1", wanted)
