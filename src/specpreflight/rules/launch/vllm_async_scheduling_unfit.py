"""Asynchronous scheduling and this method exclude each other.

## What it checks
`--async-scheduling` beside the speculative method, padded drafting and the executor.

## What the engine does
Up to 0.11.0 any speculation refuses the flag; later releases refuse it for methods other than EAGLE
and MTP, and with `disable_padded_drafter_batch`. Where it is on by default vLLM turns it off, which
costs throughput.

## Example
`--async-scheduling` with method `ngram`: `Currently, async scheduling is only supported with
EAGLE/MTP kind of speculative decoding`.

## Fix
Leave the flag out, or take a method that goes with it.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/vllm.py:VllmConfig.__post_init__`, `engine/arg_utils.py` up to 0.11.0.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-async-scheduling-unfit",
    summary="asynchronous scheduling and this method exclude each other",
    since="0.1.0",
    engines=("vllm",),
    topics=(
        "arguments.async-scheduling",
        "launch.async-scheduling-off",
    ),
    remedies={
        "arguments.async-scheduling": (Remedy.flag("leave --async-scheduling out"),),
    },
    notes=True,
)
