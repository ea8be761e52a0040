"""The mask token of a DFLASH or DSPARK draft has no id, another one, or one without a row.

## What it checks
`mask_token_id` against the rows of the target's embedding and against the target's tokenizer; and
where the draft names no id, which one the tokenizer would give.

## What the engine does
DFLASH (0.5.11 on): an id outside the target's vocabulary, or another than the tokenizer has for
`mask_token` (`<|MASK|>` if the config names none), stops the draft's worker. Without an id the
token is looked up, else added: a vocabulary without a free row stops it too, and with
`--skip-tokenizer-init` nobody can be asked. The keys stand in `dflash_config`; beside it they are
read from 0.5.18 on. DSPARK (0.5.16 on) asks no tokenizer: an id has to be there, and to have a row,
from 0.5.18 on of the padded embedding.

## Example
A DFLASH draft without `mask_token_id` for Llama 3, all of whose 128256 rows are taken: the new
token would be 128256.

## Fix
State the id that the draft was trained with.

## Fix safety
Nothing is edited: another id than the trained one is accepted, and drafts nonsense.

## How sure
Proven for ids that are stated, inferred for the id that a new token would get.

## References
SGLang `srt/speculative/dflash_utils.py`, `dflash_worker.py`, `dflash_worker_v2.py`,
`dspark_components/dspark_config.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

_STATE_IT = Remedy.manual("state the `mask_token_id` that the draft was trained with")

RULE = rule_of_events(
    name="mask-token-unfit",
    summary="the mask token of a block draft has no id, another one, or one without a row",
    since="0.1.0",
    topics=(
        "config.mask-token-conflict",
        "config.mask-token-outside",
        "config.mask-token-unknown",
    ),
    remedies={
        "config.mask-token-conflict": (_STATE_IT,),
        "config.mask-token-outside": (_STATE_IT,),
        "config.mask-token-unknown": (_STATE_IT,),
    },
)
