"""What `--fix` says or does about flags and variables: name the lines, or write them to a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specpreflight.api import check
from specpreflight.documents.read import read_bytes
from specpreflight.engines.registry import find_engine
from specpreflight.errors import InputError
from specpreflight.fixes.apply import Applied, apply_change
from specpreflight.fixes.diff import diff_file
from specpreflight.fixes.launch_change import LaunchChange, launch_change
from specpreflight.fixes.place import find_write_place
from specpreflight.fixes.recheck import FixRefused, new_errors
from specpreflight.models.finding import Origin
from specpreflight.models.launch import Launch, Variable
from specpreflight.storage import LOCAL

if TYPE_CHECKING:
    from specpreflight.cli.check import Options
    from specpreflight.models.report import Report


@dataclass(frozen=True, slots=True)
class LaunchFix:
    """A launch file before and after, and the launches that it then starts."""

    path: Path
    before: bytes
    after: bytes
    rules: tuple[str, ...]
    launches: tuple[Launch, ...]

    def diff(self) -> bytes:
        """Return the unified diff of the launch file."""
        return diff_file(str(self.path), self.before, self.after)

    def write(self) -> Applied:
        """Write the launch file, its old bytes in the journal beside it."""
        name = str(self.path)
        place = find_write_place(LOCAL, name, name)
        return apply_change(place, name, self.before, self.after, self.rules)


def plan_launch_fix(
    launches: Sequence[Launch], reports: Sequence[Report], options: Options
) -> LaunchFix | None:
    """Plan what the reports call for in the launch file, or say on stderr what to add by hand.

    Raises:
        UsageError: the findings contradict each other, or the file has no place for it.
        InputError: the launch file cannot be read.
        FixRefused: the result would have a new error.
    """
    applicability = ("safe", "unsafe") if options.unsafe else ("safe",)
    findings = [one for report in reports for one in report.findings]
    chosen = [one for one in findings if not options.select or one.rule in options.select]
    change = launch_change(chosen, applicability)
    if change == LaunchChange():
        return None
    if options.launch_file is None:
        click.echo("to add to the launch:", err=True)
        for line in change.lines():
            click.echo(f"  {line}", err=True)
        return None
    path = Path(options.launch_file)
    before = read_bytes(path, options.launch_file)
    after = _edit(before, options.launch_file, change)
    changed = tuple(with_change(launch, change) for launch in launches)
    result = [one for launch in changed for one in check(launch, policy=options.policy).findings]
    new = new_errors(findings, result)
    if new:
        raise FixRefused(
            f"{path}: not written: it would bring {new[0].rule}: {new[0].message}",
            hint="choose another remedy by hand",
        )
    rules = {one.rule for one in chosen if launch_change([one], applicability) != LaunchChange()}
    return LaunchFix(path, before, after, tuple(sorted(rules)), changed)


def _edit(data: bytes, name: str, change: LaunchChange) -> bytes:
    from specpreflight.fixes.launch_file import edit_launch
    from specpreflight.sources.launch_command import read_launch_text

    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError(f"{name}: is not UTF-8", hint="save the file as UTF-8") from None
    return edit_launch(text, name, change, lambda edited: read_launch_text(edited, name)).encode()


def with_change(launch: Launch, change: LaunchChange) -> Launch:
    """Return the launch as it would be with other flags and variables."""
    argv = change.applied_to(launch.argv)
    arguments = find_engine(launch.engine.name).read_arguments(argv, launch.engine)
    environment = {
        name: Variable(name, value, Origin("environment", name=name))
        for name, value in change.environment.items()
    }
    return replace(
        launch,
        argv=argv,
        flags=arguments.flags,
        environment={**launch.environment, **environment},
    )
