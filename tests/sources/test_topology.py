"""Saved listings of GPU tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from specpreflight.errors import InputError
from specpreflight.models.launch import Hardware
from specpreflight.sources.topology import read_listing

DIRECT = """\
$ nvidia-smi topo -m
        \x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m
GPU0     X      PHB     SYS     0-31,64-95      0
GPU1    PHB      X      SYS     0-31,64-95      0
NIC0    SYS     SYS      X

Legend:
  X    = Self
"""


def read(folder: Path, slug: str) -> Hardware:
    return read_listing((folder / f"{slug}.txt").read_text(), slug)


@pytest.fixture
def listings(shared: Path) -> Path:
    return shared / "corpus" / "topologies"


@pytest.mark.shared
def test_every_listing_is_read(listings: Path) -> None:
    rows = [line.split("\t") for line in (listings / "INDEX.tsv").read_text().splitlines()[1:]]
    for slug, gpus, links, *_ in rows:
        known = read(listings, slug)
        assert known != Hardware(), slug
        if "; no NVLink" in links:
            assert known.nvlink in (False, None), slug
        if links.startswith(("NVSwitch", "NV12", "NV18")):
            assert known.nvlink, slug
        if "AMD" in gpus:
            assert known.platform == "rocm", slug


@pytest.mark.shared
@pytest.mark.parametrize(
    ("slug", "gpus", "nvlink", "sockets", "farthest"),
    [
        ("rtxpro6000-8x-two-sockets-switch-pairs", 8, False, 2, "SYS"),
        ("rtxpro6000-8x-two-sockets-direct", 8, False, 2, "SYS"),
        ("rtxpro6000-4x-direct", 4, False, 1, "NODE"),
        ("rtx3090-2x-phb-p2p", 2, False, 1, "PHB"),
        ("h100-sxm-8x-nvswitch-12nics", 8, True, 2, None),
        ("b300-8x-nvswitch-9nics-escapes", 8, True, 2, None),
        ("gb200-4x-8nics", 4, True, 2, None),
        ("2x-one-switch-pix", 2, None, 1, "PIX"),
        ("b200-8x-one-gpu-without-nvlink", 8, True, 2, "SYS"),
    ],
)
def test_a_matrix(
    listings: Path, slug: str, gpus: int, nvlink: bool | None, sockets: int, farthest: str | None
) -> None:
    known = read(listings, slug)
    assert known.topology is not None
    assert (known.gpus, known.nvlink) == (gpus, nvlink)
    assert (known.topology.sockets, known.topology.farthest) == (sockets, farthest)


@pytest.mark.shared
def test_the_one_gpu_off_nvlink(listings: Path) -> None:
    topology = read(listings, "b200-8x-one-gpu-without-nvlink").topology
    assert topology is not None
    assert topology.gpus_without_nvlink == (2,)


@pytest.mark.shared
def test_a_listing_that_hides_nvlink_says_nothing_about_it(listings: Path) -> None:
    known = read(listings, "8x-topo-mp-12nics-interleaved-cpus")
    assert known.nvlink is None
    assert known.topology is not None
    assert len(known.topology.nics) == 12


def test_escapes_the_command_above_and_a_legend() -> None:
    known = read_listing(DIRECT, "x")
    assert (known.gpus, known.nvlink) == (2, False)
    assert known.topology is not None
    assert known.topology.links == (("X", "PHB"), ("PHB", "X"))
    assert known.topology.nics == ("NIC0",)


def test_line_ends_of_windows() -> None:
    assert read_listing(DIRECT.replace("\n", "\r\n"), "x") == read_listing(DIRECT, "x")


def test_a_matrix_that_is_cut_off() -> None:
    with pytest.raises(InputError, match="names 2 GPUs and has rows for 1"):
        read_listing("\n".join(DIRECT.splitlines()[:3]), "x")


@pytest.mark.parametrize("text", ["", "hello\n", "GPU\n", "{}", "total 8\ndrwxr-xr-x 2 root\n"])
def test_garbage_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no listing of a GPU tool"):
        read_listing(text, "x")


def test_a_cell_that_is_no_link() -> None:
    with pytest.raises(InputError, match="'WAT' in the matrix is no kind of link"):
        read_listing(DIRECT.replace("PHB", "WAT"), "x")
