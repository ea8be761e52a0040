"""A feature of the server that does not go with this kind of speculation.

## What it checks
Features that are switched on beside speculation: LoRA, mixed chunked prefill, priority scheduling,
PD multiplexing, compiled models, rejection sampling and block verification, adaptive steps.

## What the engine does
SGLang refuses each pair by name, and the list changes with nearly every release: LoRA went with
NGRAM only up to 0.5.16; mixed chunks are dropped without asking up to 0.5.18 and kept later;
rejection sampling wants top-k 1, untouched acceptance thresholds and a draft that speaks the
target's whole vocabulary.

## Example
`--lora-paths … --speculative-algorithm EAGLE3` on 0.5.11: `Currently LoRA is only compatible with
NGRAM speculative decoding.`

## Fix
Switch one of the two off; the finding names the flag.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
SGLang `server_args.py:check_server_args`, `arg_groups/speculative_hook.py`,
`arg_groups/validation_hook.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

_SAMPLING = (Remedy.flag("leave --speculative-use-rejection-sampling out"),)

RULE = rule_of_events(
    name="feature-excludes-drafts",
    summary="a feature of the server that does not go with this kind of speculation",
    since="0.1.0",
    topics=(
        "arguments.lora",
        "arguments.lora-speculative",
        "arguments.mixed-chunk",
        "arguments.priority-scheduling",
        "arguments.pd-multiplexing",
        "arguments.compile-without-padding",
        "arguments.rejection-sampling",
        "arguments.rejection-sampling-vocabulary",
        "arguments.block-verification",
        "arguments.adaptive-steps",
        "arguments.skip-dp-mlp-sync",
        "arguments.draft-moe-runner",
    ),
    remedies={
        "arguments.lora-speculative": (Remedy.flag("leave LoRA or the speculative algorithm out"),),
        "arguments.mixed-chunk": (Remedy.flag("leave --enable-mixed-chunk out"),),
        "arguments.priority-scheduling": (Remedy.flag("leave --enable-priority-scheduling out"),),
        "arguments.pd-multiplexing": (Remedy.flag("leave --enable-pdmux out"),),
        "arguments.rejection-sampling": _SAMPLING,
        "arguments.rejection-sampling-vocabulary": _SAMPLING,
        "arguments.block-verification": (
            Remedy.flag("leave --speculative-use-block-verification out"),
        ),
        "arguments.skip-dp-mlp-sync": (Remedy.flag("leave --speculative-skip-dp-mlp-sync out"),),
    },
)
