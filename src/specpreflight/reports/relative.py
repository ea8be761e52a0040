"""Paths for formats that are read where the repository is: seen from its folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from specpreflight.models.beside import Beside
from specpreflight.models.finding import Finding, Remedy, Value
from specpreflight.models.paths import path_from
from specpreflight.models.report import Report


def seen_from(root: str, report: Report) -> Report:
    """Return the report with the paths of findings as seen from the folder `root`.

    Annotations land on a line only if the path is the one that the repository has. What lies
    elsewhere stays as it was given.
    """

    def move(path: str) -> str:
        return _move(root, path)

    inputs = report.inputs
    return replace(
        report,
        findings=tuple(_move_finding(finding, move) for finding in report.findings),
        inputs=replace(
            inputs,
            target=inputs.target and move(inputs.target),
            draft=inputs.draft and move(inputs.draft),
            launch_file=inputs.launch_file and move(inputs.launch_file),
        ),
        excerpts={(move(path), line): text for (path, line), text in report.excerpts.items()},
    )


def beside_from(root: str, beside: Beside) -> Beside:
    """Return what stands beside reports with its paths as seen from the folder `root`."""

    def move_place(place: str) -> str:
        path, colon, line = place.rpartition(":")
        return f"{_move(root, path)}:{line}" if colon and line.isdecimal() else place

    return beside._replace(
        unreadable=[(_move(root, path), reason) for path, reason in beside.unreadable],
        unpaired=[(_move(root, path), reason) for path, reason in beside.unpaired],
        idle=[one._replace(by=move_place(one.by)) for one in beside.idle],
    )


def _move(root: str, path: str) -> str:
    moved = path_from(root, path)
    return path if moved.startswith("../") else moved


def _move_finding(finding: Finding, move: Callable[[str], str]) -> Finding:
    return replace(
        finding,
        values=tuple(_move_value(value, move) for value in finding.values),
        remedies=tuple(_move_remedy(remedy, move) for remedy in finding.remedies),
    )


def _move_value(value: Value, move: Callable[[str], str]) -> Value:
    if value.origin.path is None:
        return value
    return replace(value, origin=replace(value.origin, path=move(value.origin.path)))


def _move_remedy(remedy: Remedy, move: Callable[[str], str]) -> Remedy:
    return replace(
        remedy, edits=tuple(replace(edit, path=move(edit.path)) for edit in remedy.edits)
    )
