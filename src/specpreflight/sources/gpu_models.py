"""GPU models by product name, and the machine profiles that `--hardware NAME` knows.

Only facts that NVIDIA's own tools print or that SGLang's recorded launches used; what is not sure
stays `None`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from specpreflight.models.launch import Hardware


@dataclass(frozen=True, slots=True)
class GpuModel:
    """CUDA capability of a model, and whether it can have NVLink at all (`None`: some have)."""

    capability: tuple[int, int] | None = None
    nvlink: bool | None = None


_MODELS: Final = (
    (re.compile(r"\bG?B300\b"), GpuModel((10, 3))),
    (re.compile(r"\bG?B200\b"), GpuModel((10, 0))),
    (re.compile(r"\bGB10\b"), GpuModel((12, 1), nvlink=False)),
    (re.compile(r"\b(G?H200|GH200|H100|H800|H20)\b"), GpuModel((9, 0))),
    (re.compile(r"\bRTX PRO \d+|\bRTX 50\d0\b"), GpuModel((12, 0), nvlink=False)),
    (re.compile(r"\bL40S?\b|\bL4\b|\bRTX 40\d0\b|\bRTX \d+ Ada\b"), GpuModel((8, 9), nvlink=False)),
    (re.compile(r"\bA10G?\b"), GpuModel((8, 6), nvlink=False)),
    (re.compile(r"\bA40\b|\bRTX A\d000\b|\bRTX 30\d0\b"), GpuModel((8, 6))),
    (re.compile(r"\bA100\b|\bA800\b|\bA30\b"), GpuModel((8, 0))),
    (re.compile(r"\bT4\b"), GpuModel((7, 5), nvlink=False)),
    (re.compile(r"\bV100\b"), GpuModel((7, 0))),
)


def describe_gpu(name: str) -> GpuModel:
    """Return what a product name (`NVIDIA L40S`, `A100-SXM4-80GB`) says; unknown facts `None`."""
    return next((model for pattern, model in _MODELS if pattern.search(name)), GpuModel())


def _node(
    profile: str,
    gpu: str,
    capability: tuple[int, int] | None,
    memory_mib: int | None,
    *,
    nvlink: bool | None,
    gpus: int = 8,
    platform: str = "cuda",
) -> Hardware:
    return Hardware(profile, gpu, capability, memory_mib, gpus, 1, nvlink, platform)


#: One node each, of eight GPUs where nothing else is said.
PROFILES: Final[dict[str, Hardware]] = {
    str(known.profile): known
    for known in (
        _node("h100", "NVIDIA H100 80GB HBM3", (9, 0), 81559, nvlink=True),
        _node("h200", "NVIDIA H200", (9, 0), 143771, nvlink=True),
        _node("h800", "NVIDIA H800", (9, 0), 81559, nvlink=True),
        _node("h20", "NVIDIA H20", (9, 0), None, nvlink=True),
        _node("a100", "NVIDIA A100-SXM4-80GB", (8, 0), 81920, nvlink=True),
        _node("b200", "NVIDIA B200", (10, 0), 183359, nvlink=True),
        _node("b300", "NVIDIA B300", (10, 3), None, nvlink=True),
        _node("gb200", "NVIDIA GB200", (10, 0), None, nvlink=True, gpus=4),
        _node("gb300", "NVIDIA GB300", (10, 3), None, nvlink=True, gpus=4),
        _node("gb10", "NVIDIA GB10", (12, 1), None, nvlink=False, gpus=1),
        _node("l40s", "NVIDIA L40S", (8, 9), 46068, nvlink=False),
        _node("l4", "NVIDIA L4", (8, 9), None, nvlink=False),
        _node("rtx-4090", "NVIDIA GeForce RTX 4090", (8, 9), 24564, nvlink=False),
        _node("rtx-5090", "NVIDIA GeForce RTX 5090", (12, 0), 32607, nvlink=False),
        _node(
            "rtx-pro-6000",
            "NVIDIA RTX PRO 6000 Blackwell Server Edition",
            (12, 0),
            97887,
            nvlink=False,
        ),
        _node("mi300x", "AMD Instinct MI300X", None, None, nvlink=False, platform="rocm"),
        _node("mi325x", "AMD Instinct MI325X", None, None, nvlink=False, platform="rocm"),
        _node("mi355x", "AMD Instinct MI355X", None, None, nvlink=False, platform="rocm"),
    )
}
