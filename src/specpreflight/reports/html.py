"""One page that holds everything: a table of launches and rules, and each finding's two files.

It needs nothing from outside, so that it can be mailed, kept as an artifact, and opened from a
disk. What files and flags contain is only ever text in it: every piece is escaped, and the page's
own policy lets no other script and style run than its two.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from specpreflight.models.beside import NOTHING, Beside
from specpreflight.models.finding import MISSING, Edit, Finding, Outcome, Remedy, Severity, Value
from specpreflight.models.report import Report
from specpreflight.reports.beside import Section, sections_of
from specpreflight.reports.printable import printable

if TYPE_CHECKING:
    from specpreflight.models.change import Since

_PAGE: Final = Path(__file__).with_name("page")

#: The mood of what comes of a change.
_EFFECTS: Final = {"worse": "error", "better": "good"}

#: Lines shown above and below a value.
_AROUND: Final = 3


class _Launch(NamedTuple):
    """A report and its place on the page."""

    anchor: str
    report: Report

    @property
    def name(self) -> str:
        """Draft and target as a phrase."""
        inputs = self.report.inputs
        return " for ".join(part for part in (inputs.draft, inputs.target) if part) or "launch"


def render_html(
    reports: Sequence[Report],
    pages: Mapping[str, tuple[str, str]],
    beside: Beside = NOTHING,
) -> str:
    """Return the page for all reports.

    Args:
        reports: what was found.
        pages: rule name → (summary, page), for the list of rules.
        beside: what stands beside the reports of a scan.
    """
    style = (_PAGE / "page.css").read_text(encoding="utf-8")
    script = (_PAGE / "page.js").read_text(encoding="utf-8")
    launches = [_Launch(f"l{number}", report) for number, report in enumerate(reports, start=1)]
    rules = _order_rules(reports)
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            f"style-src '{_digest(style)}'; script-src '{_digest(script)}'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>specpreflight report</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            *_header(reports),
            *(line for section in sections_of(beside) for line in _beside(section)),
            *_table(launches, rules),
            *(line for launch in launches for line in _launch(launch)),
            *_rules(rules, pages),
            f"<script>{script}</script>",
            "</body>",
            "</html>\n",
        )
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _text(value: object) -> str:
    """Return text for the page: escaped, and with what could not be seen spelt out."""
    return html.escape("\n".join(map(printable, str(value).split("\n"))))


def _prose(text: str) -> str:
    """Return a sentence for the page, with what stands in backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", _text(text))


def _order_rules(reports: Sequence[Report]) -> dict[str, Severity]:
    """Return the rules that found something with their worst severity, the worst first."""
    worst: dict[str, Severity] = {}
    for severity in Severity:
        for report in reports:
            for finding in report.findings:
                if finding.severity is severity:
                    worst.setdefault(finding.rule, severity)
    return worst


def _header(reports: Sequence[Report]) -> Iterator[str]:
    failing = sum(report.summary.errors > 0 for report in reports)
    counts = {
        "launches": len(reports),
        "with errors": failing,
        **{
            name: sum(getattr(report.summary, name) for report in reports)
            for name in ("errors", "warnings", "notes", "ignored", "fixable")
        },
    }
    yield "<header>"
    yield "<h1>specpreflight</h1>"
    yield '<dl class="counts">'
    yield from (f"<div><dt>{name}</dt><dd>{count}</dd></div>" for name, count in counts.items())
    yield "</dl>"
    yield '<form class="controls" hidden>'
    yield '<input type="search" name="words" placeholder="filter" aria-label="filter launches">'
    for severity in Severity:
        checked = "" if severity is Severity.NOTE else " checked"
        yield (
            f'<label><input type="checkbox" name="severity" value="{severity.value}"{checked}>'
            f" {severity.value}s</label>"
        )
    yield '<label><input type="checkbox" name="found"> only launches with such findings</label>'
    yield '<output name="shown"></output>'
    yield "</form>"
    yield "</header>"


def _beside(section: Section) -> Iterator[str]:
    mood = ' class="error" open' if section.is_failure else ""
    yield f"<details{mood}><summary>{section.heading}: {len(section.entries)}</summary><ul>"
    yield from (f"<li>{_prose(str(entry))}</li>" for entry in section.entries)
    yield "</ul></details>"


