"""Every failure shape, in a whole log of each of its releases, is told with what it captures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_logs import WRAPPERS, Sglang, Vllm
from log_failures import FAILURES, Failure, sglang_frames, target_frames, vllm_frames
from packaging.version import Version

from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.sources.log_reader import unwrap

#: Shapes without a traceback of their own, or that are never a cause: see the other files here.
ELSEWHERE = {
    "L-CTX-WARN", "L-ARG-UNREC", "L-ARG-CHOICE", "L-ARG-TYPE", "L-ARG-VLJSON", "L-MEM-KILL",
    "L-NCCL-HANG", "L-DIST-TIMEOUT", "L-DIST-BARRIER", "L-DIST-PEER", "L-RUN-WATCHDOG",
    "L-RUN-DEAD",
}  # fmt: skip
CASES = [case for failure in FAILURES for case in failure.cases]
NAMES = [f"{failure.cause}-{release}-{failure.step}" for failure, release in CASES]


@pytest.mark.shared
def test_no_shape_is_left_out(shared: Path) -> None:
    page = (shared / "knowledge" / "logs.md").read_text()
    told = {failure.cause for failure in FAILURES} | ELSEWHERE
    assert set(re.findall(r"^\| (L-[A-Z0-9-]+)", page, re.M)) == told


def log_of(failure: Failure, release: str, ranks: int = 2) -> Sglang | Vllm:
    """Return a log of the launch that ends in this failure."""
    if failure.engine == "vllm":
        launch = Vllm(release, ranks).start(failure.step)
        if failure.step == "RUN":
            launch.serve([2.0] * 12)
        frames = [*vllm_frames(failure.step), *failure.frames]
        return launch.die(failure.final, frames, failure.process)
    log = Sglang(release, ranks).start(failure.step)
    if failure.step == "RUN":
        log.serve([2.0] * 12)
    above = sglang_frames(release, failure.step)
    if failure.process == "target":
        above = target_frames(release)
    return log.die(failure.final, [*above, *failure.frames], in_main=failure.process == "main")


def read(text: str) -> Diagnosis:
    return diagnose([text.encode()], unwrap)


def assert_told(found: Diagnosis, failure: Failure, release: str) -> None:
    stages = (failure.stage or failure.step).split("|")
    assert (found.engine, found.cause, found.healthy) == (failure.engine, failure.cause, False)
    assert found.stage in stages
    told = {name: found.values.get(name) for name in failure.values}
    assert told == failure.values
    low, high = found.version.low, found.version.high
    assert low is None or Version(low) <= Version(release)
    assert high is None or Version(release) <= Version(high)


@pytest.mark.parametrize(("failure", "release"), CASES, ids=NAMES)
@pytest.mark.parametrize("ranks", [1, 4])
def test_a_failure_is_told(failure: Failure, release: str, ranks: int) -> None:
    log = log_of(failure, release, ranks)
    found = read(log.text)
    assert_told(found, failure, release)
    if failure.process is None:
        assert found.values["ranks"] == ranks
        assert found.seconds_to_death == pytest.approx(log.clock.seconds, abs=2)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize(("failure", "release"), CASES[::19], ids=NAMES[::19])
def test_whatever_wrapped_it(
    failure: Failure, release: str, wrapper: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from specpreflight.sources.log_reader import read_blocks

    path = tmp_path_factory.mktemp("log") / "server.log"
    path.write_bytes(WRAPPERS[wrapper](log_of(failure, release).text))
    assert_told(diagnose(read_blocks(str(path)), unwrap), failure, release)
