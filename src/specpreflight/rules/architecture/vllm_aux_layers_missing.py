"""The draft wants states of layers that the target does not have.

## What it checks
The layers that the runner of this release reads from the draft's config
(`eagle_aux_hidden_state_layer_ids`, `dflash_config.target_layer_ids`, …, with the runner's own
offset) against the target's `num_hidden_layers`.

## What the engine does
A state is taken before the layer of that number, so that one past the last never comes. The draft's
first product then has too few columns: `mat1 and mat2 shapes cannot be multiplied`, at warm-up or,
with runner V1 and DFlash, at the first decode.

## Example
`z-lab/Qwen3-4B-DFlash-b16`, whose ids go to 33, for a Qwen3.5-4B target of 32 layers.

## Fix
Use the draft that was made for this target.

## Fix safety
Nothing is edited.

## How sure
Proven: which layers are read; the message is from a public report.

## References
vLLM `v1/worker/gpu_model_runner.py`, `model_executor/models/interfaces.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-aux-layers-missing",
    summary="the draft wants states of layers that the target does not have",
    since="0.1.0",
    engines=("vllm",),
    topics=("architecture.aux-layers-missing",),
    remedies={
        "architecture.aux-layers-missing": (
            Remedy.manual("use a draft that was trained on this target"),
        )
    },
)
