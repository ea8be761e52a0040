"""Each failure shape is recognised by its message, at its stage, with its values."""

from __future__ import annotations

from typing import Any

import pytest

from specpreflight.engines.logs.causes import CAUSES
from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.rules.registry import find_rule
from specpreflight.sources.log_reader import unwrap

SG = "/opt/venv/lib/python3.12/site-packages/sglang/srt/"
VL = "/opt/venv/lib/python3.12/site-packages/vllm/"
DRAFT = "speculative/eagle_worker.py:__init__"
CONTEXT = "context_length (262144) is greater than the derived context_length (131072)."


def died(engine: str, final: str, *frames: str) -> Diagnosis:
    """Diagnose a log of four ranks that end in `final`; a frame is `file:function[:source]`."""
    root = SG if engine == "sglang" else VL
    lines = []
    for rank in range(4):
        if engine == "sglang":
            head, prefix = f"[2026-01-01 10:00:0{rank} TP{rank}] Scheduler hit an exception: ", ""
        else:
            prefix = head = f"(Worker_TP{rank} pid=7{rank}) ERROR 01-01 10:00:0{rank} [x.py:1] "
            lines.append(head + "WorkerProc failed to start.")
        lines.append(head + "Traceback (most recent call last):")
        for frame in frames:
            file, function, source = (*frame.split(":", 2), "call()")[:3]
            lines.append(f'{prefix}  File "{root}{file}", line 1, in {function}')
            lines.append(f"{prefix}    {source}")
        lines += [prefix + line for line in final.split("\n")]
        lines += [""]
    return diagnose([("\n".join(lines) + "\n").encode()], unwrap)


@pytest.mark.parametrize(
    ("final", "frames", "cause", "stage", "values"),
    [
        (
            f"ValueError: Warning: Target model's {CONTEXT}",
            [DRAFT, "configs/model_config.py:__init__"],
            "L-CTX-DRAFT",
            "DCFG",
            {"target_context": 262144, "draft_context": 131072, "ranks": 4},
        ),
        (
            f"ValueError: Warning: Target model's {CONTEXT}",
            ["model_executor/model_runner.py:__init__", "configs/model_config.py:from_server_args"],
            "L-CTX-DRAFT-EARLY",
            "CFG",
            {"target_context": 262144},
        ),
        (
            "AttributeError: 'Foo' object has no attribute 'set_eagle3_layers_to_capture'",
            ["model_executor/model_runner.py:initialize"],
            "L-E3-IFACE",
            "TKV",
            {"target_class": "Foo"},
        ),
        (
            "ValueError: Model Foo does not implement set_eagle3_layers_to_capture, which EAGLE3 "
            "aux hidden-state capture requires.",
            ["model_executor/attention_backend_setup.py:configure_aux_hidden_state_capture"],
            "L-E3-IFACE23",
            "TW",
            {"target_class": "Foo"},
        ),
        (
            "AssertionError: Attempted to load weight (torch.Size([8, 4])) into parameter "
            "(torch.Size([8, 2]))",
            [DRAFT, "model_loader/loader.py:load_model", "models/llama_eagle3.py:load_weights"],
            "L-W-SIZE",
            "DW",
            {"loaded": [8, 4], "expected": [8, 2]},
        ),
        (
            "AssertionError",
            ["layers/linear.py:weight_loader:assert param_data.shape == loaded_weight.shape"],
            "L-W-EMPTY",
            "TW",
            {},
        ),
        (
            "KeyError: 'lm_head.weight'",
            [DRAFT, "models/llama_eagle3.py:load_weights"],
            "L-W-KEY",
            "DW",
            {"key": "lm_head.weight"},
        ),
        (
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x21504 and 14336x7168)",
            ["speculative/eagle_draft_cuda_graph_runner.py:capture", "models/llama_eagle3.py:fwd"],
            "L-SHAPE-FC",
            "DGR",
            {"given": 21504, "expected": 14336},
        ),
        (
            "ValueError: EAGLE is not supported in decode attention backend flex",
            [DRAFT],
            "L-BK-EAGLE",
            "DKV",
            {"backend": "flex"},
        ),
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current"
            " value: self.server_args.mem_fraction_static=0.81",
            ["model_executor/model_runner.py:init_memory_pool"],
            "L-MEM-TKV",
            "TKV",
            {"mem_fraction_static": 0.81},
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a "
            "total capacity of 79.11 GiB of which 1.25 GiB is free.",
            ["model_executor/model_runner.py:load_model"],
            "L-MEM-OOM",
            "TW",
            {"tried": "2.00 GiB", "gpu": 3, "free": "1.25 GiB"},
        ),
        (
            "huggingface_hub.errors.StrictDataclassFieldValidationError: Validation error for field"
            " 'rope_theta':\n    TypeError: Field 'rope_theta' expected float, got str",
            [DRAFT, "configs/model_config.py:from_server_args"],
            "L-CFG-STRICT",
            "DCFG",
            {"key": "rope_theta", "expected": "float"},
        ),
        (
            "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled cuda error\n"
            "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n"
            "Cuda failure 401 'the operation cannot be performed'",
            ["distributed/parallel_state.py:initialize_model_parallel"],
            "L-NCCL-CUDA",
            "DIST",
            {},
        ),
        ("ValueError: something new", ["managers/x.py:f"], "L-UNKNOWN", "ARG", {}),
    ],
)
def test_sglang(
    final: str, frames: list[str], cause: str, stage: str | None, values: dict[str, Any]
) -> None:
    found = died("sglang", final, *frames)
    assert (found.cause, found.stage, found.healthy) == (cause, stage, False)
    assert {name: found.values.get(name) for name in values} == values


