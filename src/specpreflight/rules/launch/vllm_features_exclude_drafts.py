"""A feature that vLLM does not combine with this launch.

## What it checks
`--kv-sharing-fast-prefill` beside drafts that read the target's hidden states, and `--enable-dbo`
without a back end that can.

## What the engine does
Both are refused once the whole configuration is put together, after both configs were read.

## Example
`--kv-sharing-fast-prefill` with method `eagle3`: `Fast prefill optimization for KV sharing is not
compatible with EAGLE`.

## Fix
Leave the flag out.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/vllm.py:VllmConfig.__post_init__`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-features-exclude-drafts",
    summary="a feature that vLLM does not combine with this launch",
    since="0.1.0",
    engines=("vllm",),
    topics=(
        "arguments.fast-prefill",
        "arguments.microbatching",
    ),
    remedies={
        "arguments.fast-prefill": (Remedy.flag("leave --kv-sharing-fast-prefill out"),),
        "arguments.microbatching": (
            Remedy.flag("leave --enable-dbo out, or choose another --all2all-backend"),
        ),
    },
)
