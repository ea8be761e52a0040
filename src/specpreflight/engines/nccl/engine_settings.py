"""The NCCL variables that an engine writes itself, and whether it respects the user's.

Restated per release from SGLang's wheels (`srt/entrypoints/engine.py:_set_envs_and_config` and the
argument hooks) and vLLM's (`env_override.py`, `batch_invariant.py`). None of them removes an
`NCCL_*` variable that NCCL itself reads. Only what the flags decide is told; what depends on the
model (SGLang's NCCL_GRAPH_REGISTER up to 0.5.22) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from packaging.version import Version

from specpreflight.models.launch import Hardware
from specpreflight.models.nccl import EngineSetting

_START: Final = "srt/entrypoints/engine.py:_set_envs_and_config"
_DETERMINISTIC_OLD: Final = "srt/server_args.py:_handle_deterministic_inference"
_DETERMINISTIC: Final = "srt/arg_groups/attention_hook.py:handle_deterministic_inference"
_INVARIANT: Final = "batch_invariant.py:override_envs_for_invariance"
_OVERRIDE: Final = "vllm/env_override.py"


def engine_settings(
    engine: str,
    version: str,
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    hardware: Hardware | None = None,
) -> tuple[EngineSetting, ...]:
    """Return what an engine release writes, given its flags and the user's environment.

    Args:
        engine: `sglang` or `vllm`; another one writes nothing that is known.
        version: its release.
        flags: canonical flag names without dashes, as written.
        environment: the user's variables.
        hardware: the machine; multi-node NVLink is asked for by name (`gb200`, `gb300`).
    """
    release = Version(version)
    if engine == "sglang":
        machine = hardware or Hardware()
        return tuple(_sglang(release, flags, environment, machine))
    if engine == "vllm":
        return tuple(_vllm(release, environment))
    return ()


def _sglang(
    release: Version, flags: Mapping[str, Any], environment: Mapping[str, str], machine: Hardware
) -> Iterator[EngineSetting]:
    if machine.platform != "cuda":
        return
    symmetric = bool(flags.get("enable-symm-mem"))
    nvls = bool(flags.get("enable-nccl-nvls"))
    yield from _sglang_deterministic(release, flags, environment)
    yield from _sglang_fabric(release, flags, machine)
    yield _sglang_cumem(release, flags, symmetric)
    if release < Version("0.5.4.post3"):
        if not symmetric or release < Version("0.4.10.post2"):
            yield EngineSetting("NCCL_NVLS_ENABLE", str(int(nvls)), _START, True)
    else:
        asked = nvls or symmetric
        reason = "--enable-nccl-nvls or --enable-symm-mem" if asked else ""
        yield EngineSetting("NCCL_NVLS_ENABLE", str(int(asked)), _START, asked, reason)
    if release >= Version("0.5.15") and _number(flags.get("dcp-size"), 1) > 1:
        reason = "--dcp-size"
        yield EngineSetting("NCCL_GRAPH_MIXING_SUPPORT", "0", _START, symmetric, reason)
    if release >= Version("0.5.23") and _number(flags.get("tp-size"), 1) > 1:
        function = "srt/arg_groups/parallel_hook.py:_disable_nccl_graph_buffer_registration"
        reason = "graphs with collectives can hang with registered buffers"
        yield EngineSetting("NCCL_GRAPH_REGISTER", "0", function, False, reason)


def _sglang_cumem(release: Version, flags: Mapping[str, Any], symmetric: bool) -> EngineSetting:
    name = "NCCL_CUMEM_ENABLE"
    if release < Version("0.4.10.post2"):
        return EngineSetting(name, "0", _START, True)
    if release < Version("0.5.4.post2"):
        return EngineSetting(name, str(int(symmetric)), _START, True)
    if release >= Version("0.5.19") and flags.get("moe-a2a-backend") == "deepep_v2":
        function = "srt/arg_groups/moe_hook.py"
        if not symmetric:
            return EngineSetting(name, "1", function, False, "--moe-a2a-backend deepep_v2")
    overwrites = symmetric and release >= Version("0.5.4.post3")
    reason = "--enable-symm-mem" if symmetric else ""
    return EngineSetting(name, str(int(symmetric)), _START, overwrites, reason)


def _sglang_fabric(
    release: Version, flags: Mapping[str, Any], machine: Hardware
) -> Iterator[EngineSetting]:
    fabric = (machine.profile or "").startswith("gb")
    if release >= Version("0.5.17") and fabric and _number(flags.get("nnodes"), 1) > 1:
        reason = "several nodes on an NVLink fabric"
        yield EngineSetting("NCCL_CUMEM_ENABLE", "1", _START, False, reason)
        yield EngineSetting("NCCL_MNNVL_ENABLE", "1", _START, False, reason)


def _sglang_deterministic(
    release: Version, flags: Mapping[str, Any], environment: Mapping[str, str]
) -> Iterator[EngineSetting]:
    asked = bool(flags.get("enable-deterministic-inference")) or (
        release >= Version("0.5.4.post1") and flags.get("rl-on-policy-target") is not None
    )
    if release < Version("0.5.3") or not asked or _number(flags.get("tp-size"), 1) < 2:
        return
    function = _DETERMINISTIC if release >= Version("0.5.19") else _DETERMINISTIC_OLD
    reason = "--enable-deterministic-inference"
    yield EngineSetting("NCCL_ALGO", "allreduce:tree", function, True, reason)
    if release >= Version("0.5.18"):
        count = environment.get("SGLANG_DETERMINISTIC_NCCL_NCHANNELS", "8")
        for name in ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"):
            yield EngineSetting(name, count, function, True, reason)


def _vllm(release: Version, environment: Mapping[str, str]) -> Iterator[EngineSetting]:
    if release < Version("0.10.2"):
        overwrites = release < Version("0.9.1")
        yield EngineSetting("NCCL_CUMEM_ENABLE", "0", _OVERRIDE, overwrites, "no IMEX channels")
    invariant = _number(environment.get("VLLM_BATCH_INVARIANT"), 0) != 0
    if release >= Version("0.11.1") and invariant:
        tree = "allreduce:tree"
        algorithm = f"ring,tree;{tree}" if release >= Version("0.31.0") else tree
        for name, value in (
            ("NCCL_LAUNCH_MODE", "GROUP"),
            ("NCCL_COLLNET_ENABLE", "0"),
            ("NCCL_NVLS_ENABLE", "0"),
            ("NCCL_MIN_NCHANNELS", "1"),
            ("NCCL_MAX_NCHANNELS", "1"),
            ("NCCL_PROTO", "Simple"),
            ("NCCL_ALGO", algorithm),
            ("NCCL_NTHREADS", "1"),
            ("NCCL_SOCKET_NTHREADS", "1"),
        ):
            yield EngineSetting(name, value, _INVARIANT, True, "VLLM_BATCH_INVARIANT")


def _number(value: Any, default: int) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return default
