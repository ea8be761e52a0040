"""A `model_type` that the engine's transformers release does not know.

## What it checks
`model_type` of target and draft against the config classes of the transformers release that the
engine pins, and the engine's own. A config without `model_type` is of no known type either.

## What the engine does
`AutoConfig.from_pretrained` raises a ValueError. For the target this happens while the arguments
are handled; for the draft in the target's runner or the draft worker, from 0.5.12 on while the
arguments are handled. vLLM reads both configs while it handles the arguments, in every release.

## Example
A Kimi-K2.6 MLA draft with `model_type` `kimi_k2` on a release that does not register it: `The
checkpoint you are trying to load has model type kimi_k2 but Transformers does not recognize this
architecture`.

## Fix
Use a release that knows the type; or, where the checkpoint brings its own code, give
`--trust-remote-code`.

## Fix safety
Nothing is edited: another type is another model.

## How sure
Proven: the tables of that transformers release and the engine's own registrations.

## References
transformers `models/auto/configuration_auto.py`; SGLang `srt/utils/hf_transformers_utils.py`
(`_CONFIG_REGISTRY`); vLLM `transformers_utils/config.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="model-type-unknown",
    summary="a `model_type` that the engine's transformers release does not know",
    since="0.1.0",
    engines=("sglang", "vllm"),
    topics=("config.unknown-model-type", "config.missing-model-type"),
    remedies={
        "config.unknown-model-type": (
            Remedy.manual("use an engine release that knows this model type"),
        ),
        "config.missing-model-type": (
            Remedy.manual("write the `model_type` of the class that the weights belong to"),
        ),
    },
)