@pytest.mark.parametrize(
    ("final", "frames", "cause", "stage"),
    [
        (
            "RuntimeError: Model does not support EAGLE3 interface but aux_hidden_state_outputs "
            "was requested",
            ["v1/worker/gpu_model_runner.py:load_model"],
            "L-E3-IFACE-VL",
            "DW",
        ),
        (
            "ValueError: There is no module or parameter named 'midlayer' in LlamaForCausalLM",
            ["v1/spec_decode/eagle.py:load_model", "models/utils.py:_load_module"],
            "L-W-NOINIT",
            "DW",
        ),
        (
            "ValueError: No available memory for the cache blocks. Try increasing "
            "`gpu_memory_utilization` when initializing the engine.",
            ["v1/core/kv_cache_utils.py:check_enough_kv_cache_memory"],
            "L-MEM-VLKV",
            "TKV",
        ),
        (
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig"
            "\nnum_tokens\n  Unexpected keyword argument [type=unexpected_keyword_argument]",
            ["engine/arg_utils.py:create_speculative_config"],
            "L-ARG-VLKEY",
            "CFG",
        ),
    ],
)
def test_vllm(final: str, frames: list[str], cause: str, stage: str) -> None:
    found = died("vllm", final, *frames)
    assert (found.cause, found.stage, found.values["ranks"]) == (cause, stage, 4)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("unrecognized arguments: --speculative-num-step 3", "L-ARG-UNREC"),
        ("argument --dtype: invalid choice: 'fp8' (choose from 'auto', 'half')", "L-ARG-CHOICE"),
        ("argument --tp-size: invalid int value: 'eight'", "L-ARG-TYPE"),
    ],
)
def test_the_argument_parser(error: str, cause: str) -> None:
    log = (
        "+ python -m sglang.launch_server --model-path m\n"
        f"usage: launch_server.py [-h]\nlaunch_server.py: error: {error}\n"
    )
    found = diagnose([log.encode()], unwrap)
    assert (found.cause, found.stage, found.healthy) == (cause, "ARG", False)


