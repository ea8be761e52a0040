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

#: Text of a line or a frame → the first release that has it and the last.
TEXTS: Final = {
    "Init torch distributed ends. elapsed=": ("0.5.9", "0.5.20"),
    "Init torch distributed ends. mem usage=": (None, "0.5.8.post1"),
    "Memory baseline taken.": ("0.5.21", None),
    "Load weight end. elapsed=": ("0.5.9", None),
    "Load weight end. type=": (None, "0.5.8.post1"),
    "KV Cache is allocated. #tokens": (None, "0.5.12.post1"),
    "Decode batch. ": (None, "0.5.3.post3"),
    "Decode batch, ": ("0.5.4", None),
    "Decode batch [": ("0.5.4", None),
    "accept rate: ": ("0.5.3.post2", None),
    "scheduler died during initialization": ("0.5.10", None),
    "Spec v2 is enabled for eagle": ("0.5.7", "0.5.10.post1"),
    "Spec v1 is used for eagle": ("0.5.11", "0.5.12.post1"),
    "arg_groups/speculative_hook.py": ("0.5.13", None),
    "maybe_init_draft_worker": ("0.5.8", None),
    "distributed/bootstrap.py": ("0.5.16", None),
}


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
    """Return what the texts that were seen leave of the known releases."""
    order = _table()["releases"]
    position = {release: place for place, release in enumerate(order)}
    low, high = 0, len(order) - 1
    for text in texts:
        since, until = TEXTS[text]
        low = max(low, position[since] if since else 0)
        high = min(high, position[until] if until else high)
    if low > high or not texts:
        return ReleaseRange()
    return ReleaseRange(order[low] if low else None, order[high] if high < len(order) - 1 else None)
