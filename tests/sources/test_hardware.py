"""`--hardware`: profiles, facts, files, and this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specpreflight.errors import InputError, UsageError
from specpreflight.sources.gpu_models import PROFILES
from specpreflight.sources.hardware import read_hardware

MATRIX = "        GPU0    GPU1\nGPU0     X      PHB\nGPU1    PHB      X\n"


@pytest.mark.parametrize(
    ("name", "capability", "memory_mib", "gpus"),
    [
        ("h100", (9, 0), 81559, 8),
        ("b200", (10, 0), 183359, 8),
        ("rtx-pro-6000", (12, 0), 97887, None),
    ],
)
def test_a_profile(
    name: str, capability: tuple[int, int], memory_mib: int, gpus: int | None
) -> None:
    known = read_hardware(name)
    assert (known.capability, known.memory_mib) == (capability, memory_mib)
    assert gpus is None or known.gpus == gpus


def test_every_profile_names_itself() -> None:
    for name in PROFILES:
        assert read_hardware(name.upper()).profile is not None


def test_facts() -> None:
    known = read_hardware("capability=9.0,memory_mib=81559,nvlink=no,interfaces=eth0/ib0")
    assert (known.capability, known.nvlink, known.interfaces) == ((9, 0), False, ("eth0", "ib0"))
    assert read_hardware("h100,gpus=4").gpus == 4


@pytest.mark.parametrize("written", ["12.0", "120", "sm_120", "sm120a"])
def test_spellings_of_a_capability(written: str) -> None:
    assert read_hardware(f"capability={written}").capability == (12, 0)


def test_a_file_of_facts(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps({"profile": "h100", "gpus": 2, "hcas": ["mlx5_0:1"]}))
    known = read_hardware(str(path))
    assert (known.capability, known.gpus, known.hcas) == ((9, 0), 2, ("mlx5_0:1",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("h10O", "neither a known machine nor a file"),
        ("h100,4", "neither a known machine nor a file"),
        ("h100,gpus=4,x", "not key=value"),
        ("h9,gpus=4", "no known machine"),
        ("gpus=none", "gpus cannot be 'none'"),
        ("gpus=0", "gpus cannot be '0'"),
        ("color=red", "unknown fact 'color'"),
        ("platform=vulkan", "platform cannot be"),
    ],
)
def test_what_is_no_machine(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_hardware(text)


def test_near_names_are_suggested() -> None:
    with pytest.raises(UsageError) as caught:
        read_hardware("rtxpro6000x")
    assert "did you mean rtx" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not valid JSON"), ('{"gpus": -1}', "gpus cannot be -1"), ("?", "no listing")],
)
def test_what_is_no_file_of_facts(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_hardware(str(path))


def tool(folder: Path, text: str) -> None:
    path = folder / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = tmp_path / "listing.txt"
    listing.write_text(MATRIX)
    tool(tmp_path, f'[ "$1" = topo ] && exec cat {listing}; echo "0, NVIDIA H200, 143771 MiB"')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    known = read_hardware("local")
    assert (known.gpus, known.nvlink, known.memory_mib) == (2, False, 143771)
    assert known.interfaces


def test_this_machine_without_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="neither nvidia-smi nor rocm-smi"):
        read_hardware("local")


def test_a_tool_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, 'echo "No devices were found" >&2; exit 6')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(InputError, match="failed: No devices were found"):
        read_hardware("local")
