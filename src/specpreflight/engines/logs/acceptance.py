"""Acceptance: how many tokens a verification step brought, from the periodic lines.

SGLang's `accept len` includes the bonus token in every release. Its `accept rate` counts the bonus
from 0.5.3.post2 to 0.5.9 (nothing accepted prints 1 / draft tokens) and leaves it out later. vLLM's
mean length lacks the bonus in 0.8 (0.00 is nothing accepted) and includes it since 0.9
(`v1/spec_decode/metrics.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

#: Every line is read up to so many; beyond, a few of each block.
MOST_SAMPLES: Final = 20_000

_SGLANG: Final = re.compile(rb"accept len: ([\d.]+)(?:, accept rate: ([\d.]+))?")
_VLLM: Final = re.compile(
    rb"SpecDecoding metrics:[^\n]*?Mean acceptance length: ([\d.]+)[^\n]*?"
    rb"Accepted: (\d+) tokens, Drafted: (\d+) tokens"
)


def read_samples(block: bytes, most: int) -> list[tuple[float, float | None, int]]:
    """Return (length, rate, drafted tokens or 1) of the first `most` lines that tell them."""
    found: list[tuple[float, float | None, int]] = []
    if b"accept len: " in block:
        for match in _SGLANG.finditer(block):
            found.append((float(match[1]), float(match[2]) if match[2] else None, 1))
            if len(found) >= most:
                break
    elif b"SpecDecoding metrics" in block:
        for match in _VLLM.finditer(block):
            drafted = int(match[3])
            if drafted:
                found.append((float(match[1]), int(match[2]) / drafted, drafted))
    return found


def mean(samples: Sequence[tuple[float, float | None, int]]) -> tuple[float | None, float | None]:
    """Return the mean length and rate, weighted by the drafted tokens where they are told."""
    samples = samples[1:] if len(samples) > 5 else samples
    weight = sum(sample[2] for sample in samples)
    if not weight:
        return None, None
    length = sum(sample[0] * sample[2] for sample in samples) / weight
    rates = [(rate, count) for _, rate, count in samples if rate is not None]
    counted = sum(count for _, count in rates)
    rate = sum(rate * count for rate, count in rates) / counted if counted else None
    return round(length, 3), None if rate is None else round(rate, 4)


def silent_fault(length: float | None, count: int, nothing: float) -> str | None:
    """Return what is wrong with a length, `nothing` being that of a draft that is never accepted.

    A few lines of a warm-up prove nothing, so at least three are asked for.
    """
    if length is None or count < 3:
        return None
    if length <= nothing + 0.05:
        return "no-acceptance"
    return "little-acceptance" if length <= nothing + 0.3 else None
