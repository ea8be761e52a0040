"""What NCCL says of itself: version, variables it read, network, transports, channels, errors.

Lines of `NCCL_DEBUG=INFO` (nccl 2.30 `src/debug.cc`, `src/init.cc`, `src/transport/`), written by
the ranks to stdout. `NCCL_DEBUG_SUBSYS=TUNING` adds the algorithm and protocol of each collective.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_SET: Final = re.compile(r"NCCL INFO (NCCL_\w+) set by environment to (.+?)\.?$")
_INIT: Final = re.compile(r"\brank (\d+) nranks \d+ .*Init (START|COMPLETE)")
_VERSION: Final = re.compile(r"NCCL version (\d+\.\d+\.\d+)|is using nccl==(\d+\.\d+\.\d+)")
_CHANNEL: Final = re.compile(r"Channel \d+(?:/(\d+))? : \d+\[\w+\] -> \d+\[\w+\].* via ([\w/]+)")
_CHANNELS: Final = re.compile(r"(\d+) (coll|collnet|nvls|p2p) channels\b")
_NETWORK: Final = re.compile(r"Using network (\S+)")
_NVLS: Final = re.compile(r"NVLS multicast support is (not )?available")
_TUNED: Final = re.compile(r"(\w+): \d+ Bytes -> Algo (\w+) proto (\w+)")
_TELLING: Final = re.compile(
    rb"set by environment|Init START|Init COMPLETE|NCCL version| via |Connected all|channels|"
    rb"Using network|NVLS multicast| proto "
)


@dataclass(slots=True)
class NcclLog:
    """What NCCL printed in one launch.

    `transports` count the connections of channels by kind (`P2P/CUMEM`, `SHM/direct`, `NET/IB/0`);
    `channels` are how many of each kind a rank has; `collectives` are the (algorithm, protocol)
    pairs that ran, by collective.
    """

    asked: dict[str, str] = field(default_factory=dict)
    version: str | None = None
    network: str | None = None
    started: set[int] = field(default_factory=set)
    completed: set[int] = field(default_factory=set)
    transports: Counter[str] = field(default_factory=Counter)
    channels: dict[str, int] = field(default_factory=dict)
    connected: set[str] = field(default_factory=set)
    nvls: bool | None = None
    collectives: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    error: str | None = None

    def as_data(self) -> dict[str, Any]:
        """Return what is known, leaving out what was not printed."""
        told = {
            "version": self.version,
            "network": self.network,
            "channels": self.channels,
            "transports": dict(self.transports.most_common()),
            "connected": sorted(self.connected),
            "nvls": self.nvls,
            "collectives": {
                name: [list(pair) for pair in sorted(pairs)]
                for name, pairs in self.collectives.items()
            },
        }
        return {name: value for name, value in told.items() if value not in (None, {}, [])}


def says_nothing(raw: bytes) -> bool:
    """Whether a line of `NCCL INFO` tells nothing that is read here."""
    return not _TELLING.search(raw)


def read_nccl(nccl: NcclLog, text: str) -> None:
    """Take what a line says of NCCL."""
    if "NCCL WARN " in text:
        nccl.error = text.partition("NCCL WARN ")[2]
    elif "NCCL INFO" not in text:
        if "CCL" in text.upper() and (match := _VERSION.search(text)):
            nccl.version = match[1] or match[2]
    elif match := _SET.search(text):
        nccl.asked[match[1]] = match[2]
    elif match := _INIT.search(text):
        (nccl.started if match[2] == "START" else nccl.completed).add(int(match[1]))
    elif match := _CHANNEL.search(text):
        nccl.transports[match[2]] += 1
        if match[1] and int(match[1]):
            nccl.channels["coll"] = max(nccl.channels.get("coll", 0), int(match[1]))
    elif match := _NETWORK.search(text):
        nccl.network = match[1]
    elif match := _NVLS.search(text):
        nccl.nvls = match[1] is None
    elif match := _TUNED.search(text):
        nccl.collectives.setdefault(match[1], set()).add((match[2].capitalize(), match[3]))
    elif "Connected all " in text:
        nccl.connected.add(text.partition("Connected all ")[2].split()[0].strip(",."))
    elif match := _VERSION.search(text):
        nccl.version = match[1] or match[2]
    else:
        nccl.channels |= {kind: int(count) for count, kind in _CHANNELS.findall(text)}


def not_as_asked(nccl: NcclLog, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield where NCCL did something else than the variables asked for.

    Args:
        nccl: what it printed.
        environment: the variables of the launch, as the log tells them.
    """
    asked = {**environment, **nccl.asked}
    used = " ".join(nccl.transports)
    if asked.get("NCCL_P2P_DISABLE") == "1" and "P2P/" in used:
        yield "NCCL_P2P_DISABLE is 1, and channels go over P2P"
    level = asked.get("NCCL_P2P_LEVEL")
    if level not in (None, "LOC", "0") and used and "P2P/" not in used:
        yield f"NCCL_P2P_LEVEL {level} asks for P2P, and no channel goes over it"
    if asked.get("NCCL_SHM_DISABLE") == "1" and "SHM/" in used:
        yield "NCCL_SHM_DISABLE is 1, and channels go over shared memory"
    if asked.get("NCCL_IB_DISABLE") == "0" and nccl.network == "Socket":
        yield "NCCL_IB_DISABLE is 0, and the network is Socket: no InfiniBand device was found"
    if asked.get("NCCL_NVLS_ENABLE") == "1" and nccl.nvls is False:
        yield "NCCL_NVLS_ENABLE is 1, and NVLink SHARP is not available"
    yield from _bounds(nccl, asked)
    yield from _tuned(nccl, asked)
    if nccl.asked:
        for name in sorted(environment.keys() - nccl.asked.keys()):
            if name.startswith("NCCL_") and not name.startswith("NCCL_DEBUG"):
                yield f"{name} was set in the shell, and NCCL does not say that it read it"


def _bounds(nccl: NcclLog, asked: Mapping[str, str]) -> Iterator[str]:
    count = nccl.channels.get("coll")
    if count is None:
        return
    most = _number(asked.get("NCCL_MAX_NCHANNELS") or asked.get("NCCL_MAX_CTAS"))
    least = _number(asked.get("NCCL_MIN_NCHANNELS") or asked.get("NCCL_MIN_CTAS"))
    if most is not None and count > most:
        yield f"at most {most} channels were asked for, and {count} are used"
    if least is not None and count < least:
        yield f"at least {least} channels were asked for, and {count} are used"


def _tuned(nccl: NcclLog, asked: Mapping[str, str]) -> Iterator[str]:
    for variable, place in (("NCCL_ALGO", 0), ("NCCL_PROTO", 1)):
        words = asked.get(variable, "")
        if not words or any(sign in words for sign in "^:;"):
            continue
        allowed = {word.strip().upper() for word in words.split(",")}
        for collective, pairs in nccl.collectives.items():
            ran = sorted({pair[place] for pair in pairs if pair[place].upper() not in allowed})
            if ran:
                yield f"{variable} is {words}, and {collective} ran with {', '.join(ran)}"


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
