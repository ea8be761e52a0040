"""Servers that work: no cause, whatever they print on the way; and what they bring."""

from __future__ import annotations

import pytest
from engine_logs import WRAPPERS, Sglang, Vllm, traceback_lines
from packaging.version import Version

from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.sources.log_reader import read_blocks, unwrap

LENGTHS = [2.1, 2.3, 2.2, 2.6, 2.4, 2.2, 2.5, 2.3, 2.1, 2.4, 2.2, 2.3]
SGLANG = (
    "0.4.6.post5", "0.4.9.post6", "0.5.1", "0.5.2", "0.5.4", "0.5.5.post3", "0.5.6.post2",
    "0.5.8.post1", "0.5.9", "0.5.10", "0.5.11", "0.5.12", "0.5.13", "0.5.15", "0.5.16", "0.5.18",
    "0.5.19", "0.5.21", "0.5.23",
)  # fmt: skip
VLLM = ("0.8.5", "0.9.2", "0.10.2", "0.11.2", "0.13.0", "0.16.0", "0.20.2", "0.24.0", "0.29.0",
        "0.31.0", "0.33.0")  # fmt: skip
#: What healthy servers print that looks like trouble.
NOISE = (
    "Ignore import error when loading sglang.srt.models.x: No module named 'y'",
    "Warning: Attention backend specified by --attention-backend or default backend might be "
    "overridden.",
    "Using default MoE kernel config. Performance might be sub-optimal! Config file not found at x",
    "Custom allreduce is disabled because this process group spans across nodes.",
    "SymmMemCommunicator: Device capability 12.0 not supported",
    "Failed to get device capability: SM 12.x requires CUDA >= 12.9.",
    "Using custom SIGQUIT handler: <function f>",
    "Watchdog scheduler initialized.",
    "Endpoint '/get_model_info' is deprecated and will be removed in a future version.",
    "KV cache pool is full. Retract requests. #retracted_reqs: 1",
    "Decode out of memory happened. #retracted_reqs: 1, #new_tokens_gained: 64",
    'INFO:     10.0.0.1:1 - "GET /health HTTP/1.1" 503 Service Unavailable',
    'INFO:     10.0.0.1:1 - "POST /generate HTTP/1.1" 400 Bad Request',
    "Input length (9000) exceeds the maximum allowed length (8192).",
    "DeepSeek MTP does not require setting speculative_draft_model_path.",
)
BARE = (
    "/opt/venv/x.py:59: FutureWarning: The pynvml package is deprecated.",
    "[W301 23:59:01.1 ProcessGroupNCCL.cpp:4] Warning: Guessing device ID based on global rank. "
    "This can cause a hang if rank to GPU mapping is heterogeneous.",
    "`torch_dtype` is deprecated! Use `dtype` instead!",
    "You are using a model of type qwen3 to instantiate a model of type llama. This is not "
    "supported for all configurations of models and can yield errors.",
    "h:1:2 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network "
    "plugin.",
    "h:1:2 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v10 symbol.",
    "Retrying in 2s [Retry 1/5].",
    "HTTP Error 429 thrown while requesting HEAD https://huggingface.co/x/config.json",
)


def read(text: str) -> Diagnosis:
    return diagnose([text.encode()], unwrap)


