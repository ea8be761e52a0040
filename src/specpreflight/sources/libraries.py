"""Which libraries stand beside an engine: by their metadata folders, never imported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Final

_FOLDER: Final = re.compile(r"(?P<name>[\w.]+)-(?P<version>[^-]+)\.(?:dist|egg)-info")
#: Packages that take part in a launch, by normalised name.
_RELEVANT: Final = re.compile(
    r"(sglang|vllm|torch|transformers|tokenizers|safetensors|huggingface_hub|triton|numpy|xgrammar"
    r"|(sgl|sglang)_kernel|flashinfer_\w+|flash_attn\w*|compressed_tensors|accelerate"
    r"|nvidia_(nccl|cublas|cudnn|cuda_runtime)\w*|cuda_python|deep_gemm|mooncake\w*|outlines\w*)"
)


def find_libraries(site: Path) -> dict[str, str]:
    """Return the versions of the packages in a site-packages folder that matter to a launch."""
    found = {}
    for folder in sorted(site.glob("*-info")):
        match = _FOLDER.fullmatch(folder.name)
        if match is not None:
            name = re.sub(r"[-_.]+", "_", match["name"]).lower()
            if _RELEVANT.fullmatch(name):
                found[name] = match["version"]
    return found


def find_site(package: str, interpreter: str | None = None) -> Path | None:
    """Return the site-packages folder that holds `package`, `None` where none is found.

    Args:
        package: its folder's name, such as `sglang`.
        interpreter: the Python of a launch (`/opt/venv/bin/python`); by default the active
            environment's, then the `python3` of `PATH`.
    """
    for prefix in _prefixes(interpreter):
        for site in sorted(prefix.glob("lib*/python3*/*-packages")):
            if site.joinpath(package).is_dir():
                return site
    return None


def _prefixes(interpreter: str | None) -> Iterator[Path]:
    if interpreter is not None:
        yield Path(interpreter).absolute().parent.parent
        return
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if active:
        yield Path(active)
    python = which("python3")
    if python is not None:
        yield Path(python).absolute().parent.parent
