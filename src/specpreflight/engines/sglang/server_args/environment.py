"""The NCCL and CUDA variables that the engine sets for its own processes.

Restates `entrypoints/engine.py:_set_envs_and_config` (all releases),
`server_args.py:_handle_deterministic_inference` (to 0.5.18) with
`arg_groups/attention_hook.py:handle_deterministic_inference` (0.5.19 and newer), and
`arg_groups/parallel_hook.py:_disable_nccl_graph_buffer_registration` (0.5.20 and newer).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from specpreflight.engines.sglang.server_args.state import ServerArgs

_ENGINE = "entrypoints/engine.py:_set_envs_and_config"


class EngineVariable(NamedTuple):
    """A variable that the engine sets.

    Attributes:
        value: what it sets; `None` where that depends on facts that are not known.
        rule: `forced` overwrites what the launch says, `default` gives way to it.
        source: the engine's file and function.
    """

    value: str | None
    rule: Literal["forced", "default"]
    source: str


def engine_environment(args: ServerArgs) -> Mapping[str, EngineVariable]:
    """Return the NCCL and CUDA variables that the engine sets for resolved arguments."""
    found = dict(_before_processes(args))
    if args.enable_deterministic_inference and args.tp_size > 1 and args.machine.is_cuda:
        found.update(_for_deterministic_inference(args))
    if args.since("0.5.20"):
        found.update(_against_graph_registration(args))
    return found


def _before_processes(args: ServerArgs) -> Iterator[tuple[str, EngineVariable]]:
    symmetric, nvls = bool(args.enable_symm_mem), bool(args.enable_nccl_nvls)
    gives_way = args.since("0.5.4.post2") and not symmetric
    yield _set("NCCL_CUMEM_ENABLE", symmetric, gives_way)
    if args.since("0.5.4.post3"):
        yield _set("NCCL_NVLS_ENABLE", nvls or symmetric, not (nvls or symmetric))
    elif not symmetric:
        yield _set("NCCL_NVLS_ENABLE", nvls, gives_way=False)
    if args.since("0.5.15") and args.dcp_size > 1:
        yield _set("NCCL_GRAPH_MIXING_SUPPORT", False, not symmetric)
    if args.since("0.5.17") and args.nnodes > 1:
        # On a multi-node NVLink fabric both become 1, which only the machine can say.
        yield "NCCL_MNNVL_ENABLE", EngineVariable(None, "default", _ENGINE)
        if not symmetric:
            yield "NCCL_CUMEM_ENABLE", EngineVariable(None, "default", _ENGINE)
    connections = "8" if args.since("0.5.4.post1") else "4"
    yield "CUDA_DEVICE_MAX_CONNECTIONS", EngineVariable(connections, "forced", _ENGINE)
    if not args.since("0.5.19"):
        yield "CUDA_MODULE_LOADING", EngineVariable("AUTO", "forced", _ENGINE)
    if not args.since("0.5.1"):
        yield "TORCH_NCCL_AVOID_RECORD_STREAMS", EngineVariable("1", "forced", _ENGINE)


def _set(name: str, on: bool, gives_way: bool) -> tuple[str, EngineVariable]:
    return name, EngineVariable(str(int(on)), "default" if gives_way else "forced", _ENGINE)


def _for_deterministic_inference(args: ServerArgs) -> Iterator[tuple[str, EngineVariable]]:
    source = "server_args.py:_handle_deterministic_inference"
    if args.since("0.5.19"):
        source = "arg_groups/attention_hook.py:handle_deterministic_inference"
    yield "NCCL_ALGO", EngineVariable("allreduce:tree", "forced", source)
    if args.since("0.5.18"):
        channels: Any = args.environment.get("SGLANG_DETERMINISTIC_NCCL_NCHANNELS", "8")
        for name in ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"):
            yield name, EngineVariable(str(channels), "forced", source)


def _against_graph_registration(args: ServerArgs) -> Iterator[tuple[str, EngineVariable]]:
    """Yield `NCCL_GRAPH_REGISTER`, where CUDA graphs could hang with registered buffers."""
    if args.since("0.5.23"):
        on = max(args.tp_size, args.ep_size, args.dp_size) > 1 and not args.disable_cuda_graph
    else:
        on = bool(args.enable_tp_lm_head_all_to_all)
        if args.since("0.5.22"):
            saver = args.variable_is_true("SGLANG_MEMORY_SAVER_CUDA_GRAPH")
            on = on or bool(args.enable_memory_saver and saver)
    if on:
        source = "arg_groups/parallel_hook.py:_disable_nccl_graph_buffer_registration"
        yield "NCCL_GRAPH_REGISTER", EngineVariable("0", "default", source)
