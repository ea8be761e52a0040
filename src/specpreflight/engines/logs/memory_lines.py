"""What a start took: seconds and GB of weights, KV cache and CUDA graphs, target and draft apart.

SGLang: `model_executor/model_runner.py`, the KV cache pools and the graph runners; GB as printed.
vLLM: `v1/worker/gpu_model_runner.py`, `gpu_worker.py`, `v1/core/kv_cache_utils.py`; GiB.
"""

from __future__ import annotations

import re
from typing import Any, Final

_NUMBER: Final = r"(-?\d*\.?\d+)"
_USED: Final = re.compile(rf"mem usage={_NUMBER} GB")
_FREE: Final = re.compile(rf"avail(?:able)?[ _](?:gpu_)?mem={_NUMBER} GB")
_ELAPSED: Final = re.compile(rf"(?:[Tt]ime )?elapsed[=:] ?{_NUMBER} s")
_TIMINGS: Final = re.compile(r"\b(\w+)=(\d*\.?\d+)")
_TOKENS: Final = re.compile(r"#tokens: (\d+)")
_VLLM: Final = (
    (re.compile(rf"Model loading took {_NUMBER} GiB(?: memory)? and {_NUMBER} s"),
     ("weights_gib", "weights_seconds")),
    (re.compile(rf"Available KV cache memory: {_NUMBER} GiB"), ("kv_cache_gib",)),
    (re.compile(r"KV cache size: (\d[\d,]*) tokens"), ("kv_cache_tokens",)),
    (re.compile(rf"Graph capturing finished in {_NUMBER} secs, took {_NUMBER} GiB"),
     ("graph_seconds", "graph_gib")),
    (re.compile(rf"init engine \(profile.*? took {_NUMBER} s"), ("init_engine_seconds",)),
)  # fmt: skip


def read_memory(told: dict[str, Any], text: str, *, loads: int, pools: int) -> None:
    """Take what a line of SGLang says of memory and time; the first rank's word counts.

    Args:
        told: what was told so far.
        text: the line.
        loads: how often this rank began to load weights; the second time they are the draft's.
        pools: how many pools of this rank are complete; after the first comes the draft's.
    """
    if text.startswith("Load weight end"):
        _keep(told, f"{_which(loads > 1)}_weights_gb", _USED.search(text))
        _keep(told, f"{_which(loads > 1)}_weights_seconds", _ELAPSED.search(text))
    elif "#tokens: " in text and " is allocated" in text:
        _keep(told, f"{_which(pools > 0)}_kv_tokens", _TOKENS.search(text))
    elif text.startswith("Capture ") and "raph" in text and " end" in text:
        _keep(told, f"{_which('draft' in text)}_graph_gb", _USED.search(text))
        _keep(told, f"{_which('draft' in text)}_graph_seconds", _ELAPSED.search(text))
    elif text.startswith("Engine startup timings"):
        for name, seconds in _TIMINGS.findall(text):
            told[f"{name.removesuffix('_e2e')}_seconds"] = float(seconds)
    if "avail" in text and (match := _FREE.search(text)):
        told["free_gb"] = float(match[1])


def _which(is_draft: bool) -> str:
    return "draft" if is_draft else "target"


def read_vllm_memory(told: dict[str, Any], text: str) -> None:
    """Take what a line of vLLM says of memory and time."""
    if " took " not in text and "KV cache" not in text:
        return
    for pattern, names in _VLLM:
        if match := pattern.search(text):
            for name, number in zip(names, match.groups(), strict=True):
                told.setdefault(name, float(number.replace(",", "")))


def _keep(told: dict[str, Any], name: str, match: re.Match[str] | None) -> None:
    if match and name not in told:
        told[name] = int(match[1]) if match[1].isdecimal() else float(match[1])
