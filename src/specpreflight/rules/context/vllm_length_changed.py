"""vLLM serves another length than the configs say.

## What it checks
What the release makes of the two lengths: which of them it lowers or raises in memory.

## What the engine does
The draft never gets more than the target. From 0.27 on an EAGLE draft's `max_position_embeddings`
is raised to the target's length in memory, from 0.33 on every draft's whose RoPE type only sizes
its table with it; another short draft then lowers what runner V2 serves. `--hf-overrides` given as
a dictionary reach the target alone. With `max_model_len` in the speculative config runner V1 stops
drafting past it.

## Example
A YaRN draft of 131072 for a target of 262144 on 0.33.0 with runner V2: vLLM serves 131072.

## Fix
Raise the draft's length where the target's is wanted.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/speculative.py`, `config/vllm.py:_limit_max_model_len_to_draft`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-length-changed",
    summary="vLLM serves another length than the configs say",
    since="0.1.0",
    engines=("vllm",),
    topics=(
        "context.draft-positions-raised",
        "context.draft-length-lowered",
        "context.target-length-lowered",
        "context.draft-length-given",
        "context.overrides-not-inherited",
    ),
    remedies={
        "context.draft-length-given": (
            Remedy.flag("leave `max_model_len` out of the speculative config"),
        ),
    },
    notes=True,
)
