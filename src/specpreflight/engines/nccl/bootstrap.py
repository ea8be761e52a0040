"""The first network step of a communicator: which interface the ranks meet on, or why none.

Restates `src/bootstrap.cc:bootstrapNetInit`, `src/misc/socket.cc:ncclSocketGetAddrFromString` and
`src/os/linux.cc:matchSubnet`. It needs no GPU, so a wrong value here is the earliest stop of all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from specpreflight.engines.nccl.interfaces import Interface, choose_interfaces
from specpreflight.engines.nccl.typed import debug_levels, understand_typed
from specpreflight.models.nccl import Release

NO_INTERFACE: Final = "Bootstrap : no socket interface found"
NO_LISTENER: Final = "NET/Socket : No usable listening interface found"
INVALID_COMM_ID: Final = (
    "Invalid NCCL_COMM_ID, please use format: <ipv4>:<port> or [<ipv6>]:<port> or <hostname>:<port>"
)
_IPV4: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Address:
    """The address in NCCL_COMM_ID; a host name's address is not known here."""

    kind: Literal["ipv4", "ipv6", "host"]
    text: str


@dataclass(frozen=True, slots=True)
class Meeting:
    """The interface the ranks meet on, or NCCL's error; both empty where it cannot be told."""

    interface: str = ""
    error: str = ""


def parse_comm_id(text: str) -> Address | None:
    """Return the address in NCCL_COMM_ID, `None` where NCCL calls it invalid.

    The port is read by `atoi` and never checked. A name under `.invalid` never resolves.
    """
    if len(text) < 2:
        return None
    if text.startswith("["):
        address, bracket, _ = text[1:].partition("]")
        return Address("ipv6", address.partition("%")[0]) if bracket else None
    name = next((item.partition(":")[0] for item in text.split(",") if item[:1] not in ":"), "")
    if _IPV4.fullmatch(name):
        return Address("ipv4", name)
    if _HOST_NAME.fullmatch(name) and not name.endswith(".invalid"):
        return Address("host", name)
    return None


def find_meeting_interface(
    environment: Mapping[str, str], host: Sequence[Interface], release: Release
) -> Meeting:
    """Return what `ncclGetUniqueId` does on a host with these interfaces."""
    comm_id = environment.get("NCCL_COMM_ID")
    if comm_id is None:
        found = choose_interfaces(
            environment.get("NCCL_SOCKET_IFNAME"),
            environment.get("NCCL_SOCKET_FAMILY"),
            host,
            release,
        )
        return Meeting(found[0]) if found else Meeting(error=NO_INTERFACE)
    address = parse_comm_id(comm_id)
    if address is None:
        return Meeting(error=INVALID_COMM_ID)
    if address.kind == "host" or any(not interface.network for interface in host):
        return Meeting()
    for interface in host:
        if _is_in_network(address, interface.network):
            return Meeting(interface.name)
    return Meeting(error=NO_LISTENER)


def _is_in_network(address: Address, network: str) -> bool:
    import ipaddress

    try:
        remote = ipaddress.ip_address(address.text)
    except ValueError:
        return False
    subnet = ipaddress.ip_network(network, strict=False)
    return remote.version == subnet.version and remote in subnet


def prints_bootstrap_line(environment: Mapping[str, str], release: Release) -> bool:
    """Tell whether "Bootstrap: Using …" is printed: INFO or louder, subsystem BOOTSTRAP."""
    level = understand_typed("NCCL_DEBUG", environment.get("NCCL_DEBUG", ""), release)
    levels = debug_levels(release)
    subsystems = environment.get("NCCL_DEBUG_SUBSYS")
    if level is None or level.text not in levels:
        return False
    if levels.index(level.text) < levels.index("INFO"):
        return False
    if subsystems is None:
        return True
    enabled = understand_typed("NCCL_DEBUG_SUBSYS", subsystems, release)
    return enabled is not None and "BOOTSTRAP" in enabled.text.split(",")
