"""Steps, top-k and draft tokens that contradict each other, or that the engine changes.

## What it checks
`--speculative-num-steps`, `--speculative-eagle-topk` and `--speculative-num-draft-tokens`: which of
them are given together, what the engine makes of them, and whether the tree that they describe has
as many candidates as draft tokens are asked for.

## What the engine does
SGLang chooses all three where none is given. With top-k or draft tokens but no steps a bare
`assert` fails (all releases). With steps but no top-k, from 0.5.1 on, `None > 1` raises a
TypeError. With top-k 1 the draft is a chain, and draft tokens are set to steps + 1 with a line in
the log. With top-k above 1, more draft tokens than `topk + (steps - 1) * topk^2` candidates are not
checked at all: `torch.topk` fails on the first draft with `selected index k out of range`.

## Example
`--speculative-num-steps 2 --speculative-eagle-topk 4 --speculative-num-draft-tokens 32`: the tree
has 20 candidates, 31 are asked for.

## Fix
Give all three, or none. For a chain: top-k 1 and draft tokens = steps + 1.

## Fix safety
Flags are not rewritten by `--fix`; the finding names them.

## How sure
Proven: the engine's own code at this release.

## References
SGLang `server_args.py:_handle_speculative_decoding`, `arg_groups/speculative_hook.py`,
`srt/speculative/eagle_utils.py:organize_draft_results`; sglang#5160.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule, report_event

_ALL_OR_NONE = (
    Remedy(
        "give --speculative-num-steps, --speculative-eagle-topk and"
        " --speculative-num-draft-tokens together, or none of them",
        "flag",
        "placeholder",
    ),
)
_CHAIN = (Remedy.flag("for a chain give --speculative-eagle-topk 1", "--speculative-eagle-topk 1"),)

_REMEDIES = {
    "arguments.parameters-without-steps": _ALL_OR_NONE,
    "arguments.steps-without-topk": _CHAIN,
    "arguments.multi-layer-tokens": _CHAIN,
    "arguments.tree-without-tokens": _ALL_OR_NONE,
}

_TREES = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report what the engine stops on or changes, and trees that are too small."""
    for order, event in RULE.events(resolved):
        given = any(value.value is not None for value in event.values)
        if event.outcome is not Outcome.ADJUSTS or given:
            yield report_event(RULE, order, event, remedies=_REMEDIES.get(event.topic, ()))
    yield from _small_tree(resolved)


def _small_tree(resolved: Resolved) -> Iterator[Finding]:
    names = ("num_steps", "topk", "num_draft_tokens")
    steps, topk, tokens = (resolved.value(name) for name in names)
    if resolved.value("algorithm") not in _TREES:
        return
    if not all(isinstance(number, int) for number in (steps, topk, tokens)) or topk < 2:
        return
    candidates = topk + (steps - 1) * topk * topk
    if tokens - 1 <= candidates:
        return
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        f"{tokens} draft tokens are asked of a tree with {candidates} candidates",
        stage=Stage.WARMUP,
        detail=f"Top-k {topk} over {steps} steps gives {candidates} candidates; the engine selects "
        f"{tokens - 1} of them when it builds the tree, and does not check before.",
        engine_message="selected index k out of range",
        values=tuple(
            Value(name, number, Origin("flag", name=f"--speculative-{flag}"))
            for name, number, flag in zip(
                names,
                (steps, topk, tokens),
                ("num-steps", "eagle-topk", "num-draft-tokens"),
                strict=True,
            )
        ),
        remedies=(
            Remedy.flag(
                f"at most {candidates + 1} draft tokens",
                f"--speculative-num-draft-tokens {candidates + 1}",
            ),
        ),
    )


RULE = Rule(
    name="step-counts-contradict",
    summary="steps, top-k and draft tokens that contradict each other, or that the engine changes",
    since="0.1.0",
    topics=(
        "arguments.parameters-without-steps",
        "arguments.steps-without-topk",
        "arguments.draft-tokens-adjusted",
        "arguments.block-draft-steps",
        "arguments.topk-paged",
        "arguments.multi-layer-tokens",
        "arguments.tree-without-tokens",
    ),
    check=check,
)