def assert_healthy(found: Diagnosis, release: str) -> None:
    assert (found.cause, found.healthy, found.rule) == (None, True, None)
    assert found.stage == "READY"
    assert found.silent_fault is None
    low, high = found.version.low, found.version.high
    assert low is not None
    assert high is not None
    assert Version(low) <= Version(release) <= Version(high)


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("release", SGLANG)
def test_sglang_serves(release: str, ranks: int) -> None:
    log = Sglang(release, ranks).start("RUN")
    for text in NOISE:
        log.say(text, 0)
    log.lines += BARE
    log.serve(LENGTHS)
    found = read(log.text)
    assert_healthy(found, release)
    assert found.acceptance_length == pytest.approx(2.318, abs=0.01)
    assert found.serving.tokens_per_second == pytest.approx(255, abs=1)
    assert found.serving.tokens_per_request == pytest.approx(64, abs=1)
    assert found.values["draft_class"] == "LlamaForCausalLMEagle3"
    assert found.launch.draft == "/models/qwen3-32b-eagle3"
    assert found.memory["target_kv_tokens"] == found.memory["draft_kv_tokens"] == 300160
    assert found.memory["target_weights_gb"] == 38.0
    assert found.seconds_to_ready is not None


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("release", VLLM)
def test_vllm_serves(release: str, ranks: int) -> None:
    log = Vllm(release, ranks).start("RUN")
    log.lines += BARE
    log.serve(LENGTHS)
    found = read(log.text)
    assert_healthy(found, release)
    assert found.acceptance_length == pytest.approx(2.318, abs=0.01)
    assert found.values["num_spec_tokens"] == 3
    assert found.memory["kv_cache_gib"] == 48.12
    if Version(release) >= Version("0.9"):
        assert found.launch.draft == "/models/qwen3-32b-eagle3"


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_healthy_server_through_every_wrapper(
    wrapper: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "server.log"
    for log in (Sglang("0.5.16", 2), Vllm("0.16.0", 2)):
        path.write_bytes(WRAPPERS[wrapper](log.start("RUN").serve(LENGTHS).text))
        found = diagnose(read_blocks(str(path)), unwrap)
        assert_healthy(found, log.release)


def test_tracebacks_of_requests_and_of_the_end_are_no_death() -> None:
    log = Sglang("0.5.9").start("RUN").serve(LENGTHS)
    log.say("ERROR:    Exception in ASGI application")
    log.lines += traceback_lines(["starlette/x.py:f"], "ValueError: bad request")
    log.serve(LENGTHS)
    log.say("INFO:     Shutting down")
    log.lines.append("Exception ignored in atexit callback: <bound method Engine.shutdown>")
    log.lines += traceback_lines(["sglang/srt/entrypoints/engine.py:x"], "KeyboardInterrupt: ")
    assert_healthy(read(log.text), "0.5.9")


@pytest.mark.parametrize("release", SGLANG)
def test_the_release_without_the_arguments(release: str) -> None:
    log = Sglang(release).start("RUN").serve(LENGTHS)
    log.lines = [line for line in log.lines if "server_args=" not in line]
    found = read(log.text)
    assert (found.cause, found.healthy) == (None, True)
    assert found.version.holds(release)
    assert (found.version.low, found.version.high) != (None, None)


@pytest.mark.parametrize("step", ["CFG", "DIST", "TW", "TKV", "TGR", "DW", "DKV", "DGR"])
@pytest.mark.parametrize("release", ["0.5.2", "0.5.12", "0.5.23"])
def test_a_log_that_is_cut_decides_nothing(release: str, step: str) -> None:
    found = read(Sglang(release).start(step).text)
    assert (found.cause, found.healthy) == (None, None)


def test_a_log_cut_in_the_middle_of_the_arguments() -> None:
    text = Sglang("0.5.9").start("CFG").text
    found = read(text[: text.index("page_size=")])
    assert (found.cause, found.healthy, found.launch.complete) == (None, None, False)
    assert found.launch.target == "/models/Qwen3-32B"


def test_a_server_without_speculation() -> None:
    log = Sglang("0.5.9", speculative_algorithm=None).start("RUN")
    for _ in range(9):
        log.say(
            "Decode batch, #running-req: 4, #token: 9000, token usage: 0.05, cuda graph: True, gen "
            "throughput (token/s): 200.00, #queue-req: 0",
            0,
        )
    found = read(log.text)
    assert (found.healthy, found.acceptance_length) == (True, None)
    assert found.serving.tokens_per_second == 200
