"""A dtype that torch does not have.

## What it checks
`torch_dtype` / `dtype` of target and draft.

## What the engine does
transformers turns the text into an attribute of torch when it reads the config: an AttributeError.

## Example
`"torch_dtype": "bf16"`: `module 'torch' has no attribute 'bf16'`.

## Fix
Write torch's own name: `bfloat16`, `float16` or `float32`.

## Fix safety
Not written by `--fix`: the name says what the weights are.

## How sure
Proven: the config class's own code.

## References
transformers `configuration_utils.py:PretrainedConfig.__init__`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="dtype-unknown",
    summary="a dtype that torch does not have",
    since="0.1.0",
    topics=("dtype.",),
    remedies={
        "dtype.unknown": (Remedy.manual("write torch's name: bfloat16, float16 or float32"),),
    },
)
