"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA, LLAMA_EAGLE3, change, found, make_launch, outcomes

from specpreflight.api import check
from specpreflight.models.finding import Finding

EAGLE3 = ("--speculative-algorithm", "EAGLE3")
CHAIN = EAGLE3_FLAGS


RULE = "draft-context-shorter"
ON = {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}


@pytest.mark.parametrize(
    ("version", "length", "environment", "expected"),
    [
        ("0.5.11", 131071, {}, ["crashes"]),
        ("0.5.11", 131072, {}, []),
        ("0.5.11", 131073, {}, []),
        ("0.4.10.post2", 131071, {}, ["degrades"]),
        ("0.5.1", 131071, {}, ["crashes"]),
        ("0.5.2", 131071, ON, ["degrades"]),
        ("0.5.11", 131071, ON, ["adjusts"]),
        ("0.5.11", 131071, {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "YES"}, ["adjusts"]),
        ("0.5.11", 131071, {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "on"}, ["crashes"]),
        ("0.5.11", 131071, {"SGLANG_IS_IN_CI": "true"}, ["adjusts"]),
        ("0.4.10.post2", 131071, {next(iter(ON)): "0"}, ["crashes"]),
    ],
)
def test_by_release_and_variable(
    tmp_path: Path, version: str, length: int, environment: dict[str, str], expected: list[str]
) -> None:
    draft = change(LLAMA_EAGLE3, max_position_embeddings=length)
    got = outcomes(tmp_path, RULE, version, *CHAIN, draft=draft, environment=environment)
    assert got == expected


def finding(directory: Path, version: str = "0.5.11", **draft: Any) -> Finding:
    launch = make_launch(directory, None, change(LLAMA_EAGLE3, **draft), engine=f"sglang@{version}")
    [only] = found(check(launch), RULE)
    return only


def edits(found_one: Finding) -> list[tuple[str, str, Any, Any]]:
    return [
        (remedy.applicability, edit.pointer, edit.before, edit.after)
        for remedy in found_one.remedies
        for edit in remedy.edits
    ]


MPE = "/max_position_embeddings"


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ({"max_position_embeddings": 2048}, [("safe", MPE, 2048, 131072)]),
        ({"max_position_embeddings": ...}, [("safe", MPE, "<missing>", 131072)]),
        (
            {"max_position_embeddings": 4096, "rope_scaling": {"type": "dynamic", "factor": 2.0}},
            [("unsafe", MPE, 4096, 65536)],
        ),
        (
            {"max_position_embeddings": 4096, "rope_scaling": {"type": "linear", "factor": 2.0}},
            [("safe", MPE, 4096, 65536)],
        ),
        (
            {"max_position_embeddings": 131072, "model_max_length": 2048},
            [("safe", "/model_max_length", 2048, 131072)],
        ),
        (
            {"max_position_embeddings": 4096, "model_max_length": 2048},
            [
                ("safe", "/model_max_length", 2048, 131072),
                ("safe", MPE, 4096, 131072),
            ],
        ),
    ],
)
def test_what_is_written(
    tmp_path: Path, draft: dict[str, Any], expected: list[tuple[str, str, Any, Any]]
) -> None:
    assert edits(finding(tmp_path, **draft)) == expected


def test_order_of_the_ways_out(tmp_path: Path) -> None:
    kinds = [remedy.kind for remedy in finding(tmp_path, max_position_embeddings=2048).remedies]
    assert kinds == ["edit", "flag", "environment", "flag"]


@pytest.mark.parametrize(("version", "graphs"), [("0.5.13", True), ("0.5.16", False)])
def test_says_what_was_loaded_before(tmp_path: Path, version: str, graphs: bool) -> None:
    detail = finding(tmp_path, version, max_position_embeddings=2048).detail
    assert "weights" in detail
    assert ("graphs" in detail) is graphs


NESTED = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "text_config": LLAMA,
}


@pytest.mark.parametrize(
    ("target", "draft", "flags", "expected"),
    [
        # A flat target that states the number already, and one that keeps it in text_config.
        (LLAMA, {}, (), True),
        (NESTED, {}, (), True),
        # A flat target that states another: it would be changed as well.
        (change(LLAMA, max_sequence_length=131072, max_position_embeddings=4096), {}, (), False),
        (LLAMA, {}, ("--json-model-override-args", "{}"), False),
    ],
)
def test_override_that_reaches_the_draft_alone(
    tmp_path: Path,
    target: dict[str, Any],
    draft: dict[str, Any],
    flags: tuple[str, ...],
    expected: bool,
) -> None:
    short = change(LLAMA_EAGLE3, max_position_embeddings=2048, **draft)
    words = (*EAGLE3_FLAGS, "--trust-remote-code", *flags)
    launch = make_launch(tmp_path, target, short, *words, engine="sglang@0.5.11")
    (first,) = found(check(launch), "draft-context-shorter")
    flag = "--json-model-override-args '{\"max_position_embeddings\": 131072}'"
    assert any(flag in remedy.flags for remedy in first.remedies) is expected


@pytest.mark.parametrize("version", ["0.4.6.post5", "0.5.1", "0.5.11", "0.5.23"])
def test_override_does_what_the_remedy_says(tmp_path: Path, version: str) -> None:
    short = change(LLAMA_EAGLE3, max_position_embeddings=2048)
    words = (*EAGLE3_FLAGS, "--json-model-override-args", '{"max_position_embeddings": 131072}')
    report = check(make_launch(tmp_path, LLAMA, short, *words, engine=f"sglang@{version}"))
    assert found(report, "draft-context-shorter") == []
    assert report.resolved["context_length"].value == 131072
    assert report.resolved["draft_context_length"].value == 131072
