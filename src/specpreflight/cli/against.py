"""`check --against launch.lock.json`: what changed since the launch that worked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specpreflight.api import check
from specpreflight.changes.capture import capture
from specpreflight.changes.compare import compare_launches
from specpreflight.changes.rebuild import recorded_engine
from specpreflight.cli.check import Options
from specpreflight.cli.record import site_of
from specpreflight.models.change import Since
from specpreflight.models.launch import Launch
from specpreflight.models.lock import Lock
from specpreflight.models.report import Report


def as_recorded(options: Options, lock: Lock, path: str) -> Options:
    """Return the options of a check against a lock.

    An engine that nothing determines is taken to be the recorded one. Where no launch is given, the
    recorded checkpoints and arguments are read again, with the variables of this shell.
    """
    if not options.engines:
        engine = replace(recorded_engine(lock), determined_by=f"as recorded in {path}")
        options = options._replace(assumed=engine)
    return options if options.paths or options.words else recorded_launch(lock, options)


def recorded_launch(lock: Lock, options: Options) -> Options:
    """Return options whose launch is the recorded one: its checkpoints, read again, its words."""
    given = [one.path for one in (lock.target, lock.draft) if one is not None]
    return options._replace(paths=tuple(given), words=lock.argv)


def with_changes(
    reports: Sequence[Report], launches: Sequence[Launch], lock: Lock, path: str
) -> list[Report]:
    """Return the reports, each with what changed since the recorded launch."""
    return [
        replace(report, since=_since(lock, launch, path))
        for report, launch in zip(reports, launches, strict=True)
    ]


def _since(lock: Lock, launch: Launch, path: str) -> Since:
    """Compare with the lock as `record` made it: by a report that no policy has judged."""
    now = capture(launch, check(launch), beside=site_of(launch))
    found = compare_launches(lock, now, launch, names=(path, "this launch"))
    return Since(path, found.changes, found.together)