def _table(launches: Sequence[_Launch], rules: Mapping[str, Severity]) -> Iterator[str]:
    yield '<div class="scroll"><table>'
    yield "<thead><tr>"
    for column in ("launch", "engine", "outcome", "errors", "warnings"):
        yield f'<th scope="col"><button type="button">{column}</button></th>'
    for rule, severity in rules.items():
        yield (
            f'<th scope="col" class="rule" data-severity="{severity.value}">'
            f'<button type="button">{_text(rule)}</button></th>'
        )
    yield "</tr></thead><tbody>"
    for launch in launches:
        yield from _row(launch, rules)
    yield "</tbody></table></div>"


def _row(launch: _Launch, rules: Mapping[str, Severity]) -> Iterator[str]:
    report = launch.report
    outcome = report.verdict.outcome
    draft, target, file = report.inputs.draft, report.inputs.target, report.inputs.launch_file
    yield f'<tr data-launch="{launch.anchor}">'
    yield (
        f'<th scope="row"><a href="#{launch.anchor}">{_text(draft or target or "launch")}</a>'
        + (f" <small>for {_text(target)}</small>" if draft and target else "")
        + (f" <small>in {_text(file)}</small>" if file else "")
        + "</th>"
    )
    yield f"<td>{_text(report.engine.name)} {_text(report.engine.version)}</td>"
    yield (
        f'<td data-key="{list(Outcome).index(outcome)}" class="{_mood(outcome)}">'
        f"{outcome.value}</td>"
    )
    yield f'<td class="count">{report.summary.errors}</td>'
    yield f'<td class="count">{report.summary.warnings}</td>'
    marks: dict[str, list[str]] = {}
    for number, finding in enumerate(report.findings, start=1):
        severity = _severity(finding)
        marks.setdefault(finding.rule, []).append(
            f'<a class="mark {severity}" href="#{launch.anchor}-{number}" '
            f'data-severity="{severity}" title="{_text(finding.message)}">{severity[0].upper()}</a>'
        )
    for rule, worst in rules.items():
        found = marks.get(rule, [])
        yield f'<td class="rule" data-severity="{worst.value}" data-key="{len(found)}">'
        yield f"{''.join(found)}</td>"
    yield "</tr>"


def _mood(outcome: Outcome) -> str:
    if outcome in (Outcome.STARTS, Outcome.ADJUSTS):
        return "good"
    return "warning" if outcome is Outcome.DEGRADES else "error"


def _severity(finding: Finding) -> str:
    return (finding.severity or Severity.NOTE).value


def _launch(launch: _Launch) -> Iterator[str]:
    report = launch.report
    yield f'<article id="{launch.anchor}">'
    engine = f"{report.engine.name} {report.engine.version}"
    yield f"<h2>{_text(launch.name)} <small>on {_text(engine)}</small></h2>"
    yield f'<p class="verdict {_mood(report.verdict.outcome)}">{_prose(report.verdict.summary)}</p>'
    about = {
        "release by": report.engine.determined_by,
        "launch in": report.inputs.launch_file,
        "paired by": report.inputs.paired_by,
    }
    shown = [f"{name} {_text(value)}" for name, value in about.items() if value is not None]
    yield f"<p><small>{'; '.join(shown)}</small></p>"
    if report.since is not None:
        yield from _since(report.since)
    for number, finding in enumerate(report.findings, start=1):
        yield from _finding(f"{launch.anchor}-{number}", finding, report)
    if report.skipped:
        yield f"<details><summary>skipped: {len(report.skipped)} rules</summary><ul>"
        for skipped in report.skipped:
            reason = f"{skipped.needs}: {skipped.reason}"
            yield f"<li><code>{_text(skipped.rule)}</code> {_text(reason)}</li>"
        yield "</ul></details>"
    if report.resolved:
        yield "<details><summary>resolved launch</summary><table>"
        for name, resolved in report.resolved.items():
            yield (
                f'<tr><th scope="row">{_text(name)}</th><td><code>{_text(_show(resolved.value))}'
                f"</code></td><td>{_text(resolved.reason)}</td></tr>"
            )
        yield "</table></details>"
    yield "</article>"


