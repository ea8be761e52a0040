"""Saved listings: `nvidia-smi topo -m`, `-q`, `-L`, `--query-gpu`, rocm-smi, and NCCL's own log.

A file may hold several of them after one another, terminal escapes, the command line above, network
card rows and legends, as people paste them. Everything found is merged into one `Hardware`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from specpreflight.errors import InputError
from specpreflight.models.launch import Hardware
from specpreflight.models.topology import Topology
from specpreflight.sources.gpu_models import describe_gpu

_ESCAPE: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PATH: Final = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|XGMI|PCIE|0")
_PEER_STATUS: Final = re.compile(r"X|OK|CNS|GNS|TNS|NS|DR|U")
_HEADER: Final = re.compile(r"\s*GPU0(\s|$)")
_MIG: Final = re.compile(r"^\s+MIG \S+\s+Device", re.MULTILINE)
_CSV_ROW: Final = re.compile(
    r"^\d+, (?P<name>[^,]*(?:NVIDIA|Tesla|GeForce)[^,]*),.*$", re.MULTILINE
)


def read_listing(text: str, given: str) -> Hardware:
    """Read whatever GPU tools printed into a file.

    Raises:
        InputError: nothing in it is known, or a matrix is cut off.
    """
    text = _ESCAPE.sub("", text).replace("\r\n", "\n")
    known = Hardware()
    recognised = False
    for reader in (_read_matrices, _read_query, _read_inventory, _read_nccl_log):
        found = reader(text, given)
        if found is not None:
            recognised = True
            known = _merge(known, found)
    if not recognised:
        raise InputError(
            f"{given}: no listing of a GPU tool that is known here",
            hint="save the output of `nvidia-smi topo -m`, `nvidia-smi -q` or rocm-smi --showtopo",
        )
    return known


def _merge(first: Hardware, second: Hardware) -> Hardware:
    """Keep what the first listing says, and take the rest from the second."""
    return Hardware(
        gpu=first.gpu or second.gpu,
        capability=first.capability or second.capability,
        memory_mib=first.memory_mib or second.memory_mib,
        gpus=first.gpus or second.gpus,
        nodes=first.nodes or second.nodes,
        nvlink=second.nvlink if first.nvlink is None else first.nvlink,
        platform=first.platform if first.platform != "cuda" else second.platform,
        topology=first.topology or second.topology,
        interfaces=first.interfaces or second.interfaces,
    )


def _read_matrices(text: str, given: str) -> Hardware | None:
    lines = text.split("\n")
    amd = "ROCm System Management Interface" in text or "Link Type between" in text
    for number, line in enumerate(lines):
        if not _HEADER.match(line):
            continue
        devices = list(takewhile(lambda word: word not in ("CPU", "NUMA", "GPU"), line.split()))
        rows = _rows(lines[number + 1 :], devices)
        gpus = [name for name in devices if re.fullmatch(r"GPU\d+", name)]
        cells = [cell for row in rows for cell in row[1 : 1 + len(devices)]]
        if amd and not any(cell in ("XGMI", "PCIE") for cell in cells):
            if len(gpus) == 1 and cells == ["0"]:
                return _amd([["0"]], text)
            continue
        if (
            not amd
            and cells
            and all(_PEER_STATUS.fullmatch(cell) for cell in cells)
            and len(gpus) > 1
        ):
            continue
        gpu_rows = [row for row in rows if row[0] in gpus]
        if len(gpu_rows) != len(gpus):
            raise InputError(
                f"{given}:{number + 1}: the matrix names {len(gpus)} GPUs and has rows for "
                f"{len(gpu_rows)}",
                hint="save the whole output",
            )
        links = [row[1 : 1 + len(gpus)] for row in gpu_rows]
        for row in links:
            for cell in row:
                if not _PATH.fullmatch(cell):
                    raise InputError(
                        f"{given}:{number + 1}: '{cell}' in the matrix is no kind of link"
                    )
        if amd:
            return _amd(links, text)
        affinities = [row[1 + len(devices)] for row in gpu_rows if len(row) > 1 + len(devices)]
        return _nvidia(text, links, affinities, devices[len(gpus) :])
    return None


def _rows(lines: Sequence[str], devices: Sequence[str]) -> list[list[str]]:
    rows = []
    for line in lines:
        words = line.split()
        if not words or words[0] not in devices:
            break
        if len(words) > len(devices):
            rows.append(words)
    return rows


def _nvidia(
    text: str, links: list[list[str]], affinities: list[str], nics: Sequence[str]
) -> Hardware:
    paths_only = _shows_paths_only(text)
    has_nvlink = any(cell.startswith("NV") for row in links for cell in row)
    named = dict(re.findall(r"^\s*(NIC\d+):\s*(\S+)", text, re.MULTILINE))
    topology = Topology(
        tool="nvidia-smi topo -mp" if paths_only else "nvidia-smi topo -m",
        links=tuple(tuple("SYS" if cell == "SOC" else cell for cell in row) for row in links),
        sockets=_count_sockets(links, affinities),
        nics=tuple(named.get(nic, nic) for nic in nics),
    )
    nvlink = True if has_nvlink else (None if paths_only and len(links) > 1 else False)
    return Hardware(gpus=len(links), nvlink=nvlink, topology=topology)


def _shows_paths_only(text: str) -> bool:
    """Tell `topo -mp` from `topo -m`: only the latter's legend explains `NV#`."""
    if re.search(r"topo\s+(-mp|--matrix-pci)", text):
        return True
    return re.search(r"^\s*PIX\s+=", text, re.MULTILINE) is not None and not re.search(
        r"^\s*NV#\s+=", text, re.MULTILINE
    )


