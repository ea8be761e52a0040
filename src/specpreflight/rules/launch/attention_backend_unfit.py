"""An attention backend that this machine, model or kind of speculation cannot use.

## What it checks
`--attention-backend`, `--prefill-attention-backend`, `--decode-attention-backend` and the backend
that the release chooses by itself, against the GPU (where `--hardware` tells it), the KV cache's
type and speculation.

## What the engine does
SGLang resolves the backend before it looks at speculation, and refuses combinations one by one:
trtllm_mla and trtllm_mha need Blackwell (later releases Hopper too), flex_attention does not
speculate, fa4 only prefills in some releases, some backends need a certain KV cache type. In vLLM
a draft takes over the back end that is given for the target (runner V1 up to 0.20, V2 still), so
that an MLA back end stops a draft without MLA when its layers are built.

## Example
`--attention-backend flex_attention --speculative-algorithm EAGLE3`: `AssertionError: Speculative
decoding is currently not supported with Flex Attention backend`.

## Fix
Choose one of the backends that the message names, or leave the flag out.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release; where it depends on the GPU and none is given, the
finding is left out and the setting is listed as unknown.

## References
SGLang `server_args.py:_handle_attention_backend_compatibility`, `arg_groups/attention_hook.py`,
`srt/layers/attention/attention_registry.py`; vLLM `platforms/cuda.py:get_attn_backend_cls`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="attention-backend-unfit",
    summary="an attention backend that this machine, model or kind of speculation cannot use",
    since="0.1.0",
    engines=("sglang", "vllm"),
    topics=("attention.",),
    remedies={
        "attention.draft-backend": (
            Remedy.flag("leave --attention-backend out, or give the draft its own where it can"),
        ),
        "attention.flex-attention": (
            Remedy.flag("choose another --attention-backend, such as triton"),
        ),
        "attention.backend-hardware": (
            Remedy.flag("leave the backend to the engine, or choose another"),
        ),
        "attention.backend-prefill-only": (
            Remedy.flag("let it prefill only", "--prefill-attention-backend fa4"),
        ),
    },
)
