"""Which step of a start a line tells of, and what it says.

SGLang: `entrypoints/engine.py`, `managers/scheduler.py`, `model_executor/model_runner.py` and the
graph runners; vLLM: `v1/engine/core.py`, `v1/worker/gpu_model_runner.py`, `config/model.py`.
"""

from __future__ import annotations

import re
from typing import Final

from specpreflight.engines.logs.launch_log import LaunchLog
from specpreflight.engines.logs.lines import Line
from specpreflight.engines.logs.memory_lines import read_memory, read_vllm_memory
from specpreflight.engines.logs.overlooked import OVERLOOKED
from specpreflight.engines.logs.versions import named_build, named_libraries, named_release

_LOADED: Final = re.compile(r"type=(\w+)")
_CONTEXT: Final = re.compile(
    r"context_length \((\d+)\) is greater than the derived context_length \((\d+)\)"
)
#: What every rank of SGLang prints once a step, so that who lacks one is behind.
_OF_EVERY_RANK: Final = (
    "Init torch distributed", "Load weight ", "KV Cache is allocated", "Memory pool end",
    "Capture cuda graph", "Capture target",
)  # fmt: skip
_SERVING_LIMITS: Final = re.compile(r"max_running_requests=(\d+), context_len=(\d+)")
_SHARDS: Final = re.compile(r"shards: +(\d+)% Comp?\w*(?: \| (\d+)/(\d+))?")
_VLLM_LENGTH: Final = re.compile(r"Using max model len (\d+)")
_VLLM_RELEASE: Final = re.compile(
    r"(?:server version|LLM engine \(v|█  version) ?"
    r"(\d+\.\d+\.\d+(?:\.?post\d+|rc\d+)?)"
)
_VLLM_STEPS: Final = (
    ("Resolved architecture:", "CFG"),
    ("is using nccl==", "DIST"),
    ("is assigned as DP rank", "DIST"),
    ("Starting to load model", "TW"),
    ("Loading model from scratch", "TW"),
    ("Loading drafter model", "DW"),
    ("KV cache size", "TKV"),
    ("Available KV cache memory", "TKV"),
    ("Capturing model for", "DGR"),
    ("Graph capturing finished", "TGR"),
    ("init engine (profile", "WARM"),
)


def read_step(launch: LaunchLog, line: Line) -> None:
    """Take what a line says of the start into `launch`."""
    before = launch.step
    _read(launch, line)
    if launch.step != before:
        launch.progress += 1


def _read(launch: LaunchLog, line: Line) -> None:
    text = line.text
    for words, name in OVERLOOKED.items():
        if words in text:
            launch.warnings.setdefault(name, text[:300])
    if "shards" in text and (match := _SHARDS.search(text)):
        if match[3]:
            launch.values["shards_done"] = int(match[2])
            launch.values["shards_total"] = int(match[3])
        elif total := launch.values.get("shards_total"):
            launch.values["shards_done"] = -(-int(match[1]) * total // 100)
        if launch.step not in {"TW", "DW"}:
            launch.step = "TW"
    if release := named_release(text):
        launch.release = release
    launch.build = named_build(text) or launch.build
    launch.libraries |= named_libraries(text)
    if "context_length (" in text and (match := _CONTEXT.search(text)):
        _read_context_warning(launch, text, match)
    if line.engine == "sglang":
        _read_sglang(launch, line)
    elif line.engine == "vllm" or launch.engine == "vllm":
        _read_vllm(launch, text)


def _read_context_warning(launch: LaunchLog, text: str, match: re.Match[str]) -> None:
    launch.values["target_context"] = int(match[1])
    launch.values["draft_context"] = int(match[2])
    launch.values["override"] = True
    launch.warnings.setdefault("context-exceeds-draft", text[:300])


def _read_sglang(launch: LaunchLog, line: Line) -> None:
    text, process = line.text, line.process
    if text.startswith(_OF_EVERY_RANK):
        launch.reached[process] += 1
    read_memory(launch.memory, text, loads=launch.loads[process], pools=launch.pools[process])
    if text.startswith("Init torch distributed begin"):
        if not launch.loads:
            launch.step = "DIST"
    elif text.startswith("Load weight begin"):
        launch.loads[process] += 1
        launch.step = "TW" if launch.loads[process] == 1 else "DW"
        if launch.loads[process] == 2:
            order = "after" if launch.pools[process] else "before"
            launch.texts.add(f"(the draft's weights {order} the KV cache)")
    elif text.startswith("Load weight end"):
        which = "draft_class" if launch.loads[process] > 1 else "target_class"
        if match := _LOADED.search(text):
            launch.values[which] = match[1]
        launch.values.pop("shards_done", None)
        launch.values.pop("shards_total", None)
    elif text.startswith("Memory pool end"):
        launch.pools[process] += 1
        launch.step = "TKV" if launch.pools[process] == 1 else "DKV"
    elif text.startswith("Capture draft"):
        launch.step = "DGR"
    elif text.startswith("Capture ") and "raph " in text:
        launch.step = "TGR"
    elif text.startswith("max_total_num_tokens=") and (match := _SERVING_LIMITS.search(text)):
        launch.values["max_running_requests"] = int(match[1])
        launch.values["context_len"] = int(match[2])
    elif "Application startup complete" in text:
        launch.step = "WARM"
    elif "The server is fired up" in text:
        launch.step, launch.ready, launch.ready_line = "READY", True, line.number
        launch.ready_time = launch.last


def _read_vllm(launch: LaunchLog, text: str) -> None:
    read_vllm_memory(launch.memory, text)
    if ("version" in text or "(v" in text) and (match := _VLLM_RELEASE.search(text)):
        launch.release = match[1]
    if text.startswith("Loading weights took"):
        launch.values.pop("shards_done", None)
        launch.values.pop("shards_total", None)
    if text.startswith("Resolved architecture: "):
        which = "draft_class" if "target_class" in launch.values else "target_class"
        launch.values[which] = text.removeprefix("Resolved architecture: ").strip()
    elif match := _VLLM_LENGTH.match(text):
        which = "draft_context" if "target_context" in launch.values else "target_context"
        launch.values[which] = int(match[1])
    if "Application startup complete" in text:
        launch.step, launch.ready = "READY", True
        launch.ready_time = launch.last
        return
    for words, step in _VLLM_STEPS:
        if words in text:
            launch.step = step
