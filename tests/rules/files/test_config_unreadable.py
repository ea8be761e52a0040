"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import EAGLE3_FLAGS, LLAMA, found, write_checkpoint

from specpreflight.api import build_launch, check


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"model_type": "llama",}', True),
        (None, True),
        ('{"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama"}', False),
    ],
    ids=["a comma too many", "no file", "readable"],
)
def test_draft(tmp_path: Path, text: str | None, expected: bool) -> None:
    target = write_checkpoint(tmp_path / "target", LLAMA)
    (tmp_path / "draft").mkdir()
    if text is not None:
        (tmp_path / "draft" / "config.json").write_text(text)
    launch = build_launch(
        str(target), str(tmp_path / "draft"), engine="sglang@0.5.11", words=EAGLE3_FLAGS
    )
    findings = found(check(launch), "config-unreadable")
    assert bool(findings) is expected
    assert all(finding.stage is not None for finding in findings)


def test_the_cause_and_the_way_out_are_told(tmp_path: Path) -> None:
    target = write_checkpoint(tmp_path / "target", LLAMA)
    (tmp_path / "draft").mkdir()
    config = tmp_path / "draft" / "config.json"
    config.write_text("version https://git-lfs.github.com/spec/v1\n")
    launch = build_launch(str(target), str(config.parent), engine="sglang@0.5.11")
    [finding] = found(check(launch), "config-unreadable")
    assert finding.detail.startswith(
        f"{config}: is a Git LFS pointer, not the file itself; run `git lfs pull` in the repository"
    )
