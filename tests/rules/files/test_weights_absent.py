from __future__ import annotations

from pathlib import Path

from weight_launches import judge, judge_twin, launch_with, write_pair

from specpreflight.models.finding import Outcome

RULE = "weights-absent"


def test_the_folder_inside_is_named(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.CRASHES
    assert finding.remedies[0].title.endswith("draft/epoch_9")


def test_quiet_with_weights_or_with_the_small_files_alone(tmp_path: Path) -> None:
    draft, target = write_pair(tmp_path)
    assert judge(RULE, *launch_with(draft, target, "EAGLE3")) == []
    (draft / "model.safetensors").unlink()
    assert judge(RULE, *launch_with(draft, target, "EAGLE3")) == []


def test_gguf_alone_is_said_for_what_it_is(tmp_path: Path) -> None:
    draft, target = write_pair(tmp_path)
    (draft / "model.safetensors").unlink()
    (draft / "m.gguf").write_bytes(b"GGUF\x03\x00\x00\x00" + b"\x07" + bytes(15))
    [finding] = judge(RULE, *launch_with(draft, target, "EAGLE3"))
    assert finding.outcome is Outcome.CRASHES
    assert "`m.gguf` is GGUF version 3, 7 tensors" in finding.detail
    assert finding.remedies[0].title == f"give {draft}/m.gguf"
