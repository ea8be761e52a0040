from __future__ import annotations

from pathlib import Path

from weight_launches import judge, judge_twin, launch_with, write_pair

from specpreflight.models.finding import Outcome

RULE = "links-broken"


def test_a_link_to_nothing(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.CRASHES
    assert "model-2.safetensors is a link to nothing" in finding.message


def test_links_that_leave_the_checkpoint_and_links_of_a_hub_cache(tmp_path: Path) -> None:
    draft, target = write_pair(tmp_path / "models--org--draft" / "snapshots")
    blobs = draft.parent.parent / "blobs"
    blobs.mkdir()
    for name, home in (("model.safetensors", blobs), ("config.json", tmp_path)):
        (draft / name).rename(home / name)
        (draft / name).symlink_to(home / name)
    [finding] = judge(RULE, *launch_with(draft, target, "EAGLE3"))
    assert finding.outcome is Outcome.STARTS
    assert finding.values[0].value == str((tmp_path / "config.json").resolve())
    assert len(finding.values) == 1
