"""Who runs the jobs of a scan: this process, others on this machine, or a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Protocol

from specpreflight.conditions import Conditions
from specpreflight.scanning.checking import Checked, Job, run_job


class Workers(Protocol):
    """Runs jobs; `window` is how many are worth having under way at once."""

    window: int

    def submit(self, job: Job) -> Future[Checked]:
        """Begin a job."""
        ...

    def close(self) -> None:
        """Stop, whatever is under way."""
        ...


class ThisProcess:
    """Runs a job when it is submitted."""

    window = 1

    def __init__(self, conditions: Sequence[Conditions], plugins: tuple[str, ...]) -> None:
        self._conditions = conditions
        self._plugins = plugins

    def submit(self, job: Job) -> Future[Checked]:
        """Run a job; what it raises is kept for whoever asks for the result."""
        future: Future[Checked] = Future()
        try:
            future.set_result(run_job(job, self._conditions, self._plugins))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        """Nothing is under way."""


class Processes:
    """Runs jobs in `count` processes; they begin with all that this one has read by then."""

    def __init__(
        self, count: int, conditions: Sequence[Conditions], plugins: tuple[str, ...]
    ) -> None:
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.window = count * 8
        self._pool = ProcessPoolExecutor(
            count, mp_context=context, initializer=_begin, initargs=(conditions, plugins)
        )

    def submit(self, job: Job) -> Future[Checked]:
        """Hand a job to the next free process."""
        return self._pool.submit(_run, job)

    def close(self) -> None:
        """Wait for the jobs under way and end the processes."""
        self._pool.shutdown(cancel_futures=True)


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


#: Of a worker process: what `_begin` was given.
_given: tuple[Sequence[Conditions], tuple[str, ...]] = ((), ())


def _begin(conditions: Sequence[Conditions], plugins: tuple[str, ...]) -> None:
    global _given
    _given = (conditions, plugins)


def _run(job: Job) -> Checked:
    return run_job(job, *_given)
