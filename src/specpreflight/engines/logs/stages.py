"""In which step of a start a launch died: told by the process, the frames, and what came before."""

from __future__ import annotations

import re
from typing import Final

from specpreflight.engines.logs.causes import Cause
from specpreflight.engines.logs.launch_log import LaunchLog, Mark
from specpreflight.engines.logs.tracebacks import Trace

#: Frames that only a draft's failure has.
_DRAFT_FRAMES: Final = re.compile(
    r"speculative/\w*worker\w*\.py:(?:__init__|init_\w+)|eagle_draft\w*|v1/spec_decode/|gpu/spec_decode/|"
    r"_resolve_speculative_algorithm_alias|create_speculative_config|config/speculative\.py"
)
#: Frames of a process that was started by the one that reads the arguments.
_CHILD: Final = re.compile(
    r"run_scheduler_process|worker_main|run_engine_core|event_loop|WorkerProc"
)
_MAIN: Final = re.compile(
    r"prepare_server_args|server_args\.py:|speculative_hook\.py|launch_server\.py|cli/serve\.py"
)
#: The last frames that name a step → target's stage and draft's.
_STAGE_FRAMES: Final[tuple[tuple[str, str, str], ...]] = (
    (r"run_batch|event_loop|execute_model|forward_batch_generation", "RUN", "RUN"),
    (r"graph_runner\.py|init_device_graphs|init_cuda_graphs", "TGR", "DGR"),
    (r"init_memory_pool|kv_cache_configurator|initialize_kv_caches|kv_cache_utils", "TKV", "DKV"),
    (r"attention_registry|_get_attention_backend|DraftBackendFactory", "TKV", "DKV"),
    (r":load_model|:load_weights|:get_model\b|_initialize_model", "TW", "DW"),
    (r"init_torch_distributed|initialize_model_parallel|pynccl", "DIST", "DIST"),
    (r"create_engine_config", "CFG", "CFG"),
    (r"model_config\.py", "CFG", "DCFG"),
)
_FROM_FRAMES: Final = tuple(
    (re.compile(words), target, draft) for words, target, draft in _STAGE_FRAMES
)


def is_of_draft(cause: Cause | None, chain: str, launch: LaunchLog) -> bool:
    """Whether a failure is the draft's: by its frames, else by how far the launch had come."""
    if _DRAFT_FRAMES.search(chain):
        return True
    if cause is not None and cause.stage == "TW|DW":
        return launch.step == "DW"
    if cause is not None and cause.stage == "CFG|DCFG":
        return launch.engine == "sglang" and launch.step in {"TKV", "TGR", "DW"}
    return launch.step in {"DW", "DKV", "DGR"}


def stage_of(cause: Cause | None, where: Trace | Mark, launch: LaunchLog) -> str | None:
    """Return the step in which the launch died (the words of `Diagnosis.stage`)."""
    chain = where.chain if isinstance(where, Trace) else ""
    in_child = bool(_CHILD.search(chain))
    if launch.engine == "sglang" and _MAIN.search(chain) and not in_child:
        return "ARG"
    stage = _stage_of_cause(cause, chain, launch)
    if stage in {"ARG", "CFG"} and in_child:
        stage = None
    if stage is None:
        stage = _stage_of_frames(cause, chain, launch)
    return "WARM" if stage == "RUN" and launch.step == "WARM" else stage


def _stage_of_cause(cause: Cause | None, chain: str, launch: LaunchLog) -> str | None:
    if cause is None or not cause.stage:
        return None
    draft = is_of_draft(cause, chain, launch)
    if cause.name == "L-E3-IFACE":
        return "TKV" if launch.pools or launch.step in {None, "TGR"} else "TW"
    target_stage, _, draft_stage = cause.stage.partition("|")
    stage = draft_stage if draft and draft_stage else target_stage
    return "CFG" if launch.engine == "vllm" and stage == "DCFG" else stage


def _stage_of_frames(cause: Cause | None, chain: str, launch: LaunchLog) -> str | None:
    if launch.ready:
        return "RUN"
    if cause and cause.name == "L-CTX-DRAFT-EARLY" and launch.step:
        return launch.step
    draft = is_of_draft(cause, chain, launch)
    for frame in reversed(chain.split("\n")):
        for words, target_stage, draft_stage in _FROM_FRAMES:
            if words.search(frame):
                return draft_stage if draft else target_stage
    if draft and launch.step not in {"DKV", "DGR"}:
        return "DW"
    return launch.step or "ARG"
