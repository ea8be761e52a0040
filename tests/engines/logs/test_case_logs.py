"""Public failure reports: each message that a report quotes is recognised in a log that holds it.

The reports lie in the team's shared material. What a report observed becomes the end of a log of
its engine: a traceback, an acceptance, or ranks that hang.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from engine_logs import Sglang, Vllm
from log_failures import sglang_frames, vllm_frames

from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.sources.log_reader import unwrap

pytestmark = pytest.mark.shared

#: The number of a report → step where it stops, shape of the failure.
DEATHS = {
    2: ("RUN", "L-CTX-RUN"), 5: ("RUN", "L-VL-ROPE"), 8: ("RUN", "L-VL-NUMEL"),
    11: ("DW", "L-E3-EMBED"), 13: ("DKV", "L-BK-MLA"), 14: ("DKV", "L-BK-MLA"),
    16: ("DCFG", "L-CFG-MODELTYPE"), 18: ("DGR", "L-SHAPE-AUX"), 22: ("DW", "L-W-KEY"),
    25: ("DGR", "L-SHAPE-DTYPE"), 26: ("DGR", "L-SHAPE-DTYPE"), 28: ("RUN", "L-SHAPE-DTYPE"),
    31: ("CFG", "L-CFG-VOCAB"), 33: ("RUN", "L-SHAPE-HID"), 34: ("DW", "L-W-KEY"),
    37: ("CFG", "L-CFG-E3TYPE"), 40: ("DW", "L-E3-IFACE-VL"), 42: ("CFG", "L-CFG-ARCH-VL"),
    44: ("CFG", "L-CFG-ARCH-VL"), 48: ("RUN", "L-TOPK-OOR"), 50: ("CFG", "L-CFG-TP"),
    51: ("DW", "L-W-KEY"), 56: ("RUN", "L-SHAPE-FC"), 57: ("DW", "L-CFG-ROPEKEY"),
    65: ("DW", "L-W-MOE"), 68: ("DW", "L-W-MOE"), 70: ("DGR", "L-HOTTOK"),
    77: ("DGR", "L-SHAPE-VLASSERT"), 84: ("CFG", "L-CFG-NOTVALIDJSON"),
    85: ("CFG", "L-CFG-NOTVALIDJSON"), 86: ("CFG", "L-CFG-NOTVALIDJSON"),
    88: ("CFG", "L-CFG-NOTVALIDJSON"), 90: ("CFG", "L-HUB-OFFLINE"), 95: ("DIST", "L-NCCL-USAGE"),
    98: ("DIST", "L-NCCL-CUDA"), 114: ("RUN", "L-SHAPE-FC"), 116: ("TKV", "L-VL-PAGESIZE"),
    125: ("DW", "L-W-QUANT-MARLIN"), 126: ("DGR", "L-TOPK-OOR"), 131: ("DW", "L-W-KEY"),
}  # fmt: skip
#: Messages of no known shape → the rule that covers them, where one does.
UNKNOWN = {
    38: "vllm-target-unfit-for-drafts",
    54: "tensors-do-not-fit",
    71: "tensors-do-not-fit",
    72: None,
    80: "loader-refuses",
    106: None,
    107: None,
}
#: Servers that look healthy → the acceptance length that was reported.
SILENT = {
    10: 1.0, 12: 1.0, 18: 1.1, 19: 1.036, 20: 1.0, 53: 1.0, 67: 1.0, 119: 1.12, 121: 1.1,
}  # fmt: skip
#: An AssertionError and a ValueError whose text the reports do not quote.
NOT_QUOTED = {75, 111}
HANGS = (91, 92, 93, 97, 102, 103)
#: Words in quotes and exceptions: what makes `observed` name a message.
NAMES_A_MESSAGE = re.compile(r"'[^']{12,}'|Error\b|has no attribute|assert |must match the size")


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[int, dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    return {
        int(path.name.split("-")[0]): yaml.safe_load(path.read_text())
        for path in (shared / "cases").glob("*.yaml")
    }


def log_of(engine: str, step: str) -> Sglang | Vllm:
    log = Vllm("0.16.0").start(step) if "vllm" in engine else Sglang("0.5.9").start(step)
    return log.serve([2.0] * 12) if step == "RUN" else log


def died(case: dict[str, Any], step: str) -> Diagnosis:
    """Diagnose a log that ends with what the report observed."""
    log = log_of(case["engine"], step)
    observed = str(case["observed"])
    if isinstance(log, Vllm):
        log.die(observed, vllm_frames(step), "APIServer" if step == "CFG" else None)
    else:
        log.die(observed, sglang_frames("0.5.9", step), in_main=step == "CFG")
    return diagnose([log.text.encode()], unwrap)


@pytest.mark.parametrize("number", DEATHS)
def test_a_message_of_a_known_shape(cases: dict[int, dict[str, Any]], number: int) -> None:
    step, cause = DEATHS[number]
    found = died(cases[number], step)
    assert (found.cause, found.healthy) == (cause, False)


@pytest.mark.parametrize("number", UNKNOWN)
def test_a_message_of_no_known_shape(cases: dict[int, dict[str, Any]], number: int) -> None:
    case = cases[number]
    found = died(case, "DW")
    assert (found.cause, found.rule) == ("L-UNKNOWN", UNKNOWN[number])
    assert found.message == case["observed"]
    assert found.rule or found.nearest


@pytest.mark.parametrize("number", SILENT)
def test_a_server_that_accepts_too_little(cases: dict[int, dict[str, Any]], number: int) -> None:
    case = cases[number]
    assert f"{SILENT[number]:.10g}" in str(case["observed"]) or SILENT[number] == 1.0
    log = log_of(case["engine"], "RUN")
    log.lines = [line for line in log.lines if "accept" not in line]
    found = diagnose([log.serve([SILENT[number]] * 12).text.encode()], unwrap)
    assert (found.healthy, found.cause) == (True, None)
    assert found.silent_fault == (
        "no-acceptance" if SILENT[number] <= 1.05 else "little-acceptance"
    )
    assert len(found.serving.suspects) >= 3


@pytest.mark.parametrize("number", HANGS)
def test_ranks_that_hang(cases: dict[int, dict[str, Any]], number: int) -> None:
    case = cases[number]
    assert case["outcome"] == "hang"
    log = log_of(case["engine"], "DIST")
    for state in ("START", "COMPLETE"):
        for rank in range(2):
            log.lines.append(
                f"h:1:2 [{rank}] NCCL INFO ncclCommInitRank comm 0x1 rank {rank} nranks 2 - Init "
                f"{state}"
            )
    lines = [f"2026-03-02T00:00:00Z {line}" for line in log.lines]
    text = "\n".join([*lines, "2026-03-02T00:10:00Z waiting for the server", ""])
    assert diagnose([text.encode()], unwrap).cause == "L-NCCL-HANG"


def test_no_message_is_left_out(cases: dict[int, dict[str, Any]]) -> None:
    told = DEATHS.keys() | UNKNOWN.keys() | SILENT.keys() | set(HANGS) | NOT_QUOTED
    for number, case in cases.items():
        if NAMES_A_MESSAGE.search(str(case["observed"])):
            assert number in told, (number, case["observed"])
