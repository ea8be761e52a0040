"""Which releases a log can come from.

SGLang prints no version. The fields of its arguments line differ between nearly all releases, and
texts changed with releases; vLLM prints its version on the banner and the engine line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, Final

from specpreflight.models.diagnosis import ReleaseRange

_RELEASE: Final = r"(\d+\.\d+\.\d+(?:\.?post\d+|rc\d+)?)"
#: Images, pip's lines and prints that name SGLang's release, which it never prints itself.
_SGLANG_NAMED: Final = re.compile(
    rf"lmsysorg/sglang:v?{_RELEASE}|\bsglang(?:==|-){_RELEASE}\b|"
    rf"\bsglang(?:\.__version__|[ _]version)\W{{1,4}}v?{_RELEASE}"
)
_LIBRARY: Final = re.compile(
    r"\b(torch|transformers|sgl-kernel|flashinfer-python|flashinfer|xgrammar|triton)"
    r"(?:==|-|[ _]version\W{1,20})v?(\d+\.\d+(?:\.\d+)?(?:\.?post\d+|rc\d+)?(?:\+\w+)?)"
)
_BUILD: Final = re.compile(r"\(v(\d+\.\d+\.\d+\S*?(?:dev|\+g)[\w.+]*)\)|version (\S+\+g\w+)")
_TABLE: Final = Path(__file__).with_name("data") / "server_args_fields.json"

#: Text of a line → the first release that has it and the last (all 57 wheels were searched).
LINES: Final = {
    "Attention backend not set. Use": (None, "0.4.9.post2"),
    "Attention backend not explicitly specified. Use": ("0.4.9.post3", "0.5.6.post2"),
    "Attention backend not specified. Use": ("0.5.7", None),
    "Max running requests is reset to 48": ("0.5.4", None),
    "because of using eagle3 or standalone": ("0.5.4.post1", "0.5.6.post2"),
    "Beta spec is enabled": ("0.5.3.post2", "0.5.6.post2"),
    "Spec v2 is enabled for eagle": ("0.5.7", "0.5.10.post1"),
    "Spec v2 is enabled by default": ("0.5.11", "0.5.12.post1"),
    "Spec v1 is used for eagle": ("0.5.11", "0.5.12.post1"),
    "Overlap spec v2 is enabled": ("0.5.13", "0.5.13.post1"),
    "Non-overlap (synchronous) spec v2": ("0.5.13", None),
    "Mixed chunked prefill is disabled: ": ("0.5.19", None),
    "Init torch distributed ends. elapsed=": ("0.5.9", "0.5.20"),
    "Init torch distributed ends. mem usage=": (None, "0.5.8.post1"),
    "Memory baseline taken.": ("0.5.21", None),
    "Load weight end. elapsed=": ("0.5.9", None),
    "Load weight end. type=": (None, "0.5.8.post1"),
    "KV Cache is allocated. #tokens": (None, "0.5.12.post1"),
    "KV Cache is allocated. dtype": ("0.5.13", None),
    "CUDA graph begin. backend": ("0.5.14", None),
    "Capture draft extend cuda graph begin": ("0.4.7", "0.5.13.post1"),
    "Engine startup timings (s)": ("0.5.17", None),
    "Decode batch. ": (None, "0.5.3.post3"),
    "Decode batch, ": ("0.5.4", None),
    "Decode batch [": ("0.5.4", None),
    "accept rate: ": ("0.5.3.post2", None),
    "#pending-token": ("0.5.11", None),
    "Adaptive spec params updated": ("0.5.11", None),
    "GET /model_info": ("0.5.6", None),
    "Overriding the draft model's max_position_embeddings": ("0.5.3", None),
    "Target model's context_length": ("0.5.1", None),
    "SIGQUIT received. ": ("0.5.3", None),
    "self.soft=": ("0.5.7", None),
    "scheduler is dead. Please check": (None, "0.5.9"),
    "scheduler died during initialization": ("0.5.10", None),
}
#: The same for the files and functions of frames, and for the order of the steps.
FRAMES: Final = {
    "managers/tp_worker_overlap_thread.py": (None, "0.5.3"),
    "speculative/eagle_worker_v2.py": ("0.5.3.post2", None),
    "speculative/eagle_worker.py": (None, "0.5.12.post1"),
    "attention/attention_registry.py": ("0.5.3", None),
    "srt/hf_transformers_utils.py": (None, "0.5.2"),
    "utils/hf_transformers_utils.py": ("0.5.3", None),
    "hf_transformers/common.py": ("0.5.11", None),
    "maybe_init_draft_worker": ("0.5.8", None),
    "arg_groups/speculative_hook.py": ("0.5.13", None),
    "distributed/bootstrap.py": ("0.5.16", None),
    "model_runner_components/": ("0.5.16", None),
    "(the draft's weights before the KV cache)": ("0.5.14", None),
    "(the draft's weights after the KV cache)": (None, "0.5.15.post1"),
}
TEXTS: Final = {**LINES, **FRAMES}


@cache
def _table() -> Any:
    return json.loads(_TABLE.read_text())


def named_release(text: str) -> str | None:
    """Return the release of SGLang that a line names, `None` where it names none."""
    match = _SGLANG_NAMED.search(text) if "sglang" in text else None
    return next(filter(None, match.groups())) if match else None


def named_build(text: str) -> str | None:
    """Return the build with its commit that vLLM prints for what is no release."""
    match = _BUILD.search(text) if "+g" in text or "dev" in text else None
    return (match[1] or match[2]) if match else None


def named_libraries(text: str) -> dict[str, str]:
    """Return the versions of libraries that a line names (pip's, or a print)."""
    if not any(words in text for words in ("==", "version", "installed")):
        return {}
    return dict(_LIBRARY.findall(text.replace("PyTorch", "torch")))


def releases_of_fields(fields: Collection[str], complete: bool) -> ReleaseRange:
    """Return the releases whose `ServerArgs` comes nearest to these fields.

    A patched build has fields of its own, so the nearest count, not only an exact match; of a line
    that was cut, only the fields that a release does not have count against it.
    """
    order, runs = _table()["releases"], _table()["fields"]
    position = {release: place for place, release in enumerate(order)}
    unlike = [0] * len(order)
    seen = {name for name in fields if not name.startswith("_")}
    for name, spans in runs.items():
        if name.startswith("_"):
            continue
        present = [False] * len(order)
        for since, before in spans:
            end = position[before] if before else len(order)
            for place in range(position[since], end):
                present[place] = True
        for place, has in enumerate(present):
            if (name in seen and not has) or (complete and has and name not in seen):
                unlike[place] += 1
    near = [release for release, count in zip(order, unlike, strict=True) if count == min(unlike)]
    return ReleaseRange(near[0], near[-1])


def releases_of_texts(texts: Collection[str]) -> ReleaseRange:
    """Return what the texts that were seen leave of the known releases.

    Where frames contradict the lines (a patched build), the lines count.
    """
    told = _common(texts)
    if told is None:
        told = _common([text for text in texts if text in LINES])
    return told or ReleaseRange()


def _common(texts: Collection[str]) -> ReleaseRange | None:
    """Return the releases that have all of these texts, `None` where there are none."""
    order = _table()["releases"]
    position = {release: place for place, release in enumerate(order)}
    low, high = 0, len(order) - 1
    for text in texts:
        since, until = TEXTS[text]
        low = max(low, position[since] if since else 0)
        high = min(high, position[until] if until else high)
    if low > high or not texts:
        return None
    return ReleaseRange(order[low] if low else None, order[high] if high < len(order) - 1 else None)
