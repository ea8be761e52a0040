"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path

from launches import EAGLE3_FLAGS, LLAMA, found, outcomes, write_checkpoint

from specpreflight.api import build_launch, check

EAGLE3 = ("--speculative-algorithm", "EAGLE3")
CHAIN = EAGLE3_FLAGS


DFLASH = ("--speculative-algorithm", "DFLASH")


def rules_without_draft(directory: Path, target: dict[str, object], *words: str) -> list[str]:
    write_checkpoint(directory / "target", target)
    launch = build_launch(str(directory / "target"), engine="sglang@0.5.11", words=words)
    return [one.outcome.value for one in found(check(launch), "draft-path-missing")]


def test_dflash_refuses(tmp_path: Path) -> None:
    assert rules_without_draft(tmp_path, LLAMA, *DFLASH) == ["refuses"]


def test_eagle3_loads_the_target_twice(tmp_path: Path) -> None:
    assert rules_without_draft(tmp_path, LLAMA, *EAGLE3) == ["degrades"]


def test_with_a_draft_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert outcomes(tmp_path, "draft-path-missing", "0.5.11", *CHAIN) == []
