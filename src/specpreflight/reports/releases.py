"""What changed between versions of an engine, as text and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from specpreflight.models.change import Change
from specpreflight.models.comparison import FORMAT_VERSION, Comparison, Culprit
from specpreflight.models.finding import MISSING, Finding
from specpreflight.reports.changes import PARTS, comparison_data, show
from specpreflight.reports.json import plain_data
from specpreflight.reports.printable import printable_lines

#: Columns.
_WIDTH: Final = 80


def render_releases(comparison: Comparison) -> str:
    """Return what changed between two versions, a topic after the other."""
    return printable_lines("\n".join((*_titles(comparison), *_topics(comparison.changes)))) + "\n"


def render_upgrade(
    comparison: Comparison, to_do: Sequence[Finding], *, verbose: bool = False
) -> str:
    """Return what becomes of a launch on another version, what to change; `verbose`: and why."""
    changes = comparison.changes
    shown = [change for change in changes if verbose or change.part == "engine"]
    lines = [*_titles(comparison), *_to_do(to_do), *_topics(shown)]
    if len(shown) < len(changes):
        folded = len(changes) - len(shown)
        lines += ["", f"{folded} changes of the engine touch this launch (-v)"]
    return printable_lines("\n".join(lines)) + "\n"


def render_upgrade_json(comparison: Comparison, to_do: Sequence[Finding]) -> str:
    """Return the same as JSON; `to_do` are findings in the form of a report."""
    data = {**comparison_data(comparison), "to_do": plain_data(list(to_do))}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def render_culprit(culprit: Culprit) -> str:
    """Return the commit that changes the verdict, and what changes with it."""
    lines = [
        f"{culprit.sha[:12]} {culprit.date} {culprit.subject}",
        f"  the first of the commits that changes the verdict; {culprit.tried} were read",
        *_titles(culprit.comparison),
        *_topics(culprit.comparison.changes),
    ]
    if culprit.crossed is not None:
        old, new = culprit.crossed
        lines += _wrap(
            f"note: at this commit the nearest release becomes {new} after {old}, and with it what "
            "is known of a release beside its source; the change may lie before.",
            0,
        )
    return printable_lines("\n".join(lines)) + "\n"


def render_culprit_json(culprit: Culprit) -> str:
    """Return the same as JSON."""
    data = plain_data(culprit)
    data["comparison"] = comparison_data(culprit.comparison)
    return json.dumps({"format_version": FORMAT_VERSION, **data}, indent=2) + "\n"


def _titles(comparison: Comparison) -> Iterator[str]:
    if comparison.after_verdict is None:
        yield f"{comparison.before} → {comparison.after}"
        return
    for word, name, verdict in (
        ("from", comparison.before, comparison.before_verdict),
        ("to", comparison.after, comparison.after_verdict),
    ):
        # A verdict names its release; a tree or a commit it does not.
        where = f" {name}" if "/" in name or " " not in name else ""
        summary = "" if verdict is None else verdict.summary.replace("`", "")
        yield from _wrap(f"{word}{where}: {summary}", 0)


def _to_do(findings: Sequence[Finding]) -> Iterator[str]:
    yield ""
    if not findings:
        yield "nothing has to change"
        return
    yield "to change"
    for finding in findings:
        yield from _wrap(f"{finding.rule}: {finding.message}", 2)
        for number, remedy in enumerate(finding.remedies, start=1):
            yield from _wrap(f"{number}. {remedy.title}", 6)


def _topics(changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        yield ""
        yield "no difference is known"
    ordered = sorted(changes, key=lambda change: PARTS.index(change.part))
    for part, group in groupby(ordered, key=lambda change: change.part):
        members = list(group)
        new = [one for one in members if one.before == MISSING and " " not in one.name]
        gone = [one for one in members if one.after == MISSING and " " not in one.name]
        rest = [one for one in members if one not in new and one not in gone]
        yield ""
        yield part if part == "engine" else f"{part}: {_counts(new, gone, rest)}"
        for word, some in (("new", new), ("gone", gone)):
            if some:
                yield from _wrap(f"{word}: {', '.join(one.name for one in some)}", 2)
        for change in rest:
            yield from _changed(change)


def _counts(new: Sequence[Change], gone: Sequence[Change], rest: Sequence[Change]) -> str:
    counted = ((len(new), "new"), (len(gone), "gone"), (len(rest), "changed"))
    return ", ".join(f"{count} {word}" for count, word in counted if count)


def _changed(change: Change) -> Iterator[str]:
    if isinstance(change.before, list) and isinstance(change.after, list) and change.note:
        yield from _wrap(f"{change.name}: {change.note}", 2)
    else:
        yield from _wrap(f"{change.name}  {show(change.before)} → {show(change.after)}", 2)
        if change.note:
            yield from _wrap(change.note, 6)
    for one in change.consequences:
        yield from _wrap((f"{one.rule}: " if one.rule else "") + one.text, 6)


def _wrap(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )
