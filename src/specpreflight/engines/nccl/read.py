"""The whole NCCL environment of a launch: every set variable understood, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from specpreflight.engines.nccl.buffers import resolve_buffers
from specpreflight.engines.nccl.channels import resolve_channels, resolve_threads
from specpreflight.engines.nccl.interfaces import Interface, choose_adapters, choose_interfaces
from specpreflight.engines.nccl.names import find_owner, suggest_names
from specpreflight.engines.nccl.table import find_facts, find_span
from specpreflight.engines.nccl.understand import understand
from specpreflight.models.launch import Hardware, Variable
from specpreflight.models.nccl import (
    Effect,
    EngineSetting,
    NcclReading,
    NcclVariable,
    Release,
    Understood,
    VariableFacts,
)

_UNKNOWN = Understood("unknown", "unknown", "unknown")


def read_nccl(
    environment: Mapping[str, Variable],
    release: Release,
    determined_by: str,
    *,
    settings: Sequence[EngineSetting] = (),
    hardware: Hardware | None = None,
) -> NcclReading:
    """Read the NCCL_* variables of an environment as `release` does.

    Args:
        environment: the launch's variables; others than NCCL's are passed over.
        release: the release of NCCL that will run.
        determined_by: how that was found, for the report.
        settings: what the engine writes itself before NCCL starts.
        hardware: the machine; its interfaces and adapters answer the lists.
    """
    named = {name: known for name, known in environment.items() if is_nccl_name(name)}
    written = {setting.name: setting for setting in settings}
    variables = tuple(
        _read_variable(named[name], release, written.get(name), hardware or Hardware())
        for name in sorted(named)
    )
    texts = {name: known.value for name, known in named.items() if known.value is not None}
    for setting in settings:
        if setting.overwrites or setting.name not in texts:
            texts[setting.name] = setting.value
    return NcclReading(
        release,
        determined_by,
        variables,
        _resolve(texts, release),
        tuple(settings),
    )


def is_nccl_name(name: str) -> bool:
    """Tell whether a variable is NCCL's by its name, also in the wrong case."""
    return name.upper().startswith("NCCL_")


def _read_variable(
    variable: Variable, release: Release, setting: EngineSetting | None, hardware: Hardware
) -> NcclVariable:
    name, text = variable.name, variable.value
    facts = find_facts(name)
    owner = find_owner(name)
    if owner is not None and (facts is None or facts.owner == "libnccl"):
        facts = VariableFacts(name, owner=owner)
    understood = _UNKNOWN if text is None else understand(name, text, release)
    if text is not None:
        understood = _on_machine(name, text, release, understood, hardware)
    effect: Effect = understood.effect
    if setting is not None and setting.overwrites and setting.value != text:
        effect = "changed-by-engine"
    unread = find_span(name, release) is None
    return NcclVariable(
        name=name,
        value=text,
        origin=variable.origin,
        understood=understood,
        effect=effect,
        facts=facts,
        suggestions=suggest_names(name, release) if unread and owner is None else (),
        setting=setting,
    )


def _on_machine(
    name: str, text: str, release: Release, understood: Understood, hardware: Hardware
) -> Understood:
    """Replace a list by what it takes on the given machine."""
    chosen: list[str] | None = None
    if name == "NCCL_SOCKET_IFNAME" and hardware.interfaces is not None:
        host = [Interface(interface) for interface in hardware.interfaces]
        chosen = choose_interfaces(text, None, host, release)
    if name == "NCCL_IB_HCA" and hardware.hcas is not None:
        ports = [_port(hca) for hca in hardware.hcas]
        taken = choose_adapters(text, ports, release)
        chosen = [f"{device}:{port}" for device, port in taken]
    if chosen is None:
        return understood
    effect: Effect = "used" if chosen or name == "NCCL_IB_HCA" else "fatal"
    return Understood(understood.kind, ",".join(chosen) or "none", effect)


def _port(hca: str) -> tuple[str, int]:
    device, _, port = hca.partition(":")
    return device, int(port) if port.isdigit() else 1


def _resolve(environment: Mapping[str, str], release: Release) -> dict[str, int | str]:
    """Return the numbers of the `resolved` block, for a search that found 2, 4 or 16 channels."""
    channels = resolve_channels(environment, release)
    threads = resolve_threads(environment)
    buffers = resolve_buffers(environment, release)
    counts = {found: channels.count(found) for found in (2, 4, 16)}
    return {
        "min_nchannels": channels.min_nchannels,
        "max_nchannels": channels.max_nchannels,
        "min_ctas": channels.min_ctas,
        "max_ctas": channels.max_ctas,
        "cga_cluster_size": channels.cluster,
        "cta_policy": "n/a" if channels.cta_policy is None else channels.cta_policy,
        "nvls_ctas": "auto" if channels.nvls_ctas is None else channels.nvls_ctas,
        **{
            f"channels_when_{found}_found": "undefined" if count is None else count
            for found, count in counts.items()
        },
        **{f"threads_{name}": value for name, value in asdict(threads).items()},
        "buffer_ll": buffers.ll,
        "buffer_ll128": buffers.ll128,
        "buffer_simple": buffers.simple,
        "p2p_chunk": buffers.p2p_chunk,
    }