@pytest.mark.parametrize(
    "line",
    [
        "Ignore import error when loading sglang.srt.models.x: No module named 'y'",
        "Using default MoE kernel config. Config file not found at /x.json",
        'INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 503 Service Unavailable',
        "KV cache pool is full. Retract requests. #retracted_reqs: 1",
        "Watchdog scheduler initialized.",
    ],
)
def test_what_looks_like_an_error_and_is_none(line: str) -> None:
    log = f"[2026-01-01 10:00:00] {line}\n[2026-01-01 10:00:01] The server is fired up and ready"
    found = diagnose([log.encode()], unwrap)
    assert (found.cause, found.healthy) == (None, True)


def test_every_rule_that_is_named_exists() -> None:
    for cause in CAUSES:
        if cause.rule:
            assert find_rule(cause.rule).name == cause.rule


STARTED = (
    "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='m', tokenizer_path='m')\n"
    "[2026-01-01 10:00:03 TP0] Init torch distributed begin.\n"
)
READY = "[2026-01-01 10:01:00] The server is fired up and ready to roll!\n"
SERVED = READY + 20 * (
    "[2026-01-01 10:02:00 TP0] Decode batch, #running-req: 3, accept len: 2.00, accept rate: 0.33\n"
)
REFUSED_REQUEST = (
    "[2026-01-01 10:03:00] ERROR:    Exception in ASGI application\n"
    'Traceback (most recent call last):\n  File "/x/a.py", line 1, in f\n    r\nValueError: bad\n'
)
INIT = "h:1:2 [{0}] NCCL INFO ncclCommInitRank comm 0x1 rank {0} nranks 2 cudaDev {0} - Init {1}\n"


@pytest.mark.parametrize(
    ("log", "cause", "stage", "healthy"),
    [
        (
            STARTED + "[2026-01-01 10:00:40] Subprocess a (pid=4) crashed with exit code -9.\n",
            "L-MEM-KILL",
            "DIST",
            False,
        ),
        (
            STARTED + SERVED + "[2026-01-01 10:08:00 TP0] Watchdog timeout "
            "(self.watchdog_timeout=300)\n",
            "L-RUN-WATCHDOG",
            "RUN",
            False,
        ),
        (STARTED + SERVED + REFUSED_REQUEST, None, "READY", True),
        (
            STARTED + "[2026-01-01 10:00:40] Received sigquit from a child process. It usually "
            "means the child failed.\n",
            "L-UNKNOWN",
            "DIST",
            False,
        ),
        (
            STARTED + INIT.format(0, "START") + INIT.format(1, "START")
            + INIT.format(0, "COMPLETE") + 3 * "waiting for the server\n",
            "L-NCCL-HANG",
            "DIST",
            False,
        ),
        (STARTED + INIT.format(0, "START"), None, "DIST", None),
    ],
)  # fmt: skip
def test_deaths_without_a_traceback(
    log: str, cause: str | None, stage: str, healthy: bool | None
) -> None:
    found = diagnose([log.encode()], unwrap)
    assert (found.cause, found.stage, found.healthy) == (cause, stage, healthy)


def test_secrets_in_an_error_are_not_repeated() -> None:
    log = "launch_server.py: error: unrecognized arguments: --api-keys sk-planted --hf-token=sk-b\n"
    found = diagnose([log.encode()], unwrap)
    assert "sk-" not in str(found.as_data())
    assert found.cause == "L-ARG-UNREC"


def test_a_draft_that_is_never_accepted() -> None:
    log = (
        STARTED.replace("model_path='m'", "model_path='m', speculative_algorithm='EAGLE'")
        + "[2026-01-01 10:00:20 TP0] Load weight begin.\n"
        + "[2026-01-01 10:00:30 TP0] Load weight end. type=Qwen3ForCausalLM, dtype=x\n"
        + "[2026-01-01 10:00:31 TP0] Load weight begin.\n"
        + "[2026-01-01 10:00:32 TP0] Load weight end. type=LlamaForCausalLMEagle3, dtype=x\n"
        + SERVED.replace("accept len: 2.00", "accept len: 1.00")
    )
    found = diagnose([log.encode()], unwrap)
    assert (found.healthy, found.cause, found.silent_fault) == (True, None, "no-acceptance")
    assert found.rule == "algorithm-draft-mismatch"
