"""How the GPUs of one machine reach each other."""

from __future__ import annotations

from typing import Final

from specpreflight.models.frozen import dataclass

#: Path types from nearest to farthest; NVLink (`NV18`) and XGMI come before all of them.
DISTANCE: Final = ("PIX", "PXB", "PHB", "NODE", "SYS")


@dataclass(frozen=True, slots=True)
class Topology:
    """The matrix of `nvidia-smi topo -m` or AMD's tool.

    Attributes:
        tool: what printed it (`nvidia-smi topo -m`, `nvidia-smi topo -mp`, `rocm-smi`).
        links: GPU by GPU, the path type as printed (`X` on the diagonal).
        sockets: groups of GPUs by CPU, or `None` where the listing cannot say.
        nics: names of network devices, where listed.
    """

    tool: str
    links: tuple[tuple[str, ...], ...]
    sockets: int | None = None
    nics: tuple[str, ...] = ()

    @property
    def farthest(self) -> str | None:
        """The worst PCIe path between two GPUs, `None` where every pair has a direct link."""
        seen = {link for row in self.links for link in row}
        return next((path for path in reversed(DISTANCE) if path in seen), None)

    @property
    def gpus_without_nvlink(self) -> tuple[int, ...]:
        """Indices of GPUs with no NVLink to any other."""
        return tuple(
            index
            for index, row in enumerate(self.links)
            if not any(link.startswith("NV") for link in row)
        )
