"""Who runs the jobs of a scan: this process, others on this machine, or a Ray cluster."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final, Generic, Protocol, TypeVar

from specpreflight.scanning.checking import Checked

_Job = TypeVar("_Job", contravariant=True)

#: Jobs that are run here before it is worth while to start other processes.
ALONE: Final = 8

#: Processes that a job may take with it before it counts as failed.
_DEATHS: Final = 3

#: Whether a process begins as a copy of this one, open connections and all.
_FORKS: Final = sys.platform == "linux"

#: Jobs that a process is handed: the one that it runs, and one to go on with.
_HANDED: Final = 2

#: Objects that may be made between two looks for garbage.
_OBJECTS: Final = 200_000


class WorkerError(Exception):
    """A job ended every process that ran it."""


class Workers(Protocol[_Job]):
    """Runs jobs of a kind; `window` is how many are worth having under way at once."""

    window: int

    def submit(self, job: _Job) -> Future[Checked]:
        """Begin a job."""
        ...

    def close(self) -> None:
        """Stop, whatever is under way."""
        ...


class ThisProcess(Generic[_Job]):
    """Runs a job when it is submitted."""

    window = 1

    def __init__(self, run: Callable[[_Job], Checked]) -> None:
        self._run = run

    def submit(self, job: _Job) -> Future[Checked]:
        """Run a job; what it raises is kept for whoever asks for the result."""
        future: Future[Checked] = Future()
        try:
            future.set_result(self._run(job))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        """Nothing is under way."""


class _Task(Future[Checked]):
    """A job under way; whoever waits for it keeps the others going."""

    def __init__(self, job: object, advance: Callable[[], None]) -> None:
        super().__init__()
        self.job = job
        self.deaths = 0
        self._advance = advance

    def result(self, timeout: float | None = None) -> Checked:
        """Wait for the answer and return it; a `timeout` is of no effect."""
        while not self.done():
            self._advance()
        return super().result()


@dataclass(eq=False)
class _Worker:
    """A process and what it was handed, the job that it runs first."""

    process: BaseProcess
    connection: Connection[Any, Any]
    tasks: deque[_Task] = field(default_factory=deque)


class Processes(Generic[_Job]):
    """Runs jobs in `count` processes; they begin with all that this one has read by then.

    A process may die at any time: the system ends one that takes too much memory. Its job begins
    again in a fresh one; what waited behind it loses nothing. `concurrent.futures` can tell neither
    from the other: there all jobs under way are lost with one process. No thread takes part here,
    so that a fresh process can be forked at any time.
    """

    def __init__(self, count: int, run: Callable[[_Job], Checked]) -> None:
        self.window = count * 8
        self._count = count
        self._run = run
        self._context: Any = multiprocessing.get_context("fork" if _FORKS else "spawn")
        self._workers: list[_Worker] = []
        self._backlog: deque[_Task] = deque()

    def submit(self, job: _Job) -> Future[Checked]:
        """Hand a job to the next free process."""
        task = _Task(job, self._advance)
        self._backlog.append(task)
        self._advance(seconds=0)
        return task

    def close(self) -> None:
        """End the processes, whatever they do."""
        for worker in self._workers:
            worker.process.terminate()
            self._end(worker)
        self._workers.clear()

    def _advance(self, seconds: float | None = None) -> None:
        """Take the answers that come in so many seconds, and hand out as many jobs again."""
        self._hand_out()
        ready = wait([worker.connection for worker in self._workers], seconds)
        for worker in [one for one in self._workers if one.connection in ready]:
            self._take_answer(worker)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._backlog:
            worker = min(self._workers, key=lambda one: len(one.tasks), default=None)
            if len(self._workers) < self._count and (worker is None or worker.tasks):
                worker = self._start()
            if worker is None or len(worker.tasks) >= _HANDED:
                return
            task = self._backlog.popleft()
            worker.tasks.append(task)
            with suppress(OSError):  # it has died, which is noticed where answers are taken
                worker.connection.send(task.job)

    def _start(self) -> _Worker:
        ours, its = self._context.Pipe()
        inherited = [ours, *(worker.connection for worker in self._workers)] if _FORKS else []
        process = self._context.Process(
            target=_serve, args=(its, inherited, self._run), daemon=True
        )
        process.start()
        its.close()
        self._workers.append(_Worker(process, ours))
        return self._workers[-1]

    def _take_answer(self, worker: _Worker) -> None:
        try:
            answer = worker.connection.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        task = worker.tasks.popleft()
        if isinstance(answer, Exception):
            task.set_exception(answer)
        else:
            task.set_result(answer)

    def _bury(self, worker: _Worker) -> None:
        """Begin again what a process that died was handed, its own job only so many times."""
        self._workers.remove(worker)
        self._end(worker)
        if worker.tasks:
            killer = worker.tasks[0]
            killer.deaths += 1
            if killer.deaths == _DEATHS:
                worker.tasks.popleft()
                killer.set_exception(WorkerError(_cause_of_death(worker.process.exitcode)))
        self._backlog.extendleft(reversed(worker.tasks))

    def _end(self, worker: _Worker) -> None:
        worker.process.join()
        worker.connection.close()


def _cause_of_death(code: int | None) -> str:
    how = f"ended with code {code}"
    if code is not None and code < 0:
        how = f"was ended by signal {-code}"
    return f"the process that checked it {how}, {_DEATHS} times (out of memory?)"


def _serve(
    connection: Connection[Any, Any],
    inherited: Sequence[Connection[Any, Any]],
    run: Callable[[Any], Checked],
) -> None:
    """Run the jobs that come, until the other end is closed or its process has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:
        other.close()
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        answer: Checked | Exception
        try:
            answer = run(job)
        except Exception as error:
            answer = _portable(error)
        connection.send(answer)


def _portable(error: Exception) -> Exception:
    """Return an exception that another process can read: this one, else what it says."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


@contextmanager
def collecting() -> Iterator[None]:
    """Collect garbage meanwhile, which a command that checks one launch leaves to the end.

    A check makes thousands of objects and few cycles: to look for those after each would take a
    twentieth of the time.
    """
    was_collecting, thresholds = gc.isenabled(), gc.get_threshold()
    gc.set_threshold(_OBJECTS, *thresholds[1:])
    gc.enable()
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if not was_collecting:
            gc.disable()


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
