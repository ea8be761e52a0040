"""Which differences between two launches can explain which failures."""

from __future__ import annotations

import re
from typing import Final

#: Start of a cause's id → pattern of the arguments that bear on it, and how.
_ARGUMENTS: Final = (
    ("L-CTX", r"context_length|max_model_len|model_path|model|speculative_config|"
     r"json_model_override_args", "the lengths come from it"),
    ("L-MEM", r"mem_fraction_static|gpu_memory_utilization|cuda_graph_(?:max_)?bs|kv_cache_dtype|"
     r"max_running_requests|max_num_seqs|context_length|max_model_len|tp_size|tensor_parallel_size|"
     r"speculative_\w*(?:steps|topk|tokens)|quantization|chunked_prefill_size",
     "it decides how much memory is left"),
    ("L-NCCL", r"tp_size|tensor_parallel_size|nnodes|dist_init_addr|dp_size|ep_size|base_gpu_id",
     "it decides which ranks connect"),
    ("L-DIST", r"tp_size|tensor_parallel_size|nnodes|dist_init_addr|dist_timeout|dp_size|ep_size",
     "it decides which ranks connect"),
    ("L-BK", r"\w*attention_backend|page_size|speculative_eagle_topk|kv_cache_dtype",
     "it chooses the attention backend, or what that must do"),
    ("L-ARG", r"speculative_\w+|page_size|attention_backend|disable_overlap_schedule|pp_size",
     "the refused arguments are among these"),
    ("L-SHAPE", r"speculative_\w+|dtype|quantization|kv_cache_dtype|tp_size|model_path|model",
     "it decides the shapes or dtypes"),
    ("L-HOTTOK", r"speculative_\w+", "it chooses the draft or its token map"),
    ("L-TOPK", r"speculative_\w+", "it decides the tree of drafts"),
    ("L-W", r"\w*model_path|\w*revision|\w*quantization|speculative_config|load_format|model",
     "it decides which tensors are loaded, and into what"),
    ("L-E3", r"\w*model_path|speculative_\w+|model", "it chooses target, draft or algorithm"),
    ("L-CFG", r"\w*model_path|\w*revision|trust_remote_code|speculative_\w+|model|tp_size",
     "it chooses the config that is read, or how"),
    ("L-HUB", r"\w*model_path|\w*revision|model|download_dir", "it names what is fetched"),
    ("L-OS-PORT", r"port|nccl_port", "it is the port"),
    ("L-RUN", r"speculative_\w+|disable_radix_cache|page_size|watchdog_timeout", "a known class"),
)  # fmt: skip
_OF_ACCEPTANCE: Final = re.compile(
    r"speculative_(?!draft_attention)\w+|model_path|model|quantization|dtype|kv_cache_dtype|"
    r"attention_backend|revision"
)
#: The same for variables, libraries, releases and facts of a start.
_FACTS: Final = (
    ("L-NCCL", r"NCCL_\w+|CUDA_VISIBLE_DEVICES|release", "NCCL reads it"),
    ("L-DIST", r"NCCL_\w+|TORCH_NCCL_\w+|CUDA_VISIBLE_DEVICES", "NCCL reads it"),
    ("L-MEM", r"target_weights_gb|draft_weights_gb|weights_gib|PYTORCH_\w+|target_kv_tokens|"
     r"draft_kv_tokens", "it takes or leaves memory"),
    ("L-CFG", r"transformers|release", "it decides which configs are known"),
    ("L-ENV", r"torch|sgl-kernel|flashinfer\S*|release", "the libraries have to fit each other"),
    ("L-HUB", r"HF_\w+", "the Hub's client reads it"),
    ("L-ARG", r"release", "what arguments are taken differs between releases"),
    ("L-E3", r"release", "what target classes can do differs between releases"),
    ("L-BK", r"release", "what backends can do differs between releases"),
)  # fmt: skip


def explain_argument(name: str, cause: str | None, silent_fault: str | None) -> str | None:
    """Return how an argument that differs bears on a failure, `None` where it does not."""
    if cause is None:
        bears = silent_fault is not None and _OF_ACCEPTANCE.fullmatch(name)
        return "it decides what the draft proposes" if bears else None
    return _find(_ARGUMENTS, name, cause)


def explain_fact(name: str, cause: str | None) -> str | None:
    """Return how a variable, a library or a release that differs bears on a failure."""
    return _find(_FACTS, name, cause) if cause else None


def _find(table: tuple[tuple[str, str, str], ...], name: str, cause: str) -> str | None:
    for start, pattern, words in table:
        if cause.startswith(start) and re.fullmatch(pattern, name):
            return words
    return None
