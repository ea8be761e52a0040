"""The machine that a prediction is for, and the machines it stands for where none is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from specpreflight.models.launch import Hardware


class Machine(NamedTuple):
    """One kind of machine, as SGLang's argument handling asks about it.

    CUDA is taken to be new enough for the GPU (12.3 for Hopper, 12.8 for Blackwell), and
    FlashInfer to be installed, as it is with every default installation.

    Attributes:
        name: for the report, where outcomes differ between machines.
        capability: CUDA's `(major, minor)`; `(0, 0)` without an NVIDIA GPU.
        memory_mib: one GPU's memory in MiB, `None` where the engine could not find it out.
        platform: `cuda` or `rocm`.
    """

    name: str
    capability: tuple[int, int]
    memory_mib: int | None
    platform: str = "cuda"

    @property
    def is_rocm(self) -> bool:
        """`is_hip()`: an AMD GPU."""
        return self.platform in ("rocm", "hip")

    @property
    def is_cuda(self) -> bool:
        """`is_cuda()`: an NVIDIA GPU."""
        return self.platform == "cuda"

    @property
    def is_sm90(self) -> bool:
        """Hopper: `is_sm90_supported`, `is_hopper_with_cuda_12_3`."""
        return self.is_cuda and self.capability[0] == 9

    @property
    def is_sm100(self) -> bool:
        """Data-centre Blackwell: `is_sm100_supported`."""
        return self.is_cuda and self.capability[0] == 10

    @property
    def is_sm120(self) -> bool:
        """Workstation Blackwell: `is_sm120_supported`."""
        return self.is_cuda and self.capability[0] == 12

    @property
    def is_blackwell(self) -> bool:
        """`is_blackwell_supported`; it includes compute capability 11 from 0.5.9 on."""
        return self.is_cuda and self.capability[0] in (10, 11, 12)


#: One machine of each kind that the engine tells apart, for a launch that names none.
TYPICAL: tuple[Machine, ...] = (
    Machine("Hopper (H100)", (9, 0), 81559),
    Machine("Blackwell SM100 (B200)", (10, 0), 183359),
    Machine("Blackwell SM120 (RTX PRO 6000)", (12, 0), 97887),
    Machine("Ampere (A100)", (8, 0), 81920),
)


#: The sizes in which GPUs of a kind come, in MiB, where the engine's defaults tell them apart.
MEMORIES: Mapping[tuple[int, int], tuple[int, ...]] = {
    (8, 0): (40960, 81920),
    (8, 6): (24576, 49140),
    (8, 9): (24564, 46068),
    (9, 0): (81559,),
    (10, 0): (183359,),
    (12, 0): (32607, 97887),
}


def possible_machines(hardware: Hardware) -> tuple[Machine, ...]:
    """Return the machines that a launch may run on: one where it is known, else one of each kind.

    Where several are possible, a prediction is made for each; what they agree on is known.
    """
    if hardware.platform not in ("cuda", ""):
        return (Machine(hardware.platform, (0, 0), hardware.memory_mib, hardware.platform),)
    if hardware.capability is None:
        return TYPICAL
    name = hardware.profile or hardware.gpu or "sm{}{}".format(*hardware.capability)
    if hardware.memory_mib is not None:
        return (Machine(name, hardware.capability, hardware.memory_mib),)
    sizes = MEMORIES.get(hardware.capability, (81920,))
    if len(sizes) == 1:
        return (Machine(name, hardware.capability, sizes[0]),)
    return tuple(
        Machine(f"{name}, {size // 1024} GiB", hardware.capability, size) for size in sizes
    )
