"""SARIF 2.1.0, for code scanning: rules with their pages, findings with both places, fixes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from specpreflight import __version__
from specpreflight.models.beside import NOTHING, Beside
from specpreflight.models.finding import MISSING, Finding, Origin, Severity, Value
from specpreflight.models.report import Report
from specpreflight.reports.beside import Entry, Section, sections_of
from specpreflight.reports.places import main_place

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def render_sarif(
    reports: Sequence[Report],
    pages: Mapping[str, tuple[str, str]],
    beside: Beside = NOTHING,
) -> str:
    """Return one SARIF run for all reports.

    Args:
        reports: what was found.
        pages: rule name → (summary, page in Markdown), for the rules' help.
        beside: what stands beside the reports of a scan, for notifications.
    """
    findings = [(report, finding) for report in reports for finding in report.findings]
    names = sorted({finding.rule for _, finding in findings})
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "specpreflight",
                "version": __version__,
                "informationUri": "https://pypi.org/project/specpreflight/",
                "rules": [_rule(name, *pages[name]) for name in names],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(report, finding, names) for report, finding in findings],
    }
    sections = list(sections_of(beside))
    if sections:
        run["invocations"] = [_invocation(sections)]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _invocation(sections: Sequence[Section]) -> dict[str, Any]:
    """Return what stands beside results: about the tool's configuration, or its execution."""
    invocation: dict[str, Any] = {
        "executionSuccessful": not any(section.is_failure for section in sections)
    }
    for section in sections:
        about = "Configuration" if section.kind == "idle" else "Execution"
        level = "error" if section.is_failure else "note"
        notifications = invocation.setdefault(f"tool{about}Notifications", [])
        for entry in section.entries:
            text = f"{section.heading}: {entry}."
            notification: dict[str, Any] = {"level": level, "message": {"text": text}}
            if entry.place:
                notification |= _place_of(entry)
            notifications.append(notification)
    return invocation


def _place_of(entry: Entry) -> dict[str, Any]:
    path, _, line = entry.place.rpartition(":")
    if line.isdecimal():
        place = _physical(Origin("file", path=path, line=int(line)))
    elif entry.place.startswith("-"):  # an option
        return {}
    else:
        place = {"artifactLocation": {"uri": _uri(entry.place)}}
    return {"locations": [{"physicalLocation": place}]}


def _rule(name: str, summary: str, page: str) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": page.splitlines()[0]},
        "help": {"text": page, "markdown": page},
    }


def _result(report: Report, finding: Finding, names: Sequence[str]) -> dict[str, Any]:
    places = [value for value in finding.values if value.origin.path is not None]
    main = main_place(finding, report)
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": names.index(finding.rule),
        "level": _LEVELS[finding.severity or Severity.NOTE],
        "message": {"text": _message(report, finding)},
        "locations": [] if main is None else [_main_location(main, places)],
        "relatedLocations": [_location(value, at) for at, value in enumerate(places[1:], start=1)],
        "partialFingerprints": {"specpreflight/v1": finding.fingerprint},
    }
    flow = _flow(places, report)
    if flow:
        steps = [{"location": _location(value)} for value in flow]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    fixes = list(_fixes(finding))
    if fixes:
        result["fixes"] = fixes
    if finding.ignored is not None:
        result["suppressions"] = [{"kind": "external", "justification": str(finding.ignored)}]
    return result


def _flow(places: Sequence[Value], report: Report) -> list[Value]:
    """Return the way that a value goes: from the target's file to the draft's, else none."""
    given = [value for value in places if _is_of_target(value, report)]
    taken = [value for value in places if value not in given]
    return [*given, *taken] if given and taken else []


def _is_of_target(value: Value, report: Report) -> bool:
    folder = (report.inputs.target or "").removesuffix("config.json").rstrip("/")
    is_below = bool(folder) and (value.origin.path or "").startswith(folder + "/")
    return is_below or value.label == "target"


def _uri(path: str) -> str:
    """Return a path as a URI reference: relative where the path is, else of a file or as given."""
    if "://" in path:
        return path
    return ("file://" if path.startswith("/") else "") + quote(path, errors="surrogatepass")


def _message(report: Report, finding: Finding) -> str:
    parts = [f"{report.engine.name} {report.engine.version}: {finding.message}."]
    if finding.detail:
        parts.append(finding.detail)
    parts += [f"To do: {remedy.title}." for remedy in finding.remedies[:1]]
    parts += [f"Since {since}." for since in _blamed(report, finding)]
    return " ".join(parts)


def _blamed(report: Report, finding: Finding) -> Iterator[str]:
    """Yield the changes since a recorded launch that have brought the finding."""
    if report.since is None:
        return
    from specpreflight.reports.changes import tell_since

    for told in tell_since(report.since):
        if any(one.effect == "worse" and one.rule == finding.rule for one in told.consequences):
            yield f"{report.since.path}: {told.text}"


def _main_location(place: Origin, places: Sequence[Value]) -> dict[str, Any]:
    """Return where code scanning shows the result; it refuses one that is shown nowhere."""
    return _location(places[0]) if places else {"physicalLocation": _physical(place)}


def _location(value: Value, number: int | None = None) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": _physical(value.origin)}
    if number is not None:
        location["id"] = number
    shown = json.dumps(value.value, ensure_ascii=False)
    location["message"] = {"text": f"{value.label}: {shown}"}
    return location


def _physical(origin: Origin) -> dict[str, Any]:
    """Return a place in a file; of one without a line, the file's beginning."""
    region = {"startLine": origin.line or 1, "startColumn": origin.column or 1}
    if origin.end_column is not None or origin.line is None:
        region["endColumn"] = origin.end_column or 1
    return {"artifactLocation": {"uri": _uri(origin.path or "")}, "region": region}


def _fixes(finding: Finding) -> Iterator[dict[str, Any]]:
    """Yield the remedies that are exact replacements of text.

    A key that is added or taken away, or a value of several lines, is not: `--fix` knows the file
    that it edits, a reader of this report does not.
    """
    regions = {
        (value.origin.path, value.origin.pointer): _physical(value.origin)["region"]
        for value in finding.values
        if value.origin.line is not None and not isinstance(value.value, (list, dict))
    }
    for remedy in finding.remedies:
        if remedy.edits and all(
            (edit.path, edit.pointer) in regions and edit.after != MISSING for edit in remedy.edits
        ):
            yield {
                "description": {"text": remedy.title},
                "artifactChanges": [
                    {
                        "artifactLocation": {"uri": _uri(path)},
                        "replacements": [
                            {
                                "deletedRegion": regions[path, edit.pointer],
                                "insertedContent": {"text": json.dumps(edit.after)},
                            }
                            for edit in remedy.edits
                            if edit.path == path
                        ],
                    }
                    for path in dict.fromkeys(edit.path for edit in remedy.edits)
                ],
            }
