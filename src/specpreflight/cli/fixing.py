"""`check --diff` and `check --fix`: plan, look at the result, then show or write it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from specpreflight.api import check
from specpreflight.cli import report_error
from specpreflight.cli.configured import report_idle
from specpreflight.cli.launch_fixing import plan_launch_fix
from specpreflight.documents import Document
from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.apply import Applied, FixesIncomplete, FixesInterrupted, apply_plans
from specpreflight.fixes.copy import copy_fixed
from specpreflight.fixes.diff import render_diff
from specpreflight.fixes.plan import FilePlan, plan_fixes
from specpreflight.fixes.recheck import FixRefused, converge
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Finding
from specpreflight.models.launch import Launch

if TYPE_CHECKING:
    from specpreflight.cli.check import Options
    from specpreflight.models.report import Report

#: The exit code of a run that Ctrl-C ended.
INTERRUPTED: Final = 130


def fix_launches(launches: Sequence[Launch], options: Options) -> int:
    """Fix what the launches share, as the options say, and return the exit code.

    `--diff` writes the diff to stdout and the report to stderr. `--fix` writes the files and
    reports on the state after that.
    """
    from specpreflight.cli.check import exit_code, worst_of, write_reports

    before = [check(launch, policy=options.policy) for launch in launches]
    try:
        plans, found = plan_for(launches, _findings(before), options)
        after = found or before
        edited = _edited(launches, plans)
        launch_fix = plan_launch_fix(edited, after, options)
    except FixRefused as refused:
        report_error(refused)
        write_reports(before, options)
        return 0 if options.action == "diff" else worst_of(1, exit_code(before, options))
    if options.action == "diff":
        write_reports(before, options, to_stderr=True)
        launch_diff = b"" if launch_fix is None else launch_fix.diff()
        click.echo(render_diff(plans) + launch_diff, nl=False)
        exit_code(before, options)
        return 0
    if options.hub_pr:
        propose(plans, before)
        write_reports(before, options)
        return exit_code(before, options)
    written = _write(plans, options)
    if written.code == INTERRUPTED:
        return written.code
    if written.code:
        edited = _edited(launches, [plan for plan in plans if plan.document.name in written.names])
    elif launch_fix is not None:
        say_fixed(launch_fix.write())
        edited = list(launch_fix.launches)
    if written.code or launch_fix is not None:
        after = [check(launch, policy=options.policy) for launch in edited]
    write_reports(after, options)
    report_idle(after, options.policy)
    return worst_of(written.code, exit_code(after, options))


def plan_for(
    launches: Sequence[Launch], before: Sequence[Finding], options: Options
) -> tuple[tuple[FilePlan, ...], Sequence[Report]]:
    """Plan the fixes of all launches together, checked on the edited bytes.

    Args:
        launches: what shares the files to be fixed.
        before: what was found in them.
        options: which fixes are wanted.

    Returns:
        A plan for each file that changes, and the reports on the launches with the edited files;
        no report where nothing changes.

    Raises:
        FixConflict: two remedies contradict each other.
        FixRefused: the result would have a new error.
    """
    applicability = ("safe", "unsafe") if options.unsafe else ("safe",)
    choose: Callable[[Sequence[Finding]], Sequence[Finding]] = list
    if options.interactive:
        from specpreflight.cli.interactive import terminal_chooser

        choose = terminal_chooser(applicability).choose
    reports: Sequence[Report] = ()

    def check_edited(documents: Sequence[Document]) -> list[Finding]:
        nonlocal reports
        edited = (with_documents(launch, documents) for launch in launches)
        reports = [check(launch, policy=options.policy) for launch in edited]
        return _findings(reports)

    def plan(findings: Sequence[Finding], documents: Sequence[Document]) -> tuple[FilePlan, ...]:
        chosen = [one for one in findings if not options.select or one.rule in options.select]
        return plan_fixes(choose(chosen), documents, applicability)

    plans = converge(_documents(launches), before, check_edited, plan)
    return plans, reports


def _findings(reports: Sequence[Report]) -> list[Finding]:
    return [finding for report in reports for finding in report.findings]


def _edited(launches: Sequence[Launch], plans: Sequence[FilePlan]) -> list[Launch]:
    documents = [plan.edited for plan in plans]
    return [with_documents(launch, documents) for launch in launches]


def with_documents(launch: Launch, documents: Sequence[Document]) -> Launch:
    """Return the launch as it would be if its files held these documents."""
    by_name = {document.name: document for document in documents}

    def edited(checkpoint: Checkpoint | None) -> Checkpoint | None:
        if checkpoint is None or checkpoint.config.name not in by_name:
            return checkpoint
        return replace(checkpoint, config=by_name[checkpoint.config.name])

    copies = {
        role: tuple(edited(copy) for copy in copies)
        for role, copies in launch.facts.get("copies", {}).items()
    }
    return replace(
        launch,
        target=edited(launch.target),
        draft=edited(launch.draft),
        facts={**launch.facts, "copies": copies},
    )


def _documents(launches: Sequence[Launch]) -> list[Document]:
    """Return the documents of all readable checkpoints, each once."""
    documents = {
        checkpoint.config.name: checkpoint.config
        for launch in launches
        for checkpoint in (launch.target, launch.draft)
        if checkpoint is not None and checkpoint.problem is None
    }
    return list(documents.values())


class Written(NamedTuple):
    """The files that were written, by name, and 0, 4 (some were not) or 130 (Ctrl-C)."""

    names: frozenset[str]
    code: int


def write_plans(
    plans: Sequence[FilePlan], options: Options, progress: Callable[[Applied], None]
) -> Written:
    """Write the plans, saying on stderr what was not written."""
    try:
        applied = apply_plans(plans, sync=not options.no_fsync, progress=progress)
    except FixesIncomplete as incomplete:
        for failure in incomplete.failures:
            report_error(failure)
        return Written(frozenset(one.name for one in incomplete.applied), InputError.exit_code)
    except FixesInterrupted as interrupted:
        for failure in interrupted.failures:
            report_error(failure)
        for name in interrupted.untouched:
            click.echo(f"not fixed: {name}", err=True)
        return Written(frozenset(one.name for one in interrupted.applied), INTERRUPTED)
    return Written(frozenset(one.name for one in applied), 0)


def _write(plans: Sequence[FilePlan], options: Options) -> Written:
    if options.copy_to is None:
        return write_plans(plans, options, say_fixed)
    if len(plans) > 1:
        names = " and ".join(plan.document.name for plan in plans)
        raise UsageError(
            f"--copy-to makes one checkpoint, and {names} need fixes",
            hint="copy one of them with --select-fix RULE",
        )
    for plan in plans:
        new = copy_fixed(plan, Path(options.copy_to))
        name = plan.document.name
        click.echo(f"fixed copy: {new}; the report is on it, {name} is as it was", err=True)
    return Written(frozenset(plan.document.name for plan in plans), 0)


def propose(plans: Sequence[FilePlan], reports: Sequence[Report]) -> None:
    """Open a pull request on the Hub for each plan, the reports as its description.

    Raises:
        UsageError: a plan is for a file that is not from the Hub.
        InputError: the Hub refuses, or cannot be reached.
    """
    from specpreflight.reports.markdown import render_markdown
    from specpreflight.storage.hub import cached_address, open_pull_request

    for plan in plans:
        path = plan.document.path
        address = None if path is None else cached_address(path)
        if path is None or address is None:
            raise UsageError(
                f"{plan.document.name}: --hub-pr needs a checkpoint of the Hub",
                hint="give its id (org/name), with --online if it is not in the cache",
            )
        title = f"Fix {path.name}: {', '.join(plan.rules)}"
        files = {path.name: plan.new_data}
        url = open_pull_request(address, files, title, render_markdown(reports))
        click.echo(f"opened {url} ({', '.join(plan.rules)})", err=True)


def say_fixed(applied: Applied) -> None:
    """Say on stderr which file was fixed, and what the user should know of it."""
    from shlex import quote

    rules = ", ".join(applied.rules)
    back = f"specpreflight undo {quote(applied.name)}"
    click.echo(f"fixed {applied.name} ({rules}); `{back}` takes it back", err=True)
    for note in applied.notes:
        click.echo(f"  {note}", err=True)
