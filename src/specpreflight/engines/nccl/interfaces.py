"""NCCL_SOCKET_IFNAME and NCCL_IB_HCA: which network interfaces and adapters are taken.

Restates `src/misc/utils.cc` (`parseStringList`, `matchIf`, `matchIfList`), the interface search of
`src/misc/socket.cc` (`src/os/linux.cc` from 2.29 on) and the NCCL_IB_HCA block of
`src/transport/net_ib`. One `^` (all but these) and one `=` (exact names) may stand in front of the
whole list, in that order; then every entry is `name[:port[:rail[:plane]]]`, a prefix without `=`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specpreflight.engines.nccl.c_text import atoi, strtok, to_int16
from specpreflight.models.nccl import Release

_MOST_INTERFACES: Final = 16
_MOST_ADAPTERS: Final = 32
_LONGEST_NAME: Final = 63
_FIELDS_SINCE: Final = Release(2, 30, 7)
_RUNNING_ONLY: Final = Release(2, 28, 3)
_ANY: Final = -1


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a list; -1 is "any"."""

    name: str
    port: int = _ANY
    rail: int = _ANY
    plane: int = _ANY


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed list, with the marks in front of it."""

    entries: tuple[Entry, ...]
    inverted: bool = False
    exact: bool = False

    def accepts(self, name: str, port: int = _ANY) -> bool:
        """Tell whether an interface or adapter port is taken; an empty list names everything."""
        return (not self.entries or any(self._names(entry, name, port) for entry in self.entries)) \
            != self.inverted  # fmt: skip

    def _names(self, entry: Entry, name: str, port: int) -> bool:
        same = name == entry.name if self.exact else name.startswith(entry.name)
        return same and (_ANY in (port, entry.port) or port == entry.port)


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface of a host: one entry per address, as `getifaddrs` lists them.

    `network` is its address with the prefix length (`192.0.2.4/24`), where known.
    """

    name: str
    ipv6: bool = False
    running: bool = True
    network: str = ""


def parse_filter(text: str, most: int, release: Release) -> Filter:
    """Parse a list; only the first `most` entries count."""
    inverted = text.startswith("^")
    text = text[1:] if inverted else text
    exact = text.startswith("=")
    text = text[1:] if exact else text
    read = _entry_with_fields if release >= _FIELDS_SINCE else _entry
    entries = [entry for item in strtok(text, ",") if (entry := read(item)) is not None]
    return Filter(tuple(entries[:most]), inverted, exact)


def _entry(text: str) -> Entry | None:
    name, colon, port = text.partition(":")
    if not name:
        return None
    return Entry(name, atoi(port) if colon else _ANY)


def _entry_with_fields(text: str) -> Entry | None:
    name, *fields = text.split(":")
    if not name:
        return None
    numbers = [atoi(field) if field else _ANY for field in fields[:3]]
    port, rail, plane = (*numbers, *[_ANY] * (3 - len(numbers)))
    return Entry(_cut(name), port, to_int16(rail), to_int16(plane))


def _cut(name: str) -> str:
    """Keep what fits the 64 bytes of `struct netIf`."""
    return name.encode("utf-8", "surrogateescape")[:_LONGEST_NAME].decode(
        "utf-8", "surrogateescape"
    )


def choose_adapters(
    text: str | None, ports: Sequence[tuple[str, int]], release: Release
) -> list[tuple[str, int]]:
    """Return the `(device, port)` pairs that NCCL_IB_HCA leaves; `None` is unset."""
    wanted = parse_adapters(text, release)
    return [(name, port) for name, port in ports if wanted.accepts(name, port)]


def parse_adapters(text: str | None, release: Release) -> Filter:
    """Parse NCCL_IB_HCA."""
    return parse_filter(text or "", _MOST_ADAPTERS, release)


def choose_interfaces(
    text: str | None, family: str | None, host: Sequence[Interface], release: Release
) -> list[str]:
    """Return the interfaces NCCL takes on a host, in order; an empty list stops it at start.

    A text of one character counts as unset (the automatic choice). `family` is the text of
    NCCL_SOCKET_FAMILY, exactly `AF_INET` or `AF_INET6`, anything else is no restriction.
    """

    def find(filter_text: str) -> list[str]:
        wanted = parse_filter(filter_text, _MOST_INTERFACES, release)
        found: list[str] = []
        for interface in host:
            if release >= _RUNNING_ONLY and not interface.running:
                continue
            if family in ("AF_INET", "AF_INET6") and interface.ipv6 != (family == "AF_INET6"):
                continue
            if interface.ipv6 and interface.name == "lo":
                continue
            if wanted.accepts(interface.name) and interface.name not in found:
                found.append(interface.name)
        return found[:_MOST_INTERFACES]

    if text is not None and len(text.encode("utf-8", "surrogateescape")) > 1:
        return find(text)
    virtual = ",virbr" if release >= _RUNNING_ONLY else ""
    automatic = ["ib", f"^docker,lo{virtual}", "docker", "lo"]
    if release >= _RUNNING_ONLY:
        automatic.append("virbr")
    return next((found for wanted in automatic if (found := find(wanted))), [])
