"""The runner does not read the layers that the draft's config names.

## What it checks
`eagle_aux_hidden_state_layer_ids` of an EAGLE-3 draft, at the top of its config and inside
`eagle_config`, against what the runner of this launch reads.

## What the engine does
Up to 0.11.0 no runner reads them. Then V1 reads the top of the config, from 0.22 on also
`eagle_config`; V2 reads other places than V1. What is not read is replaced by the layers 2, n/2 and
n-3 of the target: the draft gets hidden states that it was not trained on, and few of its tokens
are accepted.

## Example
A draft trained on layers 3, 9 and 20, written inside `eagle_config`, on 0.20.2: the target gives
the layers 2, 16 and 29.

## Fix
Write the ids at the top of the draft's config, or use a release that reads them.

## Fix safety
Nothing is edited.

## How sure
Proven from the source of both runners; how many tokens are lost depends on the draft.

## References
vLLM `v1/worker/gpu_model_runner.py:_get_eagle3_aux_layers_from_config`,
`v1/worker/gpu/spec_decode/eagle/eagle3_utils.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-aux-layers-ignored",
    summary="the runner does not read the layers that the draft's config names",
    since="0.1.0",
    engines=("vllm",),
    topics=("architecture.aux-layers-ignored",),
    remedies={
        "architecture.aux-layers-ignored": (
            Remedy.manual("write the ids where this release reads them: at the top of the config"),
        ),
    },
)
