"""Two logs against each other: what can explain the failure comes first."""

from __future__ import annotations

from engine_logs import Sglang, Vllm
from log_failures import OOM, S, sglang_frames

from specpreflight.engines.logs.compare import compare
from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.models.diagnosis import Diagnosis, Difference
from specpreflight.sources.log_reader import unwrap

CONTEXT = "context_length (262144) is greater than the derived context_length (131072). This may."


def read(log: Sglang | Vllm) -> Diagnosis:
    return diagnose([log.text.encode()], unwrap)


def good(release: str = "0.5.9", **arguments: object) -> Sglang:
    return Sglang(release, **arguments).start("RUN").serve([2.0] * 12)


def stopped(release: str) -> Sglang:
    log = Sglang(release).start("DCFG")
    return log.die(f"ValueError: Warning: Target model's {CONTEXT}", sglang_frames(release, "DCFG"))


def told(bad: Sglang | Vllm, best: Sglang | Vllm) -> dict[str, Difference]:
    return {one.name: one for one in compare(read(bad), read(best))}


def test_a_warning_of_an_old_release_became_an_error() -> None:
    best = Sglang("0.4.9.post6").start("RUN")
    best.say(f"Warning: User-specified {CONTEXT}", 0)
    found = told(stopped("0.5.9"), best.serve([2.0] * 12))
    assert next(iter(found)) == "the context mismatch"
    assert found["the context mismatch"].bad == "an error"
    assert "since 0.5.1 it is an error" in (found["release"].explains or "")


def test_the_variable_that_the_warning_proves() -> None:
    best = Sglang("0.5.9").start("RUN")
    best.say(f"Warning: Target model's {CONTEXT}", 0)
    found = told(stopped("0.5.9"), best.serve([2.0] * 12))
    override = found["SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"]
    assert (override.good, override.bad) == ("true (its log proves it)", "unset or false")
    assert "release" not in found


def test_flags_that_bear_on_the_cause_come_first() -> None:
    bad = Sglang("0.5.9", mem_fraction_static=0.95, reasoning_parser="kimi").start("TGR")
    bad.die(OOM, [*sglang_frames("0.5.9", "TGR"), f"{S}model_executor/cuda_graph_runner.py:x"])
    found = told(bad, good(speculative_num_steps=2))
    assert list(found)[:2] == ["speculative_num_steps", "mem_fraction_static"]
    assert found["mem_fraction_static"].explains
    assert found["reasoning_parser"].explains is None


def test_defaults_that_changed_are_marked_and_come_last() -> None:
    bad = Sglang("0.5.16", lora_backend="csgmv", tp_size=4).start("DW")
    bad.die("KeyError: 'lm_head.weight'", sglang_frames("0.5.16", "DW"))
    found = told(bad, good("0.5.2", lora_backend="triton"))
    assert found["lora_backend"].by_default
    assert not found["tp_size"].by_default
    assert list(found).index("lora_backend") > list(found).index("tp_size")
    assert found["release"].good == "sglang 0.5.2"


def test_timings_throughput_and_acceptance() -> None:
    slow = Sglang("0.5.9").start("RUN")
    slow.clock.wait(900)
    found = told(slow.serve([1.2] * 12), good())
    assert (found["acceptance length"].good, found["acceptance length"].bad) == ("2.00", "1.20")
    assert found["tokens a second"].bad == "132"


def test_an_overlooked_warning_that_became_an_error() -> None:
    text = "DFLASH block size mismatch: using speculative_num_draft_tokens=8 but draft config 16."
    best = Sglang("0.5.16").start("RUN")
    best.say(text, 0)
    bad = Sglang("0.5.16").start("DW").die(f"ValueError: {text}", sglang_frames("0.5.16", "DW"))
    found = told(bad, best.serve([2.0] * 12))
    assert next(iter(found)) == "message block-size-mismatch"
    assert found["message block-size-mismatch"].bad == "an error"


def test_nccl_variables_are_not_compared_where_one_run_did_not_print_them() -> None:
    best, bad = good(), good()
    best.lines.insert(3, "h:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring")
    found = told(bad, best)
    assert found["NCCL's variables"].bad is None
    assert "NCCL_ALGO" not in found


def test_libraries_and_builds() -> None:
    best, bad = Vllm("0.16.0"), Vllm("0.16.0")
    for log, torch, build in ((best, "2.8.0", "aaa1111"), (bad, "2.9.1", "bbb2222")):
        log.lines.append(f"Successfully installed torch-{torch} transformers-4.57.1")
        log.start("RUN").serve([2.0] * 12)
        log.say(f"Initializing a V1 LLM engine (v0.16.1.dev3+g{build}) with config: model='m'")
    found = told(bad, best)
    assert (found["torch"].good, found["torch"].bad) == ("2.8.0", "2.9.1")
    assert "transformers" not in found
    assert found["build"].bad == "0.16.1.dev3+gbbb2222"


def test_nothing_differs() -> None:
    assert compare(read(good()), read(good())) == ()
