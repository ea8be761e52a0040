"""Run the jobs of a scan, each different one once; the reports come in the order of the tree."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from specpreflight.api import judge
from specpreflight.conditions import Conditions
from specpreflight.documents import read_document
from specpreflight.models.checkpoint import Problem
from specpreflight.models.launch import Launch
from specpreflight.models.policy import Policy
from specpreflight.models.report import Report
from specpreflight.scanning.checking import Checked, Job, looks_alike, run_job
from specpreflight.scanning.places import Place, Places, as_given
from specpreflight.scanning.store import Store
from specpreflight.scanning.subjects import Subject
from specpreflight.scanning.template import Template
from specpreflight.scanning.workers import ALONE, Processes, ThisProcess, Workers, collecting

#: Different launches whose reports are kept at hand.
_REMEMBERED: Final = 1024


class Scanned(NamedTuple):
    """What a scan says of one launch.

    `problems` are what could not be read; `failure` is why there is no report, a defect of this
    program. `subject` is `None` for the launch of a file in the tree, which is `launch`.
    """

    report: Report | None
    subject: Subject | None = None
    problems: tuple[Problem, ...] = ()
    failure: str | None = None
    launch: Launch | None = None


class JobKey(NamedTuple):
    """What a report depends on: both checkpoints, what they are called, and the job's rest.

    `lasting` says whether it will mean the same in another scan.
    """

    conditions: int
    target: bytes | None
    draft: bytes | None
    names: tuple[str | None, str | None]
    paired: bool
    inferred: bool
    lasting: bool


class _Answer:
    """What a job has found, or will have."""

    def __init__(
        self, future: Future[Checked], learned: Callable[[Checked], None] | None = None
    ) -> None:
        self._future: Future[Checked] | None = future
        self._learned = learned
        self._template: Template[Checked]

    def wait(self) -> Template[Checked]:
        """Return the report with open slots."""
        if self._future is not None:
            checked = self._future.result()
            self._template = Template(checked)
            self._future = None
            if self._learned is not None:
                self._learned(checked)
        return self._template


class _Waiting(NamedTuple):
    """A subject in its place in the order."""

    subject: Subject
    target: Place | None
    draft: Place | None
    key: JobKey
    answer: _Answer


class Runner:
    """Checks subjects under some conditions.

    Args:
        conditions: one for each engine.
        jobs: how many processes may run.
        policy: how findings count; its plugins run with the checks.
        store: reports of earlier scans; left alone where there are plugins, which may read anything
            and change without a new version.
        workers: who runs jobs, where it is neither this process nor others beside it.
    """

    def __init__(
        self,
        conditions: Sequence[Conditions],
        *,
        jobs: int = 1,
        policy: Policy | None = None,
        store: Store | None = None,
        workers: Workers[Job] | None = None,
    ) -> None:
        self._conditions = conditions
        self._policy = policy
        self._plugins = () if policy is None else policy.plugins
        self._store = None if self._plugins else store
        self._jobs = 1 if workers is not None else jobs
        self._run_job = partial(run_job, conditions=conditions, plugins=self._plugins)
        self._workers: Workers[Job] = workers or ThisProcess(self._run_job)
        of_trees = any(one.engine.path is not None for one in conditions)
        self._places = Places(conditions[0].find, by_likeness=not self._plugins and not of_trees)
        self._known: OrderedDict[JobKey, _Answer] = OrderedDict()
        self._submitted = 0

    def run(self, subjects: Iterable[Subject]) -> Iterator[Scanned]:
        """Yield what there is to say of each subject, in their order, once for each engine."""
        waiting: deque[_Waiting] = deque()
        with ExitStack() as stack:
            stack.enter_context(collecting())
            stack.callback(lambda: self._workers.close())
            for subject in subjects:
                for number in range(len(self._conditions)):
                    waiting.append(self._begin(subject, number))
                    while len(waiting) >= self._workers.window:
                        yield self._finish(waiting.popleft())
            while waiting:
                yield self._finish(waiting.popleft())

    def _begin(self, subject: Subject, number: int) -> _Waiting:
        target = None if subject.target is None else self._places.of("target", subject.target)
        draft = None if subject.draft is None else self._places.of("draft", subject.draft)
        if target is not None and draft is not None and target.directory == draft.directory:
            target, draft = as_given(target.names.given), as_given(draft.names.given)
        key = JobKey(
            number,
            target and target.identity,
            draft and draft.identity,
            (target and target.slot, draft and draft.slot),
            subject.paired_by is not None,
            subject.inferred,
            (target is None or target.directory is not None)
            and (draft is None or draft.directory is not None),
        )
        return _Waiting(subject, target, draft, key, self._answer(key, target, draft))

    def _answer(self, key: JobKey, target: Place | None, draft: Place | None) -> _Answer:
        answer = self._known.get(key)
        if answer is not None:
            self._known.move_to_end(key)
            return answer
        kept = self._store.get(key) if self._store is not None and key.lasting else None
        if kept is not None:
            future: Future[Checked] = Future()
            future.set_result(kept)
            answer = _Answer(future)
        else:
            job = _job(key, target, draft)
            answer = _Answer(self._submit(job), lambda checked: self._keep(key, checked))
        self._known[key] = answer
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return answer

    def _submit(self, job: Job) -> Future[Checked]:
        self._submitted += 1
        if self._submitted > ALONE and self._jobs > 1:
            self._workers = Processes(self._jobs, self._run_job)
            self._jobs = 1
        return self._workers.submit(job)

    def _keep(self, key: JobKey, checked: Checked) -> None:
        if self._store is not None and key.lasting and not checked.report.internal_errors:
            self._store.put(key, checked)

    def _finish(self, waiting: _Waiting) -> Scanned:
        subject, target, draft, key, answer = waiting
        try:
            template = answer.wait()
            if template.value.looks:
                job = _job(key, target, draft)
                if not looks_alike(template.value.looks, job):
                    template = Template(self._workers.submit(job).result())
            report, problems, _ = _fill(template, subject, (target, draft))
        except Exception as error:
            what = " for ".join(side.given for side in (subject.draft, subject.target) if side)
            return Scanned(None, subject, failure=f"{what}: {type(error).__name__}: {error}")
        if self._policy is not None and report.findings:
            report = judge(report, self._policy)
        return Scanned(report, subject, problems)


def _fill(template: Template[Checked], subject: Subject, places: Sequence[Place | None]) -> Checked:
    """Return what a job has found as it is to be said of this subject.

    Raises:
        InputError: a config.json is not there any more.
    """
    names = {}
    for place in places:
        if place is not None and place.slot is not None:
            names[place.slot] = place.names
    checked = template.fill(names, subject.paired_by)
    for place in places:
        if checked.report.excerpts and place is not None and place.unread:
            report = _with_own_lines(checked.report, place.names.config)
            checked = checked._replace(report=report)
    return checked


def _job(key: JobKey, target: Place | None, draft: Place | None) -> Job:
    return Job(
        key.conditions,
        target and target.job_side,
        draft and draft.job_side,
        key.paired,
        key.inferred,
    )


def _with_own_lines(report: Report, config: str) -> Report:
    """Return the report with the lines of this config.json, not of one that is like it."""
    own = read_document(config)
    excerpts = {
        (path, line): own.line_text(line) if path == config else text
        for (path, line), text in report.excerpts.items()
    }
    return replace(report, excerpts=excerpts)
