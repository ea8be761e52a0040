"""A parallel layout that does not go with this kind of speculation, or with itself.

## What it checks
`--tp-size`, `--pp-size`, `--dp-size`, `--enable-dp-attention`, `--dcp-size`, `--nnodes` and the
disaggregation flags, among themselves and with the algorithm.

## What the engine does
Pipeline parallelism refuses speculation in all releases up to 0.5.19; 0.5.21 and later allow EAGLE
on PD prefill servers. STANDALONE, NGRAM and (up to 0.5.19) DFLASH refuse DP attention. Sizes that
do not divide each other fail an assertion, some without a text. vLLM divides the attention heads of
target and draft by the tensor-parallel size, takes 1 or the target's size for the draft, and
refuses pipeline parallelism for methods whose runner has none.

## Example
`--pp-size 2 --speculative-algorithm EAGLE3`: `Pipeline parallelism is not compatible with overlap
schedule, speculative decoding, mixed chunked prefill.`

## Fix
Use tensor parallelism instead, or another algorithm; the finding names the two flags.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
SGLang `server_args.py:check_server_args`, `_handle_data_parallelism`,
`_handle_pipeline_parallelism`; `arg_groups/validation_hook.py`; vLLM
`config/model.py:verify_with_parallel_config`, `config/speculative.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="parallelism-unfit",
    summary="a parallel layout that does not go with this kind of speculation, or with itself",
    since="0.1.0",
    engines=("sglang", "vllm"),
    topics=("parallelism.",),
    remedies={
        "parallelism.pipeline-speculative": (Remedy.flag("use --tp-size instead of --pp-size"),),
        "parallelism.pipeline-draft": (
            Remedy.flag("use --tensor-parallel-size instead of --pipeline-parallel-size"),
        ),
        "parallelism.draft-tp": (
            Remedy.flag("give `draft_tensor_parallel_size` 1, or the target's size"),
        ),
        "parallelism.standalone-dp-attention": (Remedy.flag("leave --enable-dp-attention out"),),
        "parallelism.ngram-dp-attention": (Remedy.flag("leave --enable-dp-attention out"),),
    },
)
