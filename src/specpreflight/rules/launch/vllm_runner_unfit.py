"""The model runner of this launch cannot do what is asked of it.

## What it checks
Which of vLLM's two model runners takes the launch, by release, `VLLM_USE_V2_MODEL_RUNNER`, target
and method, and what that runner cannot do.

## What the engine does
Up to 0.21 V2 runs only with the variable; from 0.22 on it is the default for some launches, from
0.29 on for all that it can run. Where the default lacks something, vLLM falls back to V1 with a
line in the log; where the variable chose the runner, it stops. The two treat drafts differently: V1
stops drafting past the draft's length, V2 drafts on.

## Example
`VLLM_USE_V2_MODEL_RUNNER=1` with method `suffix`: `Model Runner V2 does not yet support: …`.

## Fix
Leave the variable out, or give it 0.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/vllm.py:VllmConfig.use_v2_model_runner`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-runner-unfit",
    summary="the model runner of this launch cannot do what is asked of it",
    since="0.1.0",
    engines=("vllm",),
    topics=(
        "launch.model-runner-unsupported",
        "launch.model-runner-fallback",
    ),
    remedies={
        "launch.model-runner-unsupported": (
            Remedy(
                "leave the choice of the runner to vLLM",
                "environment",
                "safe",
                environment={"VLLM_USE_V2_MODEL_RUNNER": "0"},
            ),
        ),
    },
    notes=True,
)
