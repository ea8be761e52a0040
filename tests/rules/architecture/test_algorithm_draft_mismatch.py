"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import (
    EAGLE3_FLAGS,
    LLAMA,
    LLAMA_EAGLE,
    LLAMA_EAGLE3,
    change,
    found,
    make_launch,
    outcomes,
)

from specpreflight.api import check

RULE = "algorithm-draft-mismatch"
EAGLE_FLAGS = ("--speculative-algorithm", "EAGLE", *EAGLE3_FLAGS[2:])


@pytest.mark.parametrize("version", ["0.5.2", "0.5.23"])
@pytest.mark.parametrize(
    ("words", "draft", "expected"),
    [
        (EAGLE_FLAGS, LLAMA_EAGLE3, ["accepts-nothing"]),
        (EAGLE3_FLAGS, LLAMA_EAGLE, ["crashes"]),
        (EAGLE3_FLAGS, LLAMA_EAGLE3, []),
        (EAGLE_FLAGS, LLAMA_EAGLE, []),
    ],
)
def test_algorithm_and_draft(
    tmp_path: Path,
    version: str,
    words: tuple[str, ...],
    draft: dict[str, Any],
    expected: list[str],
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, draft=draft) == expected


def test_head_under_a_plain_models_name_is_renamed_only_if_asked(tmp_path: Path) -> None:
    draft = change(LLAMA, num_hidden_layers=1, draft_vocab_size=32000)
    [finding] = found(check(make_launch(tmp_path, LLAMA, draft)), RULE)
    [remedy] = [one for one in finding.remedies if one.edits]
    assert remedy.applicability == "unsafe"
    assert remedy.edits[0].after == "LlamaForCausalLMEagle3"


STANDALONE = ("--speculative-algorithm", "STANDALONE")


@pytest.mark.parametrize(
    ("version", "architecture", "expected"),
    [
        ("0.5.12", "Qwen3MoeForCausalLM", []),
        ("0.5.13", "Qwen3MoeForCausalLM", ["accepts-nothing"]),
        ("0.5.2", "MiMoForCausalLM", ["accepts-nothing"]),
        ("0.5.13", "LlamaForCausalLM", []),
    ],
)
def test_standalone_draft_that_is_taken_for_an_mtp_head(
    tmp_path: Path, version: str, architecture: str, expected: list[str]
) -> None:
    draft = change(LLAMA, architectures=[architecture])
    assert outcomes(tmp_path, RULE, version, *STANDALONE, draft=draft) == expected


DFLASH = change(LLAMA, architectures=["DFlashDraftModel"], num_hidden_layers=5)


@pytest.mark.parametrize(
    ("draft", "flags"),
    [
        (DFLASH, ("--speculative-algorithm DFLASH",)),
        (LLAMA_EAGLE, None),
    ],
)
def test_eagle_with_a_class_that_takes_no_embedding(
    tmp_path: Path, draft: dict[str, Any], flags: tuple[str, ...] | None
) -> None:
    report = check(make_launch(tmp_path, LLAMA, draft, *EAGLE_FLAGS, engine="sglang@0.5.13"))
    named = [remedy.flags for one in found(report, RULE) for remedy in one.remedies]
    assert named == ([] if flags is None else [flags])
