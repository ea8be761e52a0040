"""Deaths without a traceback of their own, several at once, and what survivors print about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from engine_logs import Sglang, Vllm, as_json, as_plain, traceback_lines
from log_failures import OOM, S, sglang_frames, target_frames

from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.rules.registry import find_rule
from specpreflight.sources.log_reader import unwrap

SIGQUIT = "Received sigquit from a child process. It usually means the child failed."
BARRIER = (
    "ValueError: TP rank {} could finish the model loading, but there are other ranks that didn't "
    "finish loading. It is likely due to unexpected failures (e.g., OOM) or a slow node."
)
PEER = (
    "[rank{0}]:[W0301 23:59:01.201 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=84): "
    "Connection reset by peer"
)
TIMEOUT = (
    "[rank{}]:[E0301 00:09:01.118 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=1, OpType=ALLGATHER, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600011 milliseconds before timing out."
)
INIT = "h:1:2 [{0}] NCCL INFO ncclCommInitRank comm 0x1 rank {0} nranks 2 cudaDev {0} - Init {1}"
SERVED = [2.0] * 12


def read(log: Sglang | Vllm | str) -> Diagnosis:
    text = log if isinstance(log, str) else log.text
    return diagnose([text.encode()], unwrap)


def rank_dies(log: Sglang, rank: int, final: str, *frames: str) -> None:
    first, *rest = traceback_lines([*target_frames(log.release), *frames], final)
    log.say(f"Scheduler hit an exception: {first}", rank)
    log.lines += [*rest, ""]


@pytest.mark.parametrize(
    ("step", "line", "values"),
    [
        ("TW", "Subprocess scheduler_0 (pid=4) crashed with exit code -9. Triggering SIGQUIT", {}),
        ("TW", "Rank 3 scheduler is dead. Please check if there are relevant logs.\nExit code: -9",
         {}),
        ("TW", "Killed", {}),
        ("TGR", "sglang-1 exited with code 137", {}),
        ("DW", "Mar  1 23:59:40 n kernel: Out of memory: Killed process 812 (python3) total-vm:9kB",
         {"pid": 812}),
        ("DW", "sglang.service: Main process exited, code=killed, status=9/KILL", {}),
    ],
)  # fmt: skip
def test_a_kill_is_told(step: str, line: str, values: dict[str, Any]) -> None:
    log = Sglang("0.5.12").start(step)
    log.lines.append(line)
    found = read(log)
    assert (found.cause, found.stage, found.healthy) == ("L-MEM-KILL", step, False)
    assert found.values["exit_code"] == -9
    assert values.items() <= found.values.items()


def test_a_worker_of_vllm_is_killed() -> None:
    log = Vllm("0.31.0").start("DW")
    log.say(
        "Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor.",
        "EngineCore",
        "ERROR",
    )
    assert (read(log).cause, read(log).stage) == ("L-MEM-KILL", "DW")


def test_a_kill_while_serving_at_the_end_of_a_large_log() -> None:
    log = Sglang("0.5.9").start("RUN").serve([2.0] * 4000)
    log.lines.append("Killed")
    blocks = [line.encode() + b"\n" for line in log.lines]
    whole = [b"".join(blocks[start : start + 500]) for start in range(0, len(blocks), 500)]
    found = diagnose(whole, unwrap)
    assert (found.cause, found.stage) == ("L-MEM-KILL", "RUN")
    assert found.last_line == log.text.count("\n")


def test_a_server_that_was_stopped_was_not_killed() -> None:
    log = Sglang("0.5.9").start("RUN").serve(SERVED)
    log.say("INFO:     Shutting down")
    log.say("INFO:     Finished server process [1840]")
    log.lines.append("sglang-1 exited with code 137")
    assert (read(log).cause, read(log).healthy) == (None, True)


@pytest.mark.parametrize(("release", "name"), [("0.5.6", ""), ("0.5.9", "scheduler ")])
def test_the_serving_watchdog(release: str, name: str) -> None:
    log = Sglang(release).start("RUN").serve(SERVED)
    log.clock.wait(300)
    soft = ", self.soft=False" if name else ""
    log.say(f"{name}watchdog timeout (self.watchdog_timeout=300{soft})".capitalize(), 0)
    log.say("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
    found = read(log)
    assert (found.cause, found.stage) == ("L-RUN-WATCHDOG", "RUN")
    assert found.values["watchdog_timeout"] == 300


def test_a_soft_watchdog_and_its_start_are_no_death() -> None:
    log = Sglang("0.5.9").start("RUN")
    log.say("Watchdog scheduler initialized.", 0)
    log.say("scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=True)", 0)
    assert read(log.serve(SERVED)).cause is None


@pytest.mark.parametrize("step", ["DIST", "RUN"])
def test_a_collective_that_times_out(step: str) -> None:
    log = Sglang("0.5.9", 4).start(step)
    if step == "RUN":
        log.serve(SERVED)
    for rank in range(3):
        log.lines += [
            TIMEOUT.format(rank),
            "terminate called after throwing an instance of 'c10::DistBackendError'",
            "Fatal Python error: Aborted",
            "Thread 0x00007f00aa (most recent call first):",
            '  File "/opt/venv/x.py", line 3 in wait',
        ]
    log.say("Subprocess scheduler_0 (pid=4) crashed with exit code -6. Triggering SIGQUIT")
    found = read(log)
    assert (found.cause, found.stage) == ("L-DIST-TIMEOUT", step)
    assert found.values["op"] == "ALLGATHER"
    assert (found.values["timeout_ms"], found.values["ranks_timed_out"]) == (600000, 3)


def test_a_port_that_is_taken() -> None:
    log = Sglang("0.5.9").start("WARM")
    log.say(
        "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address"
        " already in use"
    )
    found = read(log)
    assert (found.cause, found.stage) == ("L-OS-PORT", "WARM")
    assert (found.values["host"], found.values["port"]) == ("0.0.0.0", 30000)


def test_ranks_that_never_connect() -> None:
    log = Sglang("0.5.9").start("DIST")
    log.lines += [INIT.format(0, "START"), INIT.format(1, "START"), INIT.format(0, "COMPLETE")]
    log.lines += ["waiting for the server"] * 3
    found = read(log)
    assert (found.cause, found.stage) == ("L-NCCL-HANG", "DIST")
    assert found.values["rank_without_init_complete"] == 1


@pytest.mark.parametrize(("seconds", "cause"), [(59, None), (60, "L-NCCL-HANG")])
def test_ranks_that_connect_and_hang(seconds: int, cause: str | None) -> None:
    log = Sglang("0.5.9").start("DIST")
    for state in ("START", "COMPLETE"):
        log.lines += [INIT.format(0, state), INIT.format(1, state)]
    lines = [f"2026-03-02T00:00:00.1Z {line}" for line in log.lines]
    lines.append(f"2026-03-02T00:0{seconds // 60}:{seconds % 60:02}.1Z waiting for the server")
    found = read("\n".join(lines) + "\n")
    assert found.cause == cause
    assert found.values.get("silent_seconds") == (60 if cause else None)


def test_the_rank_that_differs_is_the_cause() -> None:
    log = Sglang("0.5.9", 4).start("TW")
    for rank in (0, 1, 3):
        rank_dies(log, rank, BARRIER.format(rank))
    rank_dies(log, 2, OOM, f"{S}model_executor/model_runner.py:load_model")
    log.lines += [PEER.format(rank) for rank in range(3)]
    log.say(SIGQUIT)
    found = read(log)
    assert (found.cause, found.stage, found.values["ranks"]) == ("L-MEM-OOM", "TW", 1)


def test_only_healthy_ranks_wrote() -> None:
    log = Sglang("0.5.9", 4).start("TW")
    for rank in (0, 1, 3):
        rank_dies(log, rank, BARRIER.format(rank))
    log.say(SIGQUIT)
    found = read(log)
    assert (found.cause, found.stage) == ("L-DIST-BARRIER", "TW")


def test_a_kill_beside_what_the_others_say() -> None:
    log = Sglang("0.5.9", 4).start("TW")
    rank_dies(log, 0, BARRIER.format(0))
    log.say("Subprocess scheduler_2 (pid=4) crashed with exit code -9. Triggering SIGQUIT")
    assert read(log).cause == "L-MEM-KILL"


def test_peers_alone_are_no_cause() -> None:
    log = Sglang("0.5.9", 4).start("TW")
    log.lines += [PEER.format(rank) for rank in range(3)]
    assert (read(log).cause, read(log).healthy) == (None, None)


def test_a_parent_that_only_knows_the_exit_code() -> None:
    log = Sglang("0.5.12").start("DW")
    final = (
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: -11). If exit code "
        "is -9 (SIGKILL), a common cause is the OS OOM killer."
    )
    log.lines += traceback_lines([f"{S}entrypoints/engine.py:_launch_subprocesses"], final)
    found = read(log)
    assert (found.cause, found.stage, found.values["exit_code"]) == ("L-UNKNOWN", "DW", -11)
    assert read(log.text.replace("-11", "-9")).cause == "L-MEM-KILL"


def test_an_engine_that_is_dead_already() -> None:
    log = Vllm("0.16.0").start("RUN").serve(SERVED)
    log.say("EngineCore encountered a fatal error.", "EngineCore", "ERROR")
    text = "\n".join(traceback_lines(["vllm/v1/engine/core.py:step"], OOM))
    log.say(text, "EngineCore", "ERROR")
    dead = (
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack "
        "trace (above) for the root cause."
    )
    for _ in range(3):
        log.bare("\n".join(traceback_lines(["vllm/v1/engine/async_llm.py:x"], dead)), "APIServer")
    found = read(log)
    assert (found.cause, found.stage) == ("L-MEM-OOM", "RUN")


def test_the_remote_code_prompt_hangs() -> None:
    log = Sglang("0.5.9").start("DCFG")
    log.lines.append(
        "The repository for /models/draft contains custom code which must be executed to correctly "
        "load the model. Do you wish to run the custom code? [y/N] "
    )
    assert read(log).cause == "L-CFG-TRUST"


def test_tracebacks_of_ranks_that_write_through_each_other() -> None:
    log = Sglang("0.5.2", 2).start("DCFG")
    final = "ValueError: Warning: Target model's context_length (8) is greater than the derived"
    final += " context_length (4). This may lead to incorrect model outputs or CUDA errors."
    lines = traceback_lines(sglang_frames("0.5.2", "DCFG"), final)
    for rank in range(2):
        log.say(f"Scheduler hit an exception: {lines[0]}", rank)
    for line in lines[1:]:
        log.lines += [line, line]
    log.say(SIGQUIT)
    found = read(log)
    assert (found.cause, found.values["ranks"]) == ("L-CTX-DRAFT", 2)
    assert (found.values["target_context"], found.values["draft_context"]) == (8, 4)


def test_only_the_last_of_several_launches_is_judged() -> None:
    good, bad = Sglang("0.5.9").start("RUN").serve(SERVED), Sglang("0.5.9").start("DW")
    bad.die("KeyError: 'lm_head.weight'", ["sglang/srt/models/llama_eagle3.py:load_weights"])
    found = read(good.text + bad.text)
    assert (found.cause, found.first_line) == ("L-W-KEY", good.text.count("\n") + 1)
    assert [one.cause for one in found.earlier] == [None]
    found = read(bad.text + good.text)
    assert (found.cause, [one.cause for one in found.earlier]) == (None, ["L-W-KEY"])


def test_a_caught_traceback_before_progress_is_no_death() -> None:
    log = Sglang("0.5.9").start("DIST")
    log.lines += traceback_lines(["flashinfer/jit.py:load"], "RuntimeError: no prebuilt kernel")
    later = Sglang("0.5.9").start("DKV")
    log.lines += [line for line in later.lines if "server_args=" not in line]
    assert (read(log).cause, read(log).healthy) == (None, None)


def test_an_unknown_error_is_shown_whole_with_the_nearest() -> None:
    log = Sglang("0.5.9").start("DW")
    log.die("ValueError: cannot load weight of the draft into parameter x: no such module\nat y",
            [])  # fmt: skip
    found = read(log)
    assert found.cause == "L-UNKNOWN"
    assert found.message is not None
    assert found.message.startswith("ValueError: cannot load weight of the draft")
    assert "L-W-SIZE" in found.nearest


@pytest.mark.parametrize("form", [as_json, as_plain])
def test_a_logging_format_of_ones_own(form: Callable[[Sglang], str]) -> None:
    log = Sglang("0.5.9").start("DW")
    frames = [*sglang_frames("0.5.9", "DW"), f"{S}models/llama_eagle3.py:load_weights"]
    log.die("KeyError: 'lm_head.weight'", frames)
    found = read(form(log))
    assert (found.engine, found.cause, found.stage) == ("sglang", "L-W-KEY", "DW")
    assert (found.values["ranks"], found.values["key"]) == (2, "lm_head.weight")
    assert found.seconds_to_death == pytest.approx(log.clock.seconds, abs=1)
    served = read(form(Sglang("0.5.16").start("RUN").serve(SERVED)))
    assert (served.healthy, served.acceptance_length) == (True, 2.0)


@pytest.mark.parametrize(
    ("command", "target", "draft", "tp"),
    [
        ("sglang serve --model-path t --tp 8 --speculative-draft-model-path=d", "t", "d", 8),
        ("python -m sglang.launch_server --model-path 'a b' --trust-remote-code", "a b", None, 1),
        ("sglang serve t --tp-size 2", "t", None, 2),
    ],
)
def test_a_launch_that_only_the_shell_traced(
    command: str, target: str, draft: str | None, tp: int
) -> None:
    log = Sglang("0.5.23").start("ARG")
    log.lines.insert(0, f"+ {command}")
    final = "TypeError: '>' not supported between instances of 'NoneType' and 'int'"
    log.die(final, sglang_frames("0.5.23", "ARG"), in_main=True)
    found = read(log)
    assert (found.cause, found.stage) == ("L-ARG-NONE", "ARG")
    assert (found.launch.target, found.launch.draft, found.values["tp"]) == (target, draft, tp)


@pytest.mark.parametrize(
    ("release", "step", "final", "frames", "rule"),
    [
        ("0.5.2", "RUN", "RuntimeError: CUDA error: device-side assert triggered", [],
         "rotary-table-short"),
        ("0.5.9", "RUN", "RuntimeError: CUDA error: device-side assert triggered", [],
         "draft-context-shorter"),
        ("0.5.9", "DKV", "ValueError: trtllm_mla backend can only be used with MLA models.", [],
         "draft-attention-backend-unfit"),
        ("0.5.9", "TKV", "ValueError: trtllm_mla backend can only be used with MLA models.",
         [f"{S}layers/attention/attention_registry.py:x"], "attention-backend-unfit"),
        ("0.5.9", "DCFG", "OSError: It looks like the config file at "
         "'/m/draft/generation_config.json' is not a valid JSON file.", [],
         "generation-config-broken"),
        ("0.5.9", "DCFG", "OSError: o/r does not appear to have a file named modeling_x.py. "
         "Checkout it.", [], "remote-code-missing"),
        ("0.5.9", "DW", "AttributeError: 'Qwen3ForCausalLM' object has no attribute 'set_embed'",
         [], "draft-path-missing"),
    ],
)  # fmt: skip
def test_the_rule_that_would_have_told(
    release: str, step: str, final: str, frames: list[str], rule: str
) -> None:
    log = Sglang(release).start(step)
    if step == "RUN":
        log.serve(SERVED)
    found = read(log.die(final, [*sglang_frames(release, step), *frames]))
    assert found.rule == rule
    assert find_rule(rule).name == rule


def test_the_rank_that_is_behind() -> None:
    log = Sglang("0.5.9", 4).start("TKV")
    log.lines = [line for line in log.lines if "TP2] Load weight end" not in line]
    found = read(log)
    assert (found.healthy, found.values["ranks_behind"]) == (None, ["TP2"])
    assert "ranks_behind" not in read(Sglang("0.5.9", 4).start("TKV")).values


def test_an_end_that_was_asked_for_is_no_death() -> None:
    for lines in (
        ["SIGTERM received. signum=15, frame=None. Draining requests and shutting down...",
         "SIGQUIT received. signum=None, frame=None. It usually means one child failed."],
        ["INFO:     Shutting down", SIGQUIT],
    ):  # fmt: skip
        log = Sglang("0.5.9").start("RUN").serve(SERVED)
        for line in lines:
            log.say(line)
        log.lines += traceback_lines(["asyncio/x.py:y"], "RuntimeError: Event loop is closed")
        assert (read(log).cause, read(log).healthy) == (None, True)


def test_a_start_that_was_interrupted_decides_nothing() -> None:
    log = Sglang("0.5.9").start("TW")
    log.lines += ["^C", *traceback_lines(["sglang/launch_server.py:<module>"], "KeyboardInterrupt")]
    log.say(SIGQUIT)
    assert (read(log).cause, read(log).healthy, read(log).stage) == (None, None, "TW")


def test_ranks_that_were_ended_before_they_connected() -> None:
    log = Sglang("0.5.9").start("DIST")
    log.lines += [INIT.format(0, "START"), INIT.format(1, "START"), INIT.format(0, "COMPLETE")]
    log.clock.wait(900)
    log.say(SIGQUIT)
    found = read(log)
    assert (found.cause, found.stage) == ("L-NCCL-HANG", "DIST")
    assert found.values["rank_without_init_complete"] == 1