def _since(since: Since) -> Iterator[str]:
    from specpreflight.reports.changes import heading_of, tell_consequence, tell_since

    yield f'<div class="since"><p>{_prose(heading_of(since))}</p><ul>'
    for told in tell_since(since):
        consequences = "".join(
            f'<li class="{_EFFECTS.get(one.effect, "")}">{_prose(tell_consequence(one))}</li>'
            for one in told.consequences
        )
        below = f"<ul>{consequences}</ul>" if consequences else ""
        yield f"<li>{_prose(told.text)}{below}</li>"
    yield "</ul></div>"


def _finding(anchor: str, finding: Finding, report: Report) -> Iterator[str]:
    severity = _severity(finding)
    yield f'<section id="{anchor}" class="finding {severity}" data-severity="{severity}">'
    yield (
        f'<h3><span class="badge {severity}">{severity}</span> <code>{_text(finding.rule)}</code> '
        f"{_prose(finding.message)}</h3>"
    )
    if finding.ignored is not None:
        yield f'<p class="ignored">ignored: {_text(finding.ignored)}</p>'
    if finding.values:
        yield '<div class="sides">'
        for value in finding.values:
            yield from _side(value, report)
        yield "</div>"
    if finding.detail:
        yield f"<p>{_prose(finding.detail)}</p>"
    if finding.engine_message:
        yield f"<blockquote>{_text(finding.engine_message)}</blockquote>"
    if finding.remedies:
        yield "<ol>"
        for remedy in finding.remedies:
            yield from _remedy(remedy)
        yield "</ol>"
    yield "</section>"


def _side(value: Value, report: Report) -> Iterator[str]:
    """Yield one value: what it is, where it stands, and the lines around it."""
    origin = value.origin
    place = origin.path or origin.name or origin.kind
    if origin.path is not None and origin.line is not None:
        place += f":{origin.line}:{origin.column}"
    yield "<figure>"
    yield (
        f"<figcaption>{_text(value.label)} <strong>{_text(_show(value.value))}</strong>"
        f"<span>{_text(place)}</span></figcaption>"
    )
    lines = list(_lines(value, report))
    if lines:
        yield "<pre>" + "\n".join(lines) + "</pre>"
    yield "</figure>"


def _lines(value: Value, report: Report) -> Iterator[str]:
    origin = value.origin
    if origin.path is None or origin.line is None:
        return
    for number in range(origin.line - _AROUND, origin.line + _AROUND + 1):
        line = report.excerpts.get((origin.path, number))
        if line is not None:
            shown = _marked(line, value) if number == origin.line else _text(line)
            yield f"<i>{number:>5}</i> {shown}"


def _marked(line: str, value: Value) -> str:
    start = (value.origin.column or 1) - 1
    end = (value.origin.end_column or start + 2) - 1
    return f"{_text(line[:start])}<mark>{_text(line[start:end])}</mark>{_text(line[end:])}"


def _remedy(remedy: Remedy) -> Iterator[str]:
    how = ""
    if remedy.kind == "edit" and remedy.edits:
        how = "--fix" if remedy.applicability == "safe" else "--unsafe-fixes"
    yield f"<li>{_prose(remedy.title)}" + (f" <small>{how}</small>" if how else "")
    for edit in remedy.edits:
        yield f'<div class="edit">{_edit(edit)}</div>'
    commands = [f"export {name}={value}" for name, value in remedy.environment.items()]
    for command in (*commands, *remedy.flags):
        yield f"<div><code>{_text(command)}</code></div>"
    yield "</li>"


def _edit(edit: Edit) -> str:
    return (
        f"<code>{_text(edit.path)}</code> {_text(edit.pointer)}: "
        f"<del>{_text(_show(edit.before))}</del> <ins>{_text(_show(edit.after))}</ins>"
    )


def _rules(rules: Mapping[str, Severity], pages: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    if not rules:
        return
    yield "<footer><h2>rules</h2><dl>"
    for rule in sorted(rules):
        yield f"<dt><code>{_text(rule)}</code></dt><dd>{_text(pages[rule][0])}</dd>"
    yield "</dl><p><code>specpreflight explain RULE</code> has the rest.</p></footer>"


def _show(value: Any) -> str:
    if value is None:
        return "not set"
    if value == MISSING:
        return "missing"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
