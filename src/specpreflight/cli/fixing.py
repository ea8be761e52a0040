"""`check --diff` and `check --fix`: plan, look at the result, then show or write it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

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


def fix_launches(launches: Sequence[Launch], options: Options) -> int:
    """Fix what the launches share, as the options say, and return the exit code.

    `--diff` writes the diff to stdout and the report to stderr. `--fix` writes the files and
    reports on the state after that.
    """
    from specpreflight.cli.check import exit_code, write_reports

    before = [check(launch, policy=options.policy) for launch in launches]
    try:
        plans = plan_for(launches, options)
        after = [with_documents(launch, [plan.edited for plan in plans]) for launch in launches]
        launch_fix = plan_launch_fix(after, options)
    except FixRefused as refused:
        click.echo(f"specpreflight: {refused.message}\n  {refused.hint}", err=True)
        write_reports(before, options)
        return 0 if options.action == "diff" else max(1, exit_code(before, options))
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
    failed = _write(plans, options)
    if failed:
        return failed
    if launch_fix is not None:
        _say_fixed(launch_fix.write())
        after = list(launch_fix.launches)
    reports = [check(launch, policy=options.policy) for launch in after]
    write_reports(reports, options)
    report_idle(reports, options.policy)
    return exit_code(reports, options)


def plan_for(launches: Sequence[Launch], options: Options) -> tuple[FilePlan, ...]:
    """Plan the fixes of all launches together, checked on the edited bytes.

    Raises:
        FixConflict: two remedies contradict each other.
        FixRefused: the result would have a new error.
    """
    applicability = ("safe", "unsafe") if options.unsafe else ("safe",)
    choose: Callable[[Sequence[Finding]], Sequence[Finding]] = list
    if options.interactive:
        from specpreflight.cli.interactive import terminal_chooser

        choose = terminal_chooser(applicability).choose

    def check_edited(documents: Sequence[Document]) -> list[Finding]:
        edited = (with_documents(launch, documents) for launch in launches)
        return [one for launch in edited for one in check(launch, policy=options.policy).findings]

    def plan(findings: Sequence[Finding], documents: Sequence[Document]) -> tuple[FilePlan, ...]:
        chosen = [one for one in findings if not options.select or one.rule in options.select]
        return plan_fixes(choose(chosen), documents, applicability)

    return converge(_documents(launches), check_edited, plan)


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


def _write(plans: Sequence[FilePlan], options: Options) -> int:
    """Write the plans, saying on stderr what was done; return 0, 4 (failed) or 130 (Ctrl-C)."""
    if options.copy_to is not None:
        for plan in plans:
            click.echo(f"fixed copy: {copy_fixed(plan, Path(options.copy_to))}", err=True)
        return 0
    try:
        apply_plans(plans, sync=not options.no_fsync, progress=_say_fixed)
    except FixesIncomplete as incomplete:
        for failure in incomplete.failures:
            report_error(failure)
        return InputError.exit_code
    except FixesInterrupted as interrupted:
        for name in interrupted.untouched:
            click.echo(f"not fixed: {name}", err=True)
        return 130
    return 0


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


def _say_fixed(applied: Applied) -> None:
    rules = ", ".join(applied.rules)
    click.echo(f"fixed {applied.name} ({rules}); `specpreflight undo` takes it back", err=True)
    for note in applied.notes:
        click.echo(f"  {note}", err=True)
