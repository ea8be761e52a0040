"""A speculative config that vLLM does not take as it is written.

## What it checks
`--speculative-config`, its dotted form (`--speculative-config.method eagle3`), `-sc` and, from 0.22
on, `--spec-method`, `--spec-model`, `--spec-tokens`: that it is a JSON object, that the release has
every key, and that pydantic takes every value.

## What the engine does
Up to 0.15 a key that the release does not have is dropped without a word; from 0.16 on it stops
with `Unexpected keyword argument`. Which keys there are changes with nearly every release; from
0.26 on hyphens count as underscores. A value of the wrong type stops with pydantic's message. A
flag of the short form and the same key in the JSON exclude each other.

## Example
`--speculative-config '{"model": "D", "num_spec_tokens": 3}'`: `Unexpected keyword argument`.

## Fix
Write the key as the release has it; the finding names the nearest one.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/speculative.py:SpeculativeConfig`, `engine/arg_utils.py:create_speculative_config`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-speculative-config-invalid",
    summary="a speculative config that vLLM does not take as it is written",
    since="0.1.0",
    engines=("vllm",),
    topics=(
        "arguments.speculative-key-unknown",
        "arguments.speculative-key-ignored",
        "arguments.speculative-value-invalid",
        "arguments.speculative-not-an-object",
        "arguments.given-twice",
    ),
    remedies={
        "arguments.speculative-key-unknown": (
            Remedy.flag("write a key that this release has, or leave it out"),
        ),
        "arguments.speculative-key-ignored": (
            Remedy.flag("leave the key out, or write the one that is meant"),
        ),
        "arguments.given-twice": (Remedy.flag("give the value once"),),
    },
)
