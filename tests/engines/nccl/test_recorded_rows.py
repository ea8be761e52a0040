"""The restated parsers against what NCCL's own code understood (see tests/golden/nccl)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from specpreflight.engines.nccl.bootstrap import find_meeting_interface, prints_bootstrap_line
from specpreflight.engines.nccl.buffers import resolve_buffers
from specpreflight.engines.nccl.channels import resolve_channels, resolve_threads
from specpreflight.engines.nccl.choices import (
    describe,
    parse_algorithms,
    parse_protocols,
    restrict_to_machine,
)
from specpreflight.engines.nccl.interfaces import (
    Interface,
    choose_adapters,
    choose_interfaces,
    parse_adapters,
)
from specpreflight.engines.nccl.levels import p2p_level
from specpreflight.engines.nccl.table import find_span
from specpreflight.engines.nccl.understand import understand
from specpreflight.engines.nccl.versions import parse_release
from specpreflight.models.nccl import Release
from specpreflight.sources.nccl_conf import read_nccl_conf

GOLDEN = Path(__file__).parents[2] / "golden" / "nccl"
ROWS = [line.split("\t") for line in (GOLDEN / "understood.tsv").read_text().splitlines()[1:]]

IPV4 = (
    *("lo", "eth0", "eth1", "eth10", "eth0.100", "eth9", "ib0", "ib1", "ibs1", "docker0"),
    *("virbr0", "enp65s0f0", "enp65s0f1", "bond0", "br-1a2b"),
)
HOSTS = {
    "": [
        *(Interface(name, running=name != "eth9") for name in IPV4),
        Interface("six0", ipv6=True),
        Interface("eth0", ipv6=True),
    ],
    "hostB": [
        Interface(name) for name in ("lo", "docker0", "virbr0", "eth0", "enp65s0f0", "tailscale0")
    ],
    "hostC": [Interface(name) for name in ("lo", "docker0", "virbr0")],
}
MEETING_HOST = [
    Interface("lo", network="127.0.0.1/8"),
    Interface("eth0", network="192.0.2.2/24"),
    Interface("lo", ipv6=True, network="::1/128"),
    Interface("eth0", ipv6=True, network="fd00::2/64"),
]
ADAPTERS = ("mlx5_1", "mlx5_2", "mlx5_3", "mlx5_10", "mlx5_11", "mlx5_bond_0", "bnxt_re0")
PORTS = [("mlx5_0", 1), ("mlx5_0", 2), *((name, 1) for name in (*ADAPTERS, "rocep65s0"))]

#: What is recorded as undefined: which of the reads outside NCCL's arrays the sanitizer saw first.
NOT_REPRODUCED = {("channels", "NCCL_MAX_CTAS", "-1"): {"2.18.6", "2.21.5", "2.23.4", "2.24.3"}}

Environment = dict[str, str]


def runs(text: str) -> str:
    """Write out `<c*N>`."""
    return re.sub(r"<(.)\*(\d+)>", lambda match: match[1] * int(match[2]), text)


def unescape(text: str) -> str:
    """Undo the escapes of the recorded columns."""
    plain = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
    return re.sub(
        r"\\(n|t|r|\\|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4}))",
        lambda match: plain.get(match[1]) or chr(int(match[2] or match[3], 16)),
        runs(text),
    )


def environment_of(variable: str, raw: str) -> Environment:
    """Return the environment of a row."""
    if variable == "(combo)" or "+" in variable:
        pairs = [part.partition("=")[::2] for part in re.split(r" (?=NCCL_)", raw) if "=" in part]
        return {name: unescape(value) for name, value in pairs if value != "(unset)"}
    if raw == "(unset)":
        return {}
    return {variable.partition("@")[0]: "" if raw == "(empty)" else unescape(raw)}


def lists(environment: Environment, release: Release) -> str:
    protocols = parse_protocols(environment.get("NCCL_PROTO"), release)
    algorithms = parse_algorithms(environment.get("NCCL_ALGO"), release)
    if error := protocols.error or algorithms.error:
        return f"fatal: {error}"
    return f"proto={describe(protocols.sets)} ; algo={describe(algorithms.sets)}"


def effective(nodes: int) -> Callable[[Environment, Release], str]:
    def restricted(environment: Environment, release: Release) -> str:
        choice = parse_algorithms(environment.get("NCCL_ALGO"), release)
        if choice.error:
            return f"fatal: {choice.error}"
        return describe(restrict_to_machine(choice, nodes, release).sets)

    return restricted


def levels(environment: Environment, release: Release) -> str:
    disable, level = environment.get("NCCL_P2P_DISABLE"), environment.get("NCCL_P2P_LEVEL")
    return p2p_level(disable, level, release).text


def threads(environment: Environment, release: Release) -> str:
    count = resolve_threads(environment)
    return (
        f"ring_simple={count.ring_simple} ring_simple_slow={count.ring_simple_slow} "
        f"tree_simple={count.tree_simple} ll={count.ll} ll128={count.ll128}"
    )


def channels(environment: Environment, release: Release) -> str:
    bounds = resolve_channels(environment, release)
    policy = "n/a" if bounds.cta_policy is None else bounds.cta_policy
    counts = [
        "undefined" if count is None else count
        for count in (bounds.count(found) for found in (2, 4, 16))
    ]
    return (
        f"minNch={bounds.min_nchannels} maxNch={bounds.max_nchannels} minCTAs={bounds.min_ctas} "
        f"maxCTAs={bounds.max_ctas} cga={bounds.cluster} ctaPolicy={policy} "
        f"nvlsCTAs={'auto' if bounds.nvls_ctas is None else bounds.nvls_ctas} "
        f"final2={counts[0]} final4={counts[1]} final16={counts[2]}"
    )


def buffers(environment: Environment, release: Release) -> str:
    size = resolve_buffers(environment, release)
    return f"ll={size.ll} ll128={size.ll128} simple={size.simple} p2pChunk={size.p2p_chunk}"


def adapters(environment: Environment, release: Release) -> str:
    text = environment.get("NCCL_IB_HCA")
    chosen = ",".join(f"{name}:{port}" for name, port in choose_adapters(text, PORTS, release))
    parsed = ",".join(
        f"<{entry.name}>:{entry.port}:{entry.rail}:{entry.plane}"
        for entry in parse_adapters(text, release).entries
    )
    return f"chosen={chosen or 'none'} ; parsed={parsed or 'none'}"


def meeting(environment: Environment, release: Release) -> str:
    environment = {"NCCL_DEBUG": "INFO", **environment}
    found = find_meeting_interface(environment, MEETING_HOST, release)
    if found.error:
        return f"fatal: {found.error}"
    said = prints_bootstrap_line(environment, release)
    return f"ok interface={found.interface}" if said else "ok"


def conf(raw: str, release: Release, directory: Path) -> str:
    """Lay out the files of a row, read them and return the environment afterwards as JSON."""
    row = json.loads(unescape(raw))
    places = {"@conf": "conf", "@home2": "home2", "@missing": "missing"}
    names = {place: str(directory / name) for place, name in places.items()}

    def placed(text: str) -> str:
        for place, name in names.items():
            text = text.replace(place, name)
        return text

    files = {"home": "home/.nccl.conf", "home2": "home2/.nccl.conf", "conf": "conf", "etc": "etc"}
    for key, name in files.items():
        if key in row:
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_bytes(placed(runs(row[key])).encode())
    environment = {"HOME": str(directory / "home"), **row["env"]}
    environment = {k: placed(v) for k, v in environment.items() if v != "(unset)"}
    added = read_nccl_conf(environment, release, directory / "home", directory / "etc")
    after = {**environment, **{name: known.value for name, known in added.items()}}
    after.pop("HOME", None)
    text = json.dumps(after, sort_keys=True, ensure_ascii=False)
    for place, name in names.items():
        text = text.replace(name, place)
    return text


KINDS: dict[str, Callable[[Environment, Release], str]] = {
    "algo_eff1": effective(1),
    "algo_eff2": effective(2),
    "nthreads": threads,
    "channels": channels,
    "buffs": buffers,
    "hcalist": adapters,
    "boot": meeting,
}


def reproduce(kind: str, variable: str, raw: str, release: Release, directory: Path) -> str:
    """Return what the restated functions make of a row."""
    if kind == "conf":
        return conf(raw, release, directory)
    environment = environment_of(variable, raw)
    if kind in KINDS:
        return KINDS[kind](environment, release)
    if kind == "iflist":
        host = HOSTS[variable.partition("@")[2]]
        wanted = environment.get("NCCL_SOCKET_IFNAME")
        family = environment.get("NCCL_SOCKET_FAMILY")
        return ",".join(choose_interfaces(wanted, family, host, release)) or "none"
    if "+" in variable or variable == "(combo)":
        return levels(environment, release) if kind == "level" else lists(environment, release)
    return understand(variable, environment[variable], release).text


def is_same(kind: str, got: str, recorded: str) -> bool:
    if kind == "conf":
        return bool(json.loads(got) == json.loads(runs(unescape(recorded))))
    return got in (recorded, unescape(recorded), runs(recorded))


@pytest.mark.parametrize("kind", sorted({row[0] for row in ROWS}))
def test_every_recorded_row(kind: str, tmp_path: Path) -> None:
    missed: list[str] = []
    for index, (_, variable, raw, releases, recorded) in enumerate(
        row for row in ROWS if row[0] == kind
    ):
        for release in releases.split(","):
            if release in NOT_REPRODUCED.get((kind, variable, raw), ()):
                continue
            directory = tmp_path / f"{index}-{release}"
            directory.mkdir()
            got = reproduce(kind, variable, raw, parse_release(release), directory)
            if not is_same(kind, got, recorded):
                missed.append(f"{release} {variable} {raw!r}: {recorded!r}, not {got!r}")
    assert not missed, "\n".join(missed[:20])


def test_what_is_not_reproduced_is_a_sliver() -> None:
    all_rows = sum(len(row[3].split(",")) for row in ROWS)
    missed = sum(len(releases) for releases in NOT_REPRODUCED.values())
    assert missed / all_rows < 0.005


def test_defaults_and_names_of_every_release() -> None:
    header, *rows = [
        line.split("\t") for line in (GOLDEN / "defaults.tsv").read_text().splitlines()
    ]
    for name, _, *defaults in rows:
        for release, default in zip(header[2:], defaults, strict=True):
            span = find_span(name, parse_release(release))
            number = span is not None and span.reader == "number"
            if default == "-" and name == "NCCL_GIN_NCONTEXTS":
                continue
            assert (span.default if span and number else "-") == default, (name, release)


@pytest.mark.shared
def test_the_golden_rows_are_the_recorded_ones(shared: Path) -> None:
    recorded = (shared / "oracle" / "nccl" / "vectors.tsv").read_text().splitlines()[1:]
    copied = sum(len(row[3].split(",")) for row in ROWS)
    assert copied == len(recorded)
