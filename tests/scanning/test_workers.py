"""Processes that run jobs: every job is answered once, whatever dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from specpreflight.api import identify_engine
from specpreflight.conditions import Conditions
from specpreflight.scanning import workers
from specpreflight.scanning.checking import Checked, Job, JobSide, run_job
from specpreflight.scanning.workers import Processes

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"

pytestmark = pytest.mark.skipif(not workers._FORKS, reason="the jobs of these tests are forked")


@pytest.fixture
def running() -> Iterator[Callable[..., Processes[str]]]:
    """Return what starts processes that run jobs, which are names here."""
    started: list[Processes[str]] = []

    def start(count: int, run: Callable[[str], Any]) -> Processes[str]:
        started.append(Processes(count, run))
        return started[-1]

    yield start
    for one in started:
        one.close()


def answers(processes: Processes[str], names: list[str]) -> list[Any]:
    under_way: list[Future[Checked]] = [processes.submit(name) for name in names]
    return [wait_for(one) for one in under_way]


def wait_for(one: Future[Checked]) -> Any:
    try:
        return one.result()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def die(name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


NAMES = [f"{number}" for number in range(40)]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_answers_come_to_their_jobs(running: Callable[..., Processes[str]], count: int) -> None:
    assert answers(running(count, str), NAMES) == NAMES


@pytest.mark.parametrize("count", [1, 3])
def test_a_process_that_is_killed_once_costs_nothing(
    running: Callable[..., Processes[str]], tmp_path: Path, count: int
) -> None:
    def run(name: str) -> str:
        if name in ("3", "4", "17"):
            try:
                (tmp_path / name).touch(exist_ok=False)
            except FileExistsError:
                return name
            die(name)
        return name

    assert answers(running(count, run), NAMES) == NAMES
    assert len(list(tmp_path.iterdir())) == 3


def test_a_job_that_kills_every_process_fails_alone(
    running: Callable[..., Processes[str]], tmp_path: Path
) -> None:
    def run(name: str) -> str:
        if name in ("5", "6"):
            with (tmp_path / name).open("a") as file:
                file.write("x")
            die(name)
        return name

    said = answers(running(2, run), NAMES)
    why = "WorkerError: the process that checked it was ended by signal 9, 3 times (out of memory?)"
    assert said == [why if name in ("5", "6") else name for name in NAMES]
    assert {path.read_text() for path in tmp_path.iterdir()} == {"xxx"}


def test_a_process_that_dies_between_two_jobs(running: Callable[..., Processes[str]]) -> None:
    processes = running(1, lambda name: os.getpid())
    first = processes.submit("a").result()
    os.kill(int(str(first)), signal.SIGKILL)
    second = processes.submit("b").result()
    assert first != second


def test_what_a_job_raises_is_raised_where_it_is_waited_for(
    running: Callable[..., Processes[str]],
) -> None:
    class Local(Exception):
        """No other process can read it."""

    def run(name: str) -> str:
        raise Local("text") if name == "local" else ValueError(name)

    processes = running(2, run)
    assert answers(processes, ["local", "b"]) == ["RuntimeError: Local: text", "ValueError: b"]


def test_processes_that_are_no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS and Windows: what a job needs is handed over."""
    monkeypatch.setattr(workers, "_FORKS", False)
    conditions = Conditions(identify_engine("sglang@0.5.11"))
    sides = (JobSide(str(EXAMPLE / role), f"/slot/{role}") for role in ("target", "draft"))
    pair = Job(0, *sides)
    processes = Processes(1, partial(run_job, conditions=[conditions]))
    try:
        assert processes.submit(pair).result() == run_job(pair, [conditions])
    finally:
        processes.close()


def test_closing_ends_what_is_under_way(
    running: Callable[..., Processes[str]], tmp_path: Path
) -> None:
    def run(name: str) -> None:
        (tmp_path / str(os.getpid())).touch()
        signal.pause()

    processes = running(2, run)
    for name in NAMES:
        processes.submit(name)
    while len(list(tmp_path.iterdir())) < 2:
        processes._advance(0)
    processes.close()
    for path in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name), 0)
