"""The ways out of a failure that its message alone can tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_CONTEXT: Final = (
    "set `max_position_embeddings` to {target_context} in the draft's config.json"
    " (`specpreflight check TARGET DRAFT --fix`)",
    "or start with SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1, which keeps the draft's file as it"
    " is",
)
_REMEDIES: Final[Mapping[str, tuple[str, ...]]] = {
    "L-CTX-DRAFT": _CONTEXT,
    "L-CTX-DRAFT-EARLY": _CONTEXT,
    "L-CTX-TARGET": ("lower `--context-length` to {target_context}",),
    "L-VL-MAXLEN": ("lower `--max-model-len` to {target_context}",),
    "L-BK-MLA": (
        "give the draft a backend of its own: `--speculative-draft-attention-backend`",
    ),
    "L-ARG-NONE": ("add {missing_flag}",),
    "L-ARG-BARE": ("add {missing_flag}, or give none of the three numbers",),
    "L-E3-IFACE": ("use a release, or a target class, that can capture EAGLE-3 layers",),
    "L-CFG-MODELTYPE": (
        "give the config a `model_type` that this transformers release knows, or upgrade it",
    ),
    "L-CFG-TRUST": ("add `--trust-remote-code`",),
    "L-MEM-VLKV": (
        "lower `--max-model-len` to {estimated_max} or less, or raise `--gpu-memory-utilization`",
    ),
    "L-MEM-GRAPH": (
        "lower `--mem-fraction-static` (it is {mem_fraction_static}) or `--cuda-graph-max-bs`",
    ),
    "L-MEM-TKV": ("raise `--mem-fraction-static`",),
    "L-NCCL-SYS": ("read NCCL's last error; for /dev/shm give the container more shared memory",),
    "L-DIST-TIMEOUT": ("look at the rank that did not get as far as the others",),
}  # fmt: skip


def remedies(cause: str | None, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what to do, leaving out what needs a value that the log does not tell."""
    found = []
    for text in _REMEDIES.get(cause or "", ()):
        try:
            found.append(text.format_map(values))
        except KeyError:
            continue
    return tuple(found)
