from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE, LLAMA_EAGLE3, bare_launch, change, resolved_with

from specpreflight.models.finding import Outcome
from specpreflight.rules.vocabulary.vocab_size_differs import RULE


def count(directory: Path, target: dict[str, Any], draft: dict[str, Any]) -> int:
    found = list(RULE.check(bare_launch(directory, target, draft), resolved_with()))
    assert all(finding.outcome is Outcome.CRASHES for finding in found)
    return len(found)


@pytest.mark.parametrize("draft", [LLAMA_EAGLE, LLAMA_EAGLE3])
@pytest.mark.parametrize(("size", "expected"), [(128255, 1), (128256, 0), (128257, 1)])
def test_head_and_target(tmp_path: Path, draft: dict[str, Any], size: int, expected: int) -> None:
    assert count(tmp_path, LLAMA, change(draft, vocab_size=size)) == expected


@pytest.mark.parametrize(("reduced", "expected"), [(128255, 0), (128256, 0), (128257, 1)])
def test_reduced_and_whole(tmp_path: Path, reduced: int, expected: int) -> None:
    assert count(tmp_path, LLAMA, change(LLAMA_EAGLE3, draft_vocab_size=reduced)) == expected


@pytest.mark.parametrize("size", [..., None, "128256"])
def test_what_is_not_stated_is_not_compared(tmp_path: Path, size: Any) -> None:
    assert count(tmp_path, LLAMA, change(LLAMA_EAGLE3, vocab_size=size)) == 0


def test_standalone_is_another_rule(tmp_path: Path) -> None:
    assert count(tmp_path, LLAMA, change(LLAMA, vocab_size=32000)) == 0
