from __future__ import annotations

import os
from pathlib import Path

import pytest
from weight_launches import judge_twin

from specpreflight.models.finding import Outcome

RULE = "files-unreadable"


def test_private_among_public_files(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.STARTS
    assert "only its owner may read the draft's model.safetensors" in finding.message


def test_quiet_where_all_are_private(tmp_path: Path) -> None:
    def close_all(draft: Path, target: Path) -> None:
        for path in draft.iterdir():
            path.chmod(0o600)

    assert judge_twin(RULE, tmp_path, damage=close_all) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all files")
def test_a_file_that_this_user_cannot_read(tmp_path: Path) -> None:
    def close(draft: Path, target: Path) -> None:
        (draft / "model.safetensors").chmod(0o000)

    [finding] = judge_twin(RULE, tmp_path, damage=close)
    assert finding.outcome is Outcome.CRASHES
