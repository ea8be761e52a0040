from __future__ import annotations

import os
from pathlib import Path

from weight_launches import judge, launch_with, write_pair

from specpreflight.models.finding import Finding, Outcome

RULE = "checkpoint-nested"


def nest(folder: Path, age: float) -> None:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    os.utime(folder, (age, age))


def findings(tmp_path: Path, *folders: tuple[str, float]) -> list[Finding]:
    draft, target = write_pair(tmp_path)
    os.utime(draft / "model.safetensors", (1_700_000_000, 1_700_000_000))
    for name, age in folders:
        nest(draft / name, age)
    return judge(RULE, *launch_with(draft, target, "EAGLE3"))


def test_the_newest_is_named_first(tmp_path: Path) -> None:
    [finding] = findings(
        tmp_path, ("epoch_1", 1_600_000_000), ("epoch_9", 1_800_000_000), ("epoch_5", 1_650_000_000)
    )
    assert finding.outcome is Outcome.STARTS
    assert finding.message == "the draft's folder epoch_9 and 2 more is not loaded"
    assert "newer" in finding.detail
    assert [value.value for value in finding.values] == ["epoch_9", "epoch_5", "epoch_1"]


def test_an_older_one_is_not_called_newer(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, ("epoch_1", 1_600_000_000))
    assert finding.detail == ""


def test_quiet_without_a_folder_and_without_weights_beside_it(tmp_path: Path) -> None:
    assert findings(tmp_path / "none") == []
    draft, target = write_pair(tmp_path / "moved")
    (draft / "model.safetensors").unlink()
    nest(draft / "epoch_9", 1_700_000_000)
    assert judge(RULE, *launch_with(draft, target, "EAGLE3")) == []
