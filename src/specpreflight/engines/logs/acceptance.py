"""Serving: how many tokens a verification step brought and how fast, from the periodic lines.

SGLang's `accept len` includes the bonus token in every release. Its `accept rate` counts the bonus
from 0.5.3.post2 to 0.5.9 (nothing accepted prints 1 / draft tokens) and leaves it out later. vLLM's
mean length lacks the bonus in 0.8 (0.00 is nothing accepted) and includes it since 0.9
(`v1/spec_decode/metrics.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import fsum
from typing import Final, NamedTuple

#: Every line is read up to so many; beyond, one of so many bytes.
_MOST_SAMPLES: Final = 20_000
_BYTES_A_SAMPLE: Final = 1 << 16
#: A length falls when what is accepted in the last quarter is less than this share of the first.
_FALLEN: Final = 0.6

_SGLANG: Final = re.compile(rb"accept len: (\d+\.?\d*)(?:, accept rate: (\d+\.?\d*))?")
_SGLANG_PLAIN: Final = re.compile(rb"gen throughput \(token/s\): (\d+\.?\d*)")
_RUNNING: Final = re.compile(rb"#running-req: (\d+)")
_VLLM: Final = re.compile(
    rb"SpecDecoding metrics:(?: Draft acceptance rate: [^\n]*?,)? Mean acceptance length: "
    rb"(\d+\.?\d*)[^\n]*?Accepted: (\d+) tokens, Drafted: (\d+) tokens"
)
_VLLM_V0: Final = re.compile(
    rb"Speculative metrics: [^\n]*?Number of speculative tokens: (\d+), Number of accepted "
    rb"tokens: (\d+), Number of draft tokens: (\d+)"
)
_VLLM_SPEED: Final = re.compile(
    rb"Avg generation throughput: (\d+\.?\d*) tokens/s, Running: (\d+) "
)


class Sample(NamedTuple):
    """One periodic line: tokens a step, share accepted, drafted tokens (or 1)."""

    length: float
    rate: float | None
    weight: int


class Speed(NamedTuple):
    """Generated tokens a second, and the requests that shared them (`None`: not told)."""

    tokens: float
    running: int | None


def samples_of(block: bytes, known: int) -> int:
    """Return how many lines of a block are to be read where `known` were before."""
    return max(_MOST_SAMPLES - known, len(block) // _BYTES_A_SAMPLE)


def read_samples(block: bytes, most: int) -> list[Sample]:
    """Return the first `most` lines that tell an acceptance length."""
    found: list[Sample] = []
    if not most:
        return found
    if b"accept len: " in block:
        for match in _SGLANG.finditer(block):
            found.append(Sample(float(match[1]), float(match[2]) if match[2] else None, 1))
            if len(found) >= most:
                break
    elif b"SpecDecoding metrics" in block:
        for match in _VLLM.finditer(block):
            if drafted := int(match[3]):
                found.append(Sample(float(match[1]), int(match[2]) / drafted, drafted))
            if len(found) >= most:
                break
    elif b"Speculative metrics: " in block:
        for match in _VLLM_V0.finditer(block):
            steps, accepted, drafted = map(int, match.groups())
            if drafted:
                rate = accepted / drafted
                found.append(Sample(1 + rate * steps, rate, drafted))
    return found


def read_speeds(block: bytes, most: int) -> list[Speed]:
    """Return the first `most` lines that tell a throughput while requests are running."""
    found: list[Speed] = []
    if not most:
        return found
    pattern = _VLLM_SPEED if b"Avg generation throughput: " in block else _SGLANG_PLAIN
    for match in pattern.finditer(block):
        if pattern is _VLLM_SPEED:
            running: int | None = int(match[2])
        else:
            start = block.rfind(b"\n", 0, match.start()) + 1
            told = _RUNNING.search(block, start, match.start())
            running = int(told[1]) if told else None
        if running != 0:
            found.append(Speed(float(match[1]), running))
        if len(found) >= most:
            break
    return found


def mean(samples: Sequence[Sample]) -> tuple[float | None, float | None]:
    """Return the mean length and rate, weighted by the drafted tokens where they are told."""
    samples = samples[1:] if len(samples) > 5 else samples
    weight = sum(sample.weight for sample in samples)
    if not weight:
        return None, None
    length = fsum(sample.length * sample.weight for sample in samples) / weight
    rates = [(sample.rate, sample.weight) for sample in samples if sample.rate is not None]
    counted = sum(count for _, count in rates)
    rate = fsum(rate * count for rate, count in rates) / counted if counted else None
    return round(length, 3), None if rate is None else round(rate, 4)


def mean_speed(speeds: Sequence[Speed]) -> tuple[float | None, float | None]:
    """Return the mean tokens a second, of all requests and of one."""
    speeds = speeds[1:] if len(speeds) > 5 else speeds
    if not speeds:
        return None, None
    total = fsum(speed.tokens for speed in speeds) / len(speeds)
    shared = [speed.tokens / speed.running for speed in speeds if speed.running]
    return round(total, 2), round(fsum(shared) / len(shared), 2) if shared else None


def silent_fault(length: float | None, count: int, nothing: float) -> str | None:
    """Return what is wrong with a length, `nothing` being that of a draft that is never accepted.

    A few lines of a warm-up prove nothing, so at least three are asked for.
    """
    if length is None or count < 3:
        return None
    if length <= nothing + 0.05:
        return "no-acceptance"
    return "little-acceptance" if length <= nothing + 0.3 else None


def is_falling(lengths: Sequence[float], nothing: float) -> bool:
    """Whether the draft brings far less at the end than at the start, over at least 16 lines."""
    quarter = len(lengths) // 4
    if quarter < 4:
        return False
    first = fsum(lengths[:quarter]) / quarter - nothing
    last = fsum(lengths[-quarter:]) / quarter - nothing
    return first > 0.3 and last < _FALLEN * first
