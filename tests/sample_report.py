"""One report with everything that a report can show, for the tests of all formats."""

from __future__ import annotations

from specpreflight.models.beside import Beside
from specpreflight.models.change import Change, Consequence, Since
from specpreflight.models.finding import (
    MISSING,
    Confidence,
    Edit,
    Finding,
    Ignored,
    Origin,
    Outcome,
    Remedy,
    Severity,
    Skipped,
    Stage,
    Value,
)
from specpreflight.models.idle import Idle
from specpreflight.models.report import EngineUsed, Inputs, Report, Summary, Verdict
from specpreflight.models.resolved import ResolvedValue

POINTER = "/max_position_embeddings"

SHORTER = Finding(
    rule="draft-context-shorter",
    outcome=Outcome.CRASHES,
    stage=Stage.DRAFT_CONFIG,
    severity=Severity.ERROR,
    message="the draft's context length 131072 is shorter than the target's 262144",
    detail="The draft worker is given the target's length and refuses one above its own.",
    engine_message="Warning: Target model's context_length (262144) is greater than the derived "
    "context_length (131072).",
    values=(
        Value("draft", 131072, Origin("file", "d/config.json", POINTER, 4, 30, 36)),
        Value(
            "target", 262144, Origin("file", "t/config.json", "/text_config" + POINTER, 9, 32, 38)
        ),
    ),
    remedies=(
        Remedy(
            "set `max_position_embeddings` to 262144",
            "edit",
            "safe",
            edits=(Edit("d/config.json", POINTER, 131072, 262144),),
        ),
        Remedy(
            "launch with --context-length 131072",
            "flag",
            "safe",
            flags=("--context-length 131072",),
        ),
    ),
    fingerprint="0123456789abcdef",
    order=3,
)

THETA = Finding(
    rule="rope-theta-differs",
    outcome=Outcome.STARTS,
    severity=Severity.NOTE,
    confidence=Confidence.INFERRED,
    message="`rope_theta` of the draft is 1000000.0, of the target 50000.0",
    ignored=Ignored("trained like this", "--ignore"),
    fingerprint="fedcba9876543210",
)

SINCE = Since(
    "launch.lock.json",
    (
        Change(
            "draft",
            "max_position_embeddings",
            262144,
            131072,
            (Consequence("worse", "the launch crashes now", SHORTER.rule),),
        ),
        Change("environment", "NCCL_PROTO", MISSING, "LL", note="set by this shell"),
        Change("draft", "model.safetensors", "a", "b", note="file"),
    ),
    (Consequence("better", "gone is an <error> of | before", "vocab-size-differs"),),
)

SAMPLE = Report(
    engine=EngineUsed("sglang", "0.5.11", "--engine"),
    verdict=Verdict(
        Outcome.CRASHES,
        Stage.DRAFT_CONFIG,
        f"SGLang 0.5.11 crashes when the draft's config is read: {SHORTER.message}",
    ),
    findings=(SHORTER, THETA),
    skipped=(Skipped("lm-head-missing", "draft.weights", "no safetensors files here"),),
    resolved={"context_length": ResolvedValue(262144, "the target's max_position_embeddings")},
    inputs=Inputs("t", "d", {"speculative-num-steps": "3"}, {"NCCL_PROTO": "LL"}, {}),
    summary=Summary(errors=1, notes=1, ignored=1, skipped=1, fixable=1),
    since=SINCE,
    excerpts={
        ("d/config.json", 4): '  "max_position_embeddings": 131072,',
        ("t/config.json", 9): '    "max_position_embeddings": 262144,',
    },
)

BESIDE = Beside(
    failed=["x for t: WorkerError: the process that checked it was ended"],
    unreadable=[("closed", "permission denied")],
    unpaired=[("alone", "no target here")],
    idle=(
        Idle(
            "expired",
            "conf/specpreflight.toml:7",
            "a-rule",
            "the ignore of `a-rule` ended on 2026-01-31",
        ),
        Idle(
            "unasked",
            "--ignore b-rule",
            "b-rule",
            "the ignore of `b-rule` is for no launch that was found",
        ),
        Idle("gone", "known.json", "draft-context-shorter", "`draft-context-shorter` of e is gone"),
    ),
)
