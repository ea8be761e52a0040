"""A tree of drafts (top-k above 1) with a page size or attention backend that cannot run it.

## What it checks
`--speculative-eagle-topk` above 1 together with `--page-size` above 1, or with an attention
backend that drafts chains only.

## What the engine does
SGLang 0.5.2 refuses pages of more than one token for a tree unless the backend is flashinfer; from
0.5.6 fa3 is allowed too, from 0.5.13 triton. Some backends force a page size (flashmla 64,
cutlass_mla 128, trtllm 64), so naming the backend is enough to be refused. `trtllm_mha` takes only
top-k 1; `SGLANG_ENABLE_SPEC_V2` in 0.5.7 to 0.5.9 as well.

## Example
`--attention-backend triton --page-size 64 --speculative-eagle-topk 4` on 0.5.9: `ValueError:
speculative_eagle_topk > 1 with page_size > 1 is unstable and produces incorrect results`.

## Fix
`--speculative-eagle-topk 1`, or `--page-size 1`, or one of the backends that the message names.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
SGLang `server_args.py:_handle_speculative_decoding`, `_handle_page_size`;
`arg_groups/speculative_hook.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="topk-needs-other-backend",
    summary="a tree of drafts (top-k above 1) with a page size or backend that cannot run it",
    since="0.1.0",
    topics=(
        "cache.topk-paged",
        "cache.paged-flashinfer",
        "attention.trtllm-mha-topk",
        "arguments.spec-v2-topk",
        "arguments.mtp-topk",
        "arguments.ngram-topk",
    ),
    remedies={
        "cache.topk-paged": (
            Remedy.flag("draft a chain: --speculative-eagle-topk 1", "--speculative-eagle-topk 1"),
            Remedy.flag("or use pages of one token: --page-size 1", "--page-size 1"),
        ),
        "cache.paged-flashinfer": (
            Remedy.flag("use pages of one token: --page-size 1", "--page-size 1"),
        ),
        "attention.trtllm-mha-topk": (
            Remedy.flag("draft a chain: --speculative-eagle-topk 1", "--speculative-eagle-topk 1"),
            Remedy.flag("or choose another --attention-backend"),
        ),
        "arguments.spec-v2-topk": (
            Remedy.flag("draft a chain: --speculative-eagle-topk 1", "--speculative-eagle-topk 1"),
            Remedy(
                "or leave spec v2 off",
                "environment",
                "safe",
                environment={"SGLANG_ENABLE_SPEC_V2": "0"},
            ),
        ),
    },
)
