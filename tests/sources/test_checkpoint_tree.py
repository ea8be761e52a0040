"""Which directories of a tree are looked into, and which of a series is the newest."""

from __future__ import annotations

from pathlib import Path

import pytest

from specpreflight.sources.checkpoint_tree import (
    CheckpointTree,
    FoundCheckpoint,
    FoundLaunchFile,
    progress_of,
)


@pytest.mark.parametrize(
    ("name", "series", "numbers"),
    [
        ("epoch_3", "epoch#", (3,)),
        ("step_12000", "step#", (12000,)),
        ("checkpoint-500", "checkpoint#", (500,)),
        ("global_step_100", "global_step#", (100,)),
        ("iter_0000500", "iter#", (500,)),
        ("4", "#", (4,)),
        ("epoch_3-step_100", "epoch#-step#", (3, 100)),
        ("run1-step_7", "run1-step#", (7,)),
        ("llama-3", "llama-3", ()),
        ("footstep_9", "footstep_9", ()),
        ("v2", "v2", ()),
    ],
)
def test_progress(name: str, series: str, numbers: tuple[int, ...]) -> None:
    assert progress_of(name) == (series, numbers)


def found(root: Path, *directories: str, latest: bool = True) -> list[str]:
    for directory in directories:
        (root / directory).mkdir(parents=True)
        (root / directory / "config.json").write_text("{}")
    tree = CheckpointTree([str(root)], latest=latest)
    return [
        str(Path(one.path).relative_to(root)) for one in tree if isinstance(one, FoundCheckpoint)
    ]


def test_the_newest_of_each_series(tmp_path: Path) -> None:
    everything = ("a/step_9", "a/step_10", "b/epoch_1/2", "b/epoch_2/9", "b/epoch_2/10", "llama-2")
    assert found(tmp_path, *everything) == ["a/step_10", "b/epoch_2/10", "llama-2"]


def test_an_empty_newest_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "step_3").mkdir()
    assert found(tmp_path, "step_1", "step_2") == ["step_2"]


def test_two_series_side_by_side(tmp_path: Path) -> None:
    names = ("epoch_1", "epoch_2", "step_5", "step_6")
    assert found(tmp_path, *names) == ["epoch_2", "step_6"]
    assert [Path(one.path).name for one in CheckpointTree([str(tmp_path)])] == list(names)


def test_a_checkpoint_inside_a_checkpoint(tmp_path: Path) -> None:
    assert found(tmp_path, "model", "model/step_1/hf", latest=False) == ["model", "model/step_1/hf"]


def test_overlapping_roots_give_each_once(tmp_path: Path) -> None:
    found(tmp_path, "a/b")
    tree = CheckpointTree([str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")])
    assert len(list(tree)) == 1


def test_a_deep_tree(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 400)
    assert found(tmp_path, deep) == [deep]


def test_launch_files_mention_an_engine(tmp_path: Path) -> None:
    (tmp_path / "serve.sh").write_text("sglang serve")
    (tmp_path / "build.sh").write_text("make")
    (tmp_path / "README.md").write_text("sglang serve")
    assert list(CheckpointTree([str(tmp_path)])) == [FoundLaunchFile(f"{tmp_path}/serve.sh")]
