"""The comparison of engines for one pair: a column an engine, or JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from specpreflight.models.pair_fate import PairFate, Span
from specpreflight.models.report import FORMAT_VERSION, Report
from specpreflight.reports.printable import printable

#: Rows of the comparison: a label, and the keys of `resolved` that answer it in some engine.
_ROWS = (
    ("method", ("method", "algorithm")),
    ("draft class", ("draft_architecture",)),
    ("draft tokens", ("num_speculative_tokens", "num_draft_tokens")),
    ("context", ("context_length",)),
    ("draft context", ("draft_context_length",)),
    ("aux layers", ("aux_layers",)),
    ("model runner", ("model_runner",)),
)
_LABEL_WIDTH = 15
_NARROWEST = 20
_TITLES = {"sglang": "SGLang", "vllm": "vLLM"}


def render_pair_json(fate: PairFate) -> str:
    """Return the comparison as one JSON document."""
    data = {
        "format_version": FORMAT_VERSION,
        "target": fate.target,
        "draft": fate.draft,
        "architectures": fate.written,
        "engines": [_engine_data(report) for report in fate.reports],
        "names": [
            {"architecture": name.architecture, "releases": dict(name.releases)}
            for name in fate.names
        ],
    }
    return json.dumps(data, indent=2)


def render_pair(fate: PairFate, width: int = 80) -> str:
    """Return the comparison as text, `width` columns wide where two engines are compared."""
    return "\n".join(map(printable, _lines(fate, width)))


def _engine_data(report: Report) -> dict[str, Any]:
    verdict = report.verdict
    return {
        "name": report.engine.name,
        "version": report.engine.version,
        "outcome": verdict.outcome.value,
        "stage": None if verdict.stage is None else verdict.stage.value,
        "summary": verdict.summary,
        "findings": [
            {"rule": finding.rule, "outcome": finding.outcome.value, "message": finding.message}
            for finding in report.findings
        ],
        "resolved": {name: found.value for name, found in report.resolved.items()},
    }


def _lines(fate: PairFate, width: int) -> Iterator[str]:
    reports = fate.reports
    column = max((width - _LABEL_WIDTH) // len(reports) - 2, _NARROWEST)
    yield f"{fate.draft} as the draft of {fate.target}"
    yield ""
    engines = [f"{_title(report.engine.name)} {report.engine.version}" for report in reports]
    yield from _row("", engines, column)
    yield from _row("outcome", [_outcome(report) for report in reports], column)
    yield from _row("why", [_reason(report) for report in reports], column)
    for label, keys in _ROWS:
        cells = [_resolved(report, keys) for report in reports]
        if any(cells):
            yield from _row(label, [cell or "-" for cell in cells], column)
    yield ""
    yield from _class_names(fate)


def _class_names(fate: PairFate) -> Iterator[str]:
    engines = list(dict.fromkeys(report.engine.name for report in fate.reports))
    rows = [("name of the draft's class", *(f"in {_title(engine)}" for engine in engines))]
    for name in fate.names:
        rows.append((name.architecture, *(_spans(name.releases[engine]) for engine in engines)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(engines) + 1)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _title(engine: str) -> str:
    return _TITLES.get(engine, engine)


def _outcome(report: Report) -> str:
    stage = report.verdict.stage
    return report.verdict.outcome.value + ("" if stage is None else f" ({stage.value})")


def _reason(report: Report) -> str:
    """Return the finding that the verdict is about."""
    for finding in report.findings:
        decides = finding.outcome is report.verdict.outcome
        if decides and finding.message in report.verdict.summary:
            return f"{finding.message} [{finding.rule}]"
    return "nothing was found"


def _resolved(report: Report, keys: Sequence[str]) -> str:
    found = next((report.resolved[key].value for key in keys if key in report.resolved), None)
    return "" if found is None else str(found)


def _spans(spans: Sequence[Span] | None) -> str:
    if spans is None:
        return "?"
    words = (since + (f" to before {before}" if before else " on") for since, before in spans)
    return ", ".join(words) or "never"


def _row(label: str, cells: Sequence[str], column: int) -> Iterator[str]:
    wrapped = [textwrap.wrap(cell, column) or [""] for cell in cells]
    for number in range(max(map(len, wrapped))):
        parts = (lines[number] if number < len(lines) else "" for lines in wrapped)
        text = "  ".join(f"{part:<{column}}" for part in parts)
        yield f"{label if number == 0 else '':<{_LABEL_WIDTH}}{text}".rstrip()
