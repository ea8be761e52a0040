"""`scan --diff` and `scan --fix`: every file of a tree planned with all that is said of it.

Launches that share a file to be edited are planned together. A scan knows which launches are alike
in all that a check can see (`sources/checkpoint_identity.py`); of those one is planned, checked on
the edited bytes, and the others get the same edit: their files hold the same bytes, or are not
written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, redirect_stdout
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from specpreflight.cli import report_error
from specpreflight.cli.fixing import INTERRUPTED, plan_for, write_plans
from specpreflight.documents import Document
from specpreflight.errors import SpecpreflightError
from specpreflight.fixes.apply import Applied
from specpreflight.fixes.diff import render_diff
from specpreflight.fixes.plan import FilePlan, chosen_edits
from specpreflight.fixes.recheck import is_error
from specpreflight.models.finding import Finding
from specpreflight.models.launch import Launch
from specpreflight.sources.checkpoint import read_directory

if TYPE_CHECKING:
    from specpreflight.cli.check import Options
    from specpreflight.cli.scan import Extent
    from specpreflight.models.checkpoint import Checkpoint
    from specpreflight.scanning import Conditions, Scanned
    from specpreflight.scanning.subjects import Side, Subject


class Fixable(NamedTuple):
    """The launches of a pair, one for each engine, with findings that an edit mends.

    Attributes:
        files: what would be edited, as reports call it.
        alike: equal for launches that differ in nothing but names; `None` where nobody knows.
        findings: those with edits, and the errors, of all of them.
        load: reads the launches.
    """

    files: tuple[str, ...]
    alike: tuple[Any, ...] | None
    findings: tuple[Finding, ...]
    load: Callable[[], list[Launch]]


#: The plans for some launches, or why there are none.
Planned = tuple[FilePlan, ...] | SpecpreflightError


def fix_scan(options: Options, extent: Extent) -> int:
    """Scan, show or write the fixes, and report: with `--fix` the state after that.

    `--diff` writes the diff to stdout and the report to stderr.
    """
    from specpreflight.cli.check import worst_of
    from specpreflight.cli.scan import most_launches, plan_scan, roots_of, run_scan, scanned_in
    from specpreflight.cli.scan_progress import show_progress
    from specpreflight.scanning.survey import survey
    from specpreflight.sources.checkpoint_tree import CheckpointTree

    if options.action == "diff":
        with redirect_stdout(sys.stderr):
            run_scan(options, extent)
    tree = CheckpointTree(roots_of(options.paths, extent), latest=extent.latest)
    plan = plan_scan(options, extent)
    with show_progress() as progress, closing(survey(progress.count(tree))) as found:
        scanned = scanned_in(found, plan, options, extent)
        counted = progress.count(scanned, most_launches(found, options))
        code = fix_tree(counted, plan.conditions, options)
    if options.action == "diff" or code == INTERRUPTED:
        return code
    return worst_of(code, run_scan(options, extent))


def fix_tree(scanned: Iterable[Scanned], conditions: Sequence[Conditions], options: Options) -> int:
    """Show or write what the findings of a scan call for.

    Returns:
        0; 1 or 2 where fixes were refused, 4 where files were not written, 130 after Ctrl-C.
    """
    from specpreflight.cli.check import require_rules, worst_of

    require_rules(options.select)
    plans, code = plan_tree(_fixables(scanned, conditions, options), options)
    if options.action == "diff":
        click.echo(render_diff(plans), nl=False)
        return 0
    progress = Progress(len(plans))
    written = write_plans(plans, options, progress.step)
    progress.end()
    return worst_of(code, written.code)


def plan_tree(fixables: Iterable[Fixable], options: Options) -> tuple[list[FilePlan], int]:
    """Plan all files, those of launches that are alike once; say what is refused.

    Returns:
        The plans, and the exit code of what was refused.
    """
    from specpreflight.cli.check import worst_of

    known: dict[tuple[Any, ...], tuple[Sequence[str], Planned]] = {}
    plans: list[FilePlan] = []
    code = 0
    for group in _sharing_files(fixables):
        files = tuple(dict.fromkeys(file for one in group for file in one.files))
        key = _key(group, files)
        planned = None
        if key is not None and key in known:
            planned = _renamed(*known[key], files)
        if planned is None:
            planned = _plan(group, options)
            if key is not None:
                known[key] = files, planned
        if isinstance(planned, SpecpreflightError):
            report_error(planned)
            click.echo(f"not fixed: {', '.join(files)}", err=True)
            code = worst_of(code, planned.exit_code)
        else:
            plans += planned
    return plans, code


def _fixables(
    scanned: Iterable[Scanned], conditions: Sequence[Conditions], options: Options
) -> Iterator[Fixable]:
    applicability = ("safe", "unsafe") if options.unsafe else ("safe",)
    for _, each in groupby(scanned, key=lambda one: id(one.subject or one)):
        engines = list(each)
        first = engines[0]
        if any(one.report is None or one.problems for one in engines):
            continue
        findings = [finding for one in engines if one.report for finding in one.report.findings]
        edits = [
            edit
            for finding in findings
            if not options.select or finding.rule in options.select
            for edit in chosen_edits(finding, applicability)
        ]
        if not edits:
            continue
        files = tuple(dict.fromkeys(edit.path for edit in edits))
        kept = tuple(one for one in findings if is_error(one) or chosen_edits(one, applicability))
        if first.subject is None:
            yield Fixable(files, None, kept, partial(_as_list, first.launch))
            continue
        named = repr([replace(edit, path=str(files.index(edit.path))) for edit in edits])
        sides = tuple(_identity(side) for side in (first.subject.target, first.subject.draft))
        alike = None if None in sides else (*sides, named)
        yield Fixable(files, alike, kept, partial(_load, first.subject, conditions))


def _identity(side: Side | None) -> object:
    """Return what tells a checkpoint from any that is not alike, `None` where that is not known."""
    if side is None or side.found is None:
        return "" if side is None else side.given
    return side.found.identity


def _load(subject: Subject, conditions: Sequence[Conditions]) -> list[Launch]:
    return [
        common.launch(
            _read("target", subject.target, common), _read("draft", subject.draft, common)
        )
        for common in conditions
    ]


def _as_list(launch: Launch | None) -> list[Launch]:
    return [] if launch is None else [launch]


def _read(role: str, side: Side | None, common: Conditions) -> Checkpoint | None:
    if side is None:
        return None
    directory = Path(side.given if side.found is None else side.found.path)
    if not directory.is_dir():
        return common.read(role, side.given)
    return read_directory(role, directory, side.given.rstrip("/") or side.given)


def _sharing_files(fixables: Iterable[Fixable]) -> Iterable[list[Fixable]]:
    """Return the launches in groups that have no file in common, in the order of the tree."""
    group_of: dict[str, list[Fixable]] = {}
    groups: dict[int, list[Fixable]] = {}
    for one in fixables:
        paths = [os.path.realpath(file) for file in one.files]
        others = {id(group_of[path]): group_of[path] for path in paths if path in group_of}
        group = next(iter(others.values()), [])
        for other in list(others.values())[1:]:
            group += other
            del groups[id(other)]
        group.append(one)
        groups[id(group)] = group
        for member in group if len(others) > 1 else [one]:
            group_of.update((os.path.realpath(file), group) for file in member.files)
    return groups.values()


def _key(group: Sequence[Fixable], files: Sequence[str]) -> tuple[Any, ...] | None:
    """Return what the plans of a group depend on beside the names of its files."""
    if any(one.alike is None for one in group):
        return None
    places = tuple(tuple(files.index(file) for file in one.files) for one in group)
    return (places, *(one.alike for one in group))


def _plan(group: Sequence[Fixable], options: Options) -> Planned:
    try:
        launches = [launch for one in group for launch in one.load()]
        findings = [finding for one in group for finding in one.findings]
        return plan_for(launches, findings, options)[0]
    except SpecpreflightError as error:
        return error


def _renamed(known: Sequence[str], planned: Planned, files: Sequence[str]) -> Planned | None:
    """Return the plans of the `known` files for others of the same bytes, if names tell which."""
    if isinstance(planned, SpecpreflightError):
        return planned
    renamed = []
    for plan in planned:
        if plan.document.name not in known:
            return None
        name = files[known.index(plan.document.name)]
        renamed.append(replace(plan, document=_renamed_document(plan.document, name)))
    return tuple(renamed)


def _renamed_document(document: Document, name: str) -> Document:
    """Return the document of another file with the same bytes, and what was found in them."""
    _ = document.duplicates
    other = copy(document)
    other.name, other.path = name, Path(name)
    return other


class Progress:
    """Tells on stderr which files are fixed; on a terminal also how many there are to go.

    The count ends with a carriage return, so that whatever is said next takes its place.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._done = 0
        self._clear = "\x1b[K" if sys.stderr.isatty() else ""

    def step(self, applied: Applied) -> None:
        """Tell of a file that was written."""
        self._done += 1
        rules = ", ".join(applied.rules)
        click.echo(f"{self._clear}fixed {applied.name} ({rules})", err=True)
        for note in applied.notes:
            click.echo(f"  {note}", err=True)
        if self._clear:
            click.echo(f"{self._done} of {self._count} files\r", err=True, nl=False)

    def end(self) -> None:
        """Tell how to take it back."""
        if self._done:
            click.echo(
                f"{self._clear}{self._done} of {self._count} files fixed; "
                "`specpreflight undo DIRECTORY…` takes it back",
                err=True,
            )