def _count_sockets(links: list[list[str]], affinities: list[str]) -> int | None:
    """Count groups of GPUs by CPU: by the affinity column, else by who is a SYS path away.

    More than two groups may be sub-NUMA nodes of a socket, so the number is then unknown.
    """
    if len(affinities) == len(links) and all(re.match(r"\d", text) for text in affinities):
        groups = len(set(affinities))
    elif any(cell.startswith("NV") for row in links for cell in row):
        return None
    else:
        groups = len({tuple(cell == "SYS" for cell in row) for row in links})
    return groups if groups <= 2 else None


def _amd(links: list[list[str]], text: str) -> Hardware:
    nodes = set(re.findall(r"^GPU\[\d+\].*Numa Node: (\d+)", text, re.MULTILINE))
    topology = Topology(
        tool="rocm-smi",
        links=tuple(
            tuple("X" if row == column else cell for column, cell in enumerate(cells))
            for row, cells in enumerate(links)
        ),
        sockets=len(nodes) if 1 <= len(nodes) <= 2 else None,
    )
    return Hardware(gpus=len(links), nvlink=False, platform="rocm", topology=topology)


def _read_query(text: str, given: str) -> Hardware | None:
    """Read `nvidia-smi -q`."""
    if "NVSMI LOG" not in text:
        return None
    attached = re.search(r"^Attached GPUs\s+: (\d+)", text, re.MULTILINE)
    names = re.findall(r"Product Name\s+: (.+)", text)
    memory = re.search(r"FB Memory Usage\n\s+Total\s+: (\d+) MiB", text)
    if attached is None and not names:
        raise InputError(f"{given}: `nvidia-smi -q` without a GPU in it")
    return _inventory(
        [name.strip() for name in names],
        int(attached.group(1)) if attached else len(names),
        int(memory.group(1)) if memory else None,
    )


def _read_inventory(text: str, given: str) -> Hardware | None:
    """Read `nvidia-smi -L`, or `--query-gpu=index,name,…` as CSV."""
    listed = re.findall(r"^GPU \d+: (.+?) \(UUID: ", text, re.MULTILINE)
    if listed:
        return _inventory(listed, len(listed), None)
    rows = list(_CSV_ROW.finditer(text))
    if not rows:
        return None
    memories = [int(size) for row in rows for size in re.findall(r", (\d+) MiB", row.group())[:1]]
    return _inventory(
        [row["name"].strip() for row in rows], len(rows), min(memories) if memories else None
    )


def _inventory(names: list[str], gpus: int, memory_mib: int | None) -> Hardware:
    name = names[0] if len(set(names)) == 1 else None
    capability = None if name is None else describe_gpu(name).capability
    cannot_link = names and all(describe_gpu(each).nvlink is False for each in names)
    return Hardware(
        gpu=name,
        capability=capability,
        memory_mib=memory_mib,
        gpus=gpus,
        nvlink=False if cannot_link else None,
    )


def _read_nccl_log(text: str, given: str) -> Hardware | None:
    """Read what NCCL's own log says of the machine (`NCCL_DEBUG=INFO`, perhaps GRAPH)."""
    if "NCCL INFO" not in text and "=== System :" not in text:
        return None
    ranks = re.search(r"nRanks (\d+) nNodes (\d+)", text)
    gpus = nodes = None
    if ranks is not None:
        nodes = int(ranks.group(2))
        gpus = int(ranks.group(1)) // max(nodes, 1)
    elif graph := set(re.findall(r"GPU/\w+ \((\d+)\)", text)):
        gpus = len(graph)
    elif ends := set(re.findall(r"\d+\[[0-9a-f]+\](?= -> )|(?<= -> )\d+\[[0-9a-f]+\]", text)):
        gpus = len(ends)
    interface = re.search(r"Bootstrap ?: Using (?:\[\d+\])?([^\s:]+):", text)
    nvlink = True if re.search(r"NVL\[|MNNVL busId", text) else None
    return Hardware(
        gpus=gpus,
        nodes=nodes,
        nvlink=nvlink,
        interfaces=(interface.group(1),) if interface else None,
    )
