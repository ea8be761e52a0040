"""Lines that the engines print and people overlook: words of the line → a short name.

From the logging calls of the wheels (SGLang: `server_args.py`, `arg_groups/speculative_hook.py`,
`configs/model_config.py`, `speculative/`; vLLM: `config/`, `v1/worker/`, `v1/spec_decode/`).
"""

from __future__ import annotations

from typing import Final

#: The first line of each kind is kept, with its text.
OVERLOOKED: Final = {
    "Overriding the draft model's max_position_embeddings": "draft-context-overridden",
    "speculative_num_draft_tokens is adjusted": "draft-tokens-adjusted",
    "Max running requests is reset to 48": "running-requests-reset",
    "Overlap scheduler is disabled": "overlap-disabled",
    "Mixed chunked prefill is disabled": "mixed-chunk-disabled",
    "Speculative token map specified, but EAGLE3": "token-map-ignored",
    "may have correctness issue": "correctness-doubted",
    "block size mismatch": "block-size-mismatch",
    "gamma mismatch": "gamma-mismatch",
    "draft worker only supports attention_backend": "draft-backend-replaced",
    "Falling back to greedy verification": "greedy-verification",
    "Overriding draft model max": "draft-length-overridden",
    "can't skip speculation for longer sequences": "length-cut-to-draft",
    "which may result in lower acceptance rate": "mtp-layer-run-again",
    "Async scheduling not supported": "async-scheduling-off",
    "Async scheduling is not yet supported": "async-scheduling-off",
    "auxiliary layers from model": "aux-layers-guessed",
    "weights were not initialized": "weights-not-initialized",
    "newly initialized": "weights-not-initialized",
    "not found in params_dict": "weights-dropped",
    "Unrecognized keys in `rope_parameters`": "rope-keys-unrecognized",
    "You are using a model of type": "model-type-replaced",
    "Performance might be sub-optimal": "kernel-config-missing",
    "The speed can be slower than": "quantization-slow",
    "KV cache pool is full": "requests-retracted",
    "Decode out of memory happened": "requests-retracted",
    "Custom allreduce is disabled": "custom-allreduce-off",
    "fall back to eager": "eager-fallback",
    "falling back to eager": "eager-fallback",
    "Cudagraph is disabled": "graphs-off",
    "CUDA graph is disabled": "graphs-off",
}
