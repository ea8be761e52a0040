"""The MTP layer is quantised otherwise than the rest of its checkpoint says.

## What it checks
Whether the tensors of the target's MTP (NextN) layer have scales, against the checkpoint's
`quantization_config`, its list of layers that are left out, and `--quantization`.

## What the engine does
The head is built with the target's scheme, unless the class or `--speculative-draft-model-
quantization unquant` says otherwise (DeepSeek NextN and Qwen3.5 drop `modelopt_fp4`). Plain
weights under an fp8 scheme leave the scales unset; under a packed scheme the shapes clash while the
head is loaded. Packed weights under an ignore list that covers the layer clash the other way round.

## Example
An FP4 export of GLM-4.7 with a bf16 MTP layer, and `--quantization modelopt_fp4`.

## Fix
`--speculative-draft-model-quantization unquant` for a plain layer; for a packed one an export whose
ignore list is right.

## Fix safety
Safe: the flag only says what the layer's weights are.

## How sure
Proven where the head's loader is restated; for other classes inferred.

## References
sglang#17166; SGLang `srt/server_args.py` (`speculative_draft_model_quantization`),
`srt/models/deepseek_nextn.py`, `srt/models/qwen3_5_mtp.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.draft_format import has_mtp_layers
from specpreflight.models.finding import Confidence, Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import loader_of, names_of
from specpreflight.rules.rule import Rule

_OWN = "speculative-draft-model-quantization"
_SCALED = re.compile(r"\.(weight_scale(_inv|_2)?|weight_packed|qweight|scales)$")
_LEFT_OUT = ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the layer's tensors with what it would be built as."""
    target = launch.target
    if target is None or launch.draft is not None or launch.flags.get(_OWN) is not None:
        return
    if launch.flags.get("speculative-algorithm") is None or not has_mtp_layers(target):
        return
    names, method = names_of(target), _method(launch, target)
    if names is None or method is None:
        return
    layer = [name for name in names if _is_mtp(name, target)]
    scaled, left_out = any(map(_SCALED.search, layer)), _left_out(target)
    forced = launch.flags.get("quantization") is not None
    agrees = left_out is None if scaled else left_out is not None and not forced
    if not layer or agrees:
        return
    yield from _judge(launch, resolved, target, method, scaled)


def _judge(
    launch: Launch, resolved: Resolved, target: Checkpoint, method: str, scaled: bool
) -> Iterator[Finding]:
    report = loader_of(resolved)
    restated = report is not None and bool(report.taken)
    unset = report is not None and any("scale" in each.parameter for each in report.lost)
    if restated and report is not None and report.error is None and not unset:
        return
    what = (
        "scales and is left out of the scheme" if scaled else f"no scales, the scheme is {method}"
    )
    flags = () if scaled else (f"--{_OWN}", "unquant")
    yield Finding(
        RULE.name,
        Outcome.ACCEPTS_NOTHING if restated and unset else Outcome.CRASHES,
        f"the MTP layer has {what}",
        stage=Stage.SERVING if restated and unset else Stage.WEIGHTS,
        confidence=Confidence.PROVEN if restated else Confidence.INFERRED,
        detail="The head is built with the target's scheme, and its weights do not follow it.",
        values=tuple(_shown(launch, target)),
        remedies=(
            Remedy(
                "use an export whose ignore list is right" if scaled else "leave the head plain",
                "manual" if scaled else "flag",
                "placeholder" if scaled else "safe",
                flags=flags,
            ),
        ),
    )


def _method(launch: Launch, target: Checkpoint) -> str | None:
    """Return the scheme that the head would be built with."""
    stated = target.config.get("/quantization_config/quant_method")
    flag = launch.flags.get("quantization")
    found = stated if isinstance(stated, str) else flag
    return found if isinstance(found, str) else None


def _is_mtp(name: str, target: Checkpoint) -> bool:
    layer = target.text.get("num_hidden_layers")
    return f".layers.{layer}." in name or bool(re.search(r"(^|\.)(mtp|mtp_layers)\.", name))


def _left_out(target: Checkpoint) -> str | None:
    """Return the entry of the scheme's ignore list that covers the layer, `None` without one."""
    stated: Any = target.config.get("/quantization_config")
    layer = target.text.get("num_hidden_layers")
    for key in _LEFT_OUT:
        entries = stated.get(key) if isinstance(stated, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            text = str(entry)
            if "mtp" in text or "nextn" in text or f"layers.{layer}" in text:
                return text
    return None


def _shown(launch: Launch, target: Checkpoint) -> Iterator[Value]:
    yield target.value("scheme", "/quantization_config/quant_method")
    flag = launch.flags.get("quantization")
    if flag is not None:
        yield Value("--quantization", flag, Origin("flag", name="--quantization"))


RULE = Rule(
    name="mtp-quantization-differs",
    summary="the MTP layer is quantised otherwise than the rest of its checkpoint says",
    since="0.1.0",
    needs=("target.config", "target.weights"),
    check=check,
)
