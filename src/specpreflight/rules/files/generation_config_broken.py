"""`generation_config.json` can't be used: its stop tokens and sampling defaults are lost.

## What it checks
Whether the file, where there is one, is a JSON object.

## What the engine does
SGLang (from 0.4.9.post2) and vLLM read it for the ids that end a text (`eos_token_id`) and for the
default temperature, top-k and top-p. A file that is no JSON, not UTF-8 or unreadable counts as
absent, without a message: texts may not end where the model's authors meant, and requests without
sampling parameters get the engine's own. JSON that is no object stops the launch with a TypeError,
of target and draft alike.

## Example
`"temperature": 0.6.` with a full stop after the number, as it was once published.

## Fix
Correct the file, or copy it from the original repository.

## Fix safety
Nothing is edited: a broken file does not say what was meant.

## How sure
Proven: the engines' `get_generation_config` and transformers 4.54 to 5.19.

## References
meta-llama/llama#691; SGLang `srt/utils/hf_transformers_utils.py:get_generation_config`,
`srt/configs/model_config.py:_get_hf_eos_token_id`; vLLM
`transformers_utils/config.py:try_get_generation_config`; transformers
`generation/configuration_utils.py:GenerationConfig.from_pretrained`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specpreflight.models.checkpoint import Checkpoint, Problem
from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Severity, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_NAME: Final = "generation_config.json"
_FIRST_SGLANG: Final = "0.4.9.post2"


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a broken file of the target, and of the draft where it would stop the launch."""
    if launch.engine.name == "sglang" and not _reads_it(launch.engine.version):
        return
    for checkpoint in (launch.target, launch.draft):
        if checkpoint is None or _NAME not in checkpoint.files:
            continue
        problem: Problem | None = checkpoint.facts["generation_config"]()
        if problem is None:
            continue
        if problem.kind == "not-object":
            yield _stops(checkpoint, problem)
        elif checkpoint.role == "target":
            yield _lost(checkpoint, problem)


def _reads_it(version: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version) >= Version(_FIRST_SGLANG)
    except InvalidVersion:
        return True


def _stops(checkpoint: Checkpoint, problem: Problem) -> Finding:
    draft = checkpoint.role == "draft"
    return Finding(
        RULE.name,
        Outcome.REFUSES,
        f"`{_NAME}` of the {checkpoint.role} {problem.message}"[:100],
        stage=Stage.DRAFT_CONFIG if draft else Stage.TARGET_CONFIG,
        engine_message="TypeError",
        values=(_value(checkpoint),),
        remedies=_REMEDIES,
    )


def _lost(checkpoint: Checkpoint, problem: Problem) -> Finding:
    return Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"`{_NAME}` of the {checkpoint.role} {problem.message}"[:100],
        severity=Severity.WARNING,
        stage=Stage.TARGET_CONFIG,
        detail="The engine goes on as if the file were not there: its stop tokens and its sampling "
        "defaults do not apply.",
        values=(_value(checkpoint),),
        remedies=_REMEDIES,
    )


def _value(checkpoint: Checkpoint) -> Value:
    path = f"{checkpoint.given.rstrip('/')}/{_NAME}"
    return Value(checkpoint.role, _NAME, Origin("file", path=path))


_REMEDIES = (Remedy(f"correct `{_NAME}`", "manual", "placeholder"),)

RULE = Rule(
    name="generation-config-broken",
    summary="`generation_config.json` can't be used: its stop tokens and defaults are lost",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
