"""The draft inherits a quantisation flag that was meant for the target.

## What it checks
`--quantization` together with a draft whose config names no scheme, or another one, and no
`--speculative-draft-model-quantization`.

## What the engine does
From 0.5.7 the draft's quantisation is `--speculative-draft-model-quantization`, or else
`--quantization`, before always the latter; the target's own `quantization_config` is not inherited.
`fp8` quantises a plain draft while it is loaded (less acceptance, no error). Schemes that need a
serialised checkpoint, such as `modelopt_fp4`, `awq` or `gptq`, fail while the draft is built or
loaded. A draft whose config names another scheme is refused up to 0.5.6.post1, later its own is
used.

## Example
`--quantization modelopt_fp4` for an FP4 target whose NextN layer is bf16.

## Fix
`--speculative-draft-model-quantization unquant` (or the draft's own scheme), or leave
`--quantization` out: the target's config names its scheme anyway.

## Fix safety
Safe: the flag only says what the draft's weights are.

## How sure
Proven that the flag is inherited; what a scheme does with plain weights differs and is inferred.

## References
SGLang `srt/server_args.py` (`speculative_draft_model_quantization`),
`srt/configs/model_config.py:_verify_quantization`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import (
    Confidence,
    Finding,
    Origin,
    Outcome,
    Remedy,
    Stage,
    Value,
)
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_OWN = "speculative-draft-model-quantization"
#: Schemes that quantise plain weights while they are loaded.
_ONLINE = frozenset({"fp8", "w8a8_fp8", "w8a8_int8", "mxfp8", "int4fp8_moe", "mxfp4", "torchao"})


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the inherited flag with what the draft says of itself."""
    draft, flag = launch.draft, launch.flags.get("quantization")
    if draft is None or not isinstance(flag, str) or launch.flags.get(_OWN) is not None:
        return
    if launch.flags.get("speculative-algorithm") is None:
        return
    stated = draft.config.get("/quantization_config/quant_method")
    if stated == flag:
        return
    online = flag in _ONLINE and stated is None
    what = f"names `{stated}`" if stated else "names no scheme"
    outcome = Outcome.DEGRADES if online or stated else Outcome.CRASHES
    yield Finding(
        RULE.name,
        outcome,
        f"the draft inherits `--quantization {flag}`, its config {what}",
        stage=Stage.WEIGHTS if outcome is Outcome.CRASHES else Stage.SERVING,
        confidence=Confidence.PROVEN if online else Confidence.INFERRED,
        detail=(
            "Its weights are quantised while they are loaded, which costs acceptance."
            if online
            else "The scheme expects packed weights and scales, which the draft does not have."
            if stated is None
            else "From 0.5.6.post2 the draft's own scheme is used; before, the launch is refused."
        ),
        values=(
            Value("--quantization", flag, Origin("flag", name="--quantization")),
            draft.value("draft", "/quantization_config"),
        ),
        remedies=(_remedy(launch, stated if isinstance(stated, str) else "unquant"),),
    )


def _remedy(launch: Launch, method: str) -> Remedy:
    """Return the flag that the draft has of its own from 0.5.7 on, else what is left."""
    from packaging.version import InvalidVersion, Version

    try:
        has_flag = Version(launch.engine.version) >= Version("0.5.7")
    except InvalidVersion:
        has_flag = True
    if not has_flag:
        return Remedy.flag("leave --quantization out; the target's config names its scheme")
    flag = f"--{_OWN} {method}"
    return Remedy.flag(f"say what the draft's weights are: {flag}", flag)


RULE = Rule(
    name="quantization-inherited",
    summary="the draft inherits a quantisation flag that was meant for the target",
    since="0.1.0",
    needs=("draft.config",),
    check=check,
)
