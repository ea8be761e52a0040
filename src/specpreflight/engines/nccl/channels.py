"""How many channels and threads a communicator gets.

Restates `src/graph/connect.cc` (`ncclMinNchannels`, `ncclMaxNchannels`, the "honor MIN/MAX" block
of `ncclTopoPostset`), `src/init.cc` (`envConfigOverride`, `getEnvCtaPolicyOnce`) and
`src/graph/tuning.cc:getNthreads`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specpreflight.engines.nccl.c_text import same_word, strtok, to_int32
from specpreflight.engines.nccl.numbers import read_number
from specpreflight.models.nccl import Release

_UNSET: Final = -(2**31)
_AUTOMATIC: Final = -2
_DEFAULT_CLUSTER: Final = 4
_LARGEST_CLUSTER: Final = 8
#: From here on MIN_CTAS and MAX_CTAS of zero or less are dropped instead of taken.
_LOW_CTAS_IGNORED: Final = Release(2, 25, 1)
_MORE_CHANNELS: Final = Release(2, 25, 1)
_CTA_POLICY: Final = Release(2, 27, 3)
_ZERO_POLICY: Final = Release(2, 28, 3)
_POLICY_WORDS: Final = Release(2, 29, 2)
_DEFAULT, _EFFICIENCY, _ZERO = 0, 1, 2


def largest_channel_count(release: Release) -> int:
    """Return MAXCHANNELS of a release."""
    return 64 if release >= _MORE_CHANNELS else 32


@dataclass(frozen=True, slots=True)
class Channels:
    """The bounds on channels (CTAs) of a communicator whose application passes no configuration.

    `cta_policy` is `None` where the release has no such setting, `nvls_ctas` `None` where NCCL
    decides.
    """

    min_nchannels: int
    max_nchannels: int
    min_ctas: int
    max_ctas: int
    cluster: int
    cta_policy: int | None
    nvls_ctas: int | None

    def count(self, found: int) -> int | None:
        """Return the channel count when the topology search found `found`.

        `None` where NCCL copies outside its arrays (a negative maximum up to 2.24).
        """
        start = min(self.max_nchannels, found, self.max_ctas)
        return None if start < 0 else max(start, self.min_nchannels, self.min_ctas)


def resolve_channels(environment: Mapping[str, str], release: Release) -> Channels:
    """Return the bounds that an environment sets."""

    def number(name: str, default: int) -> int:
        return read_number(environment.get(name), default)

    most = largest_channel_count(release)
    minimum, maximum = 0, most
    for suffix in ("NRINGS", "NCHANNELS"):
        if (low := number(f"NCCL_MIN_{suffix}", _AUTOMATIC)) != _AUTOMATIC:
            minimum = to_int32(low)
        if (high := number(f"NCCL_MAX_{suffix}", _AUTOMATIC)) != _AUTOMATIC:
            maximum = to_int32(high)
    min_ctas, max_ctas = _resolve_ctas(
        to_int32(number("NCCL_MIN_CTAS", _UNSET)),
        to_int32(number("NCCL_MAX_CTAS", _UNSET)),
        most,
        release,
    )
    return Channels(
        min_nchannels=max(min(minimum, most), 0),
        max_nchannels=max(min(maximum, most), 1),
        min_ctas=min_ctas,
        max_ctas=max_ctas,
        cluster=_resolve_cluster(to_int32(number("NCCL_CGA_CLUSTER_SIZE", _UNSET))),
        cta_policy=_resolve_policy(environment.get("NCCL_CTA_POLICY"), release),
        nvls_ctas=_resolve_nvls(to_int32(number("NCCL_NVLS_NCHANNELS", _UNSET)), release),
    )


def _resolve_ctas(low: int, high: int, most: int, release: Release) -> tuple[int, int]:
    def accepted(value: int) -> bool:
        return value != _UNSET and (value > 0 or release < _LOW_CTAS_IGNORED)

    minimum = min(low if accepted(low) else 1, most)
    maximum = min(high if accepted(high) else most, most)
    return min(minimum, maximum), maximum


def _resolve_cluster(size: int) -> int:
    return _DEFAULT_CLUSTER if size < 0 else min(size, _LARGEST_CLUSTER)


def _resolve_nvls(ctas: int, release: Release) -> int | None:
    return ctas if release >= _CTA_POLICY and ctas > 0 else None


def _resolve_policy(text: str | None, release: Release) -> int | None:
    if release < _CTA_POLICY:
        return None
    if release < _POLICY_WORDS:
        policy = to_int32(read_number(text, _UNSET))
        largest = _ZERO if release >= _ZERO_POLICY else _EFFICIENCY
        return policy if _DEFAULT <= policy <= largest else _DEFAULT
    return _policy_of_words(text or "")


def _policy_of_words(text: str) -> int:
    """Read digits of the old form (only the first counts) or words joined by `|`; ZERO wins."""
    if text[:1] in tuple("0123456789"):
        return {"1": _EFFICIENCY, "2": _ZERO}.get(text[0], _DEFAULT)
    policy = _DEFAULT
    for word in strtok(text, "|"):
        policy |= _EFFICIENCY if same_word(word, "EFFICIENCY") else _DEFAULT
        policy |= _ZERO if same_word(word, "ZERO") else _DEFAULT
    return _ZERO if policy & _ZERO else policy


@dataclass(frozen=True, slots=True)
class Threads:
    """CUDA threads per block by algorithm and protocol; `slow` is a ring of 12 GB/s or less."""

    ring_simple: int
    ring_simple_slow: int
    tree_simple: int
    ll: int
    ll128: int


def resolve_threads(environment: Mapping[str, str]) -> Threads:
    """Return the thread counts that NCCL_NTHREADS and NCCL_LL128_NTHREADS lead to."""
    simple = to_int32(read_number(environment.get("NCCL_NTHREADS"), _AUTOMATIC))
    ll128 = to_int32(read_number(environment.get("NCCL_LL128_NTHREADS"), _AUTOMATIC))
    return Threads(
        ring_simple=_threads(simple, 64, 512, 512),
        ring_simple_slow=_threads(simple, 64, 512, 256),
        tree_simple=_threads(simple, 64, 512, 512),
        ll=_threads(simple, 64, 512, 512),
        ll128=_threads(ll128, 160, 640, 640),
    )


def _threads(wanted: int, least: int, most: int, default: int) -> int:
    """Restate `getNthreads`: a wrong multiple of 32 gives the maximum, not the default."""
    if wanted <= 0:
        return default
    if wanted % 32 or wanted > most:
        return most
    return max(wanted, least)
