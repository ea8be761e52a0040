"""`--hardware local`: ask this machine's own tools, and its kernel for network devices."""

from __future__ import annotations

import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Final

from specpreflight.errors import InputError
from specpreflight.models.launch import Hardware
from specpreflight.sources.topology import read_listing

_TOOLS: Final = {
    "nvidia-smi": (
        ("nvidia-smi", "--query-gpu=index,name,memory.total", "--format=csv"),
        ("nvidia-smi", "topo", "-m"),
    ),
    "rocm-smi": (("rocm-smi", "--showtopo"),),
}
_SECONDS: Final = 30
_ADAPTERS: Final = Path("/sys/class/infiniband")


def read_local_hardware(adapters: Path = _ADAPTERS) -> Hardware:
    """Return what `nvidia-smi` (or `rocm-smi`) and the kernel say of this machine.

    Raises:
        InputError: neither tool is there, or it fails.
    """
    for tool, commands in _TOOLS.items():
        try:
            listing = "\n".join(_output(command) for command in commands)
        except FileNotFoundError:
            continue
        return replace(
            read_listing(listing, tool),
            interfaces=tuple(name for _, name in socket.if_nameindex()),
            hcas=_ports(adapters),
        )
    raise InputError(
        "--hardware local: neither nvidia-smi nor rocm-smi is on the PATH",
        hint="name a machine (--hardware h100) or a file with a saved listing",
    )


def _output(command: tuple[str, ...]) -> str:
    words = " ".join(command)
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"`{words}` does not answer within {_SECONDS} s") from None
    except PermissionError:
        raise InputError(f"`{words}` may not be executed") from None
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"`{words}` failed: {said[0] if said else f'exit {done.returncode}'}")
    return done.stdout.decode("utf-8", "replace")


def _ports(adapters: Path) -> tuple[str, ...]:
    return tuple(
        f"{port.parents[1].name}:{port.name}" for port in sorted(adapters.glob("*/ports/*"))
    )
