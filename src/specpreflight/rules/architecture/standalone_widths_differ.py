"""A standalone draft of another hidden size meets the target's states when batches merge.

## What it checks
For STANDALONE: `hidden_size` of both models, on the releases and schedulers that mix their hidden
states.

## What the engine does
A standalone draft needs no hidden states of the target, so any hidden size will do, with one gap:
from 0.5.2 to 0.5.11 a batch whose requests have all finished leaves an empty tensor of the target's
width, while a new batch brings the draft's. The scheduler puts the two together as soon as a
request waits at that moment, and the server dies. Spec v2 (opt-in from 0.5.8, the default in
0.5.11) merges indices instead; 0.5.12 leaves no tensor.

## Example
Llama-3.1-8B (4096) with Llama-3.2-1B (2048) on 0.5.9: it serves one request after another, and dies
under concurrency with `Sizes of tensors must match except in dimension 0`.

## Fix
Use 0.5.12 or later; or serve one request at a time (`--max-running-requests 1`), where nothing is
ever merged.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release; the message is that of the report.

## References
SGLang `srt/speculative/eagle_info.py:EagleDraftInput.merge_batch`, `EagleVerifyInput.verify`,
`srt/managers/scheduler.py:get_next_batch_to_run`; sglang#24215, #14563, #24217.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="standalone-widths-differ",
    summary="a standalone draft of another hidden size crashes when batches merge",
    since="0.1.0",
    topics=("serving.standalone-widths",),
    remedies={
        "serving.standalone-widths": (
            Remedy.manual("use SGLang 0.5.12 or later"),
            Remedy(
                "or serve one request at a time",
                "flag",
                "unsafe",
                flags=("--max-running-requests 1",),
            ),
        ),
    },
)
