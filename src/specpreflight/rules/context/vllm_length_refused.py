"""A length is asked for that target or draft does not have.

## What it checks
`--max-model-len` against the length that vLLM derives from the target's config, and `max_model_len`
of the speculative config against both models.

## What the engine does
The derived length is the least of all keys that hold one, times the RoPE factor where that counts.
A longer one is refused unless `VLLM_ALLOW_LONG_MAX_MODEL_LEN` is set. `max_model_len` of the
speculative config may exceed neither the draft nor the target. `-1` means automatic from 0.14 on,
and is refused by 0.11.1 to 0.13.

## Example
`--max-model-len 262144` for a target of 131072: `User-specified max_model_len (262144) is greater
than the derived max_model_len`.

## Fix
Ask for no more than the finding names. The variable forces it: the model then runs on positions
that it was not trained on.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/model.py:_get_and_verify_max_len`,
`config/speculative.py:_maybe_override_draft_max_model_len`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-length-refused",
    summary="a length is asked for that target or draft does not have",
    since="0.1.0",
    engines=("vllm",),
    topics=(
        "context.target-length-exceeded",
        "context.draft-length-exceeded",
        "context.speculative-length-exceeded",
        "arguments.length-invalid",
    ),
    remedies={
        "context.target-length-exceeded": (
            Remedy.flag("leave --max-model-len out, or lower it to the target's own length"),
            Remedy(
                "or force it, beyond what the target was trained on",
                "environment",
                "unsafe",
                environment={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"},
            ),
        ),
        "context.speculative-length-exceeded": (
            Remedy.flag("lower `max_model_len` of the speculative config, or leave it out"),
        ),
        "arguments.length-invalid": (Remedy.flag("leave --max-model-len out"),),
    },
)
