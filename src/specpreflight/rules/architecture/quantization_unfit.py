"""A quantisation method that this release does not know, or that a flag contradicts.

## What it checks
`quantization_config` of target and draft and the `--quantization` flags, as the release's own check
takes them.

## What the engine does
`ModelConfig._verify_quantization` raises a ValueError for an unknown method and where flag and
checkpoint disagree. Up to 0.5.5.post3 the draft is held to the target's flag too; from 0.5.6.post1
on the draft's own method wins. vLLM never holds a draft to the target's flag (`quantization` of the
speculative config is the draft's own), and from 0.14 on refuses methods that it deprecated unless
`--allow-deprecated-quantization` is given.

## Example
`--quantization fp8` on an AWQ checkpoint: `Quantization method specified in the model config (awq)
does not match the quantization method specified in the quantization argument (fp8).`

## Fix
Leave the flag out: the checkpoint states its method. For the draft,
`--speculative-draft-model-quantization` (0.5.7 on).

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
SGLang `srt/configs/model_config.py:_verify_quantization`, `srt/layers/quantization/__init__.py`;
vLLM `config/model.py:_verify_quantization`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="quantization-unfit",
    summary="a quantisation method that this release does not know, or that a flag contradicts",
    since="0.1.0",
    engines=("sglang", "vllm"),
    topics=("quantization.",),
    remedies={
        "quantization.mismatch": (
            Remedy.flag("leave --quantization out; the checkpoint states its method"),
        ),
        "quantization.target-refused": (
            Remedy.flag("leave --quantization out, or give the checkpoint's own method"),
        ),
        "quantization.draft-refused": (
            Remedy.flag("leave `quantization` out of the speculative config"),
        ),
        "quantization.unknown": (
            Remedy.manual("use a checkpoint in a method that this release has"),
        ),
    },
)
