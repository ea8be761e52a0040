"""The FIFO of each connection, by protocol, and the chunk of send and receive.

Restates `src/init.cc:computeBuffSizes` on one node without NVLink between all GPUs. Sizes are
bytes; none is checked, and each is narrowed to C's `int`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specpreflight.engines.nccl.c_text import to_int32
from specpreflight.engines.nccl.numbers import read_number
from specpreflight.models.nccl import Release

_AUTOMATIC: Final = -2
_STEPS: Final = 8
LL: Final = 524288
LL128: Final = 4915200
SIMPLE: Final = 4194304
_P2P_PCI_CHUNK: Final = 131072
#: From here on a chunk may not be larger than an eighth of the Simple buffer.
_CHUNK_IS_CAPPED: Final = Release(2, 19, 1)


@dataclass(frozen=True, slots=True)
class Buffers:
    """Bytes per connection for each protocol, and the bytes of a send/receive chunk."""

    ll: int
    ll128: int
    simple: int
    p2p_chunk: int


def resolve_buffers(environment: Mapping[str, str], release: Release) -> Buffers:
    """Return the sizes that an environment sets."""

    def size(name: str, default: int) -> int:
        wanted = read_number(environment.get(name), _AUTOMATIC)
        return default if wanted == _AUTOMATIC else to_int32(wanted)

    simple = size("NCCL_BUFFSIZE", SIMPLE)
    chunk = to_int32(read_number(environment.get("NCCL_P2P_PCI_CHUNKSIZE"), _P2P_PCI_CHUNK))
    if release >= _CHUNK_IS_CAPPED and to_int32(chunk * _STEPS) > simple:
        chunk = int(simple / _STEPS)
    return Buffers(
        ll=size("NCCL_LL_BUFFSIZE", LL),
        ll128=size("NCCL_LL128_BUFFSIZE", LL128),
        simple=simple,
        p2p_chunk=chunk,
    )
