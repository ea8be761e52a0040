"""JUnit XML: a test suite a launch, a test case a finding, or what rules could not run for.

Further suites have what stands beside the reports: what could not be checked or read as errors,
drafts without a target as skipped, what is ignored or known in vain as passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from specpreflight.models.beside import NOTHING, Beside
from specpreflight.models.finding import Finding, Severity
from specpreflight.models.report import Report
from specpreflight.reports.beside import Section, sections_of

if TYPE_CHECKING:
    from specpreflight.models.change import Since

#: Code points that are no characters, and may stand in no XML.
_NONE = "\ufffe\uffff"


def render_junit(reports: Sequence[Report], beside: Beside = NOTHING) -> str:
    """Return the reports as JUnit XML; errors and warnings fail, notes are passed with output."""
    root = Element("testsuites", name="specpreflight")
    for report in reports:
        _suite(root, report)
    for section in sections_of(beside):
        _suite_beside(root, section)
    indent(root)
    text: str = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{_printable(text)}\n'


def _suite(root: Element, report: Report) -> None:
    name = f"{report.engine.name} {report.engine.version}: {launch_name(report)}"
    failing = [one for one in report.findings if one.severity is not Severity.NOTE]
    skipped: dict[tuple[str, str], list[str]] = {}
    for one in report.skipped:
        skipped.setdefault((one.needs, one.reason), []).append(one.rule)
    suite = SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(max(len(report.findings), 1) + len(skipped)),
        failures=str(len(failing)),
        errors="0",
        skipped=str(len(skipped)),
    )
    if not report.findings:
        SubElement(suite, "testcase", classname=name, name=report.verdict.summary)
    for finding in report.findings:
        case = SubElement(suite, "testcase", classname=name, name=finding.rule)
        text = _details(finding)
        if finding.severity is Severity.NOTE:
            SubElement(case, "system-out").text = text
        else:
            kind = finding.severity.value if finding.severity else ""
            SubElement(case, "failure", message=finding.message, type=kind).text = text
    for (needs, reason), rules in skipped.items():
        case = SubElement(suite, "testcase", classname=name, name=f"rules that need {needs}")
        SubElement(case, "skipped").text = f"{reason}: {', '.join(rules)}"
    if report.since is not None:
        SubElement(suite, "system-out").text = "\n".join(_changes(report.since))


def _changes(since: Since) -> Iterator[str]:
    from specpreflight.reports.changes import heading_of, tell_consequence, tell_since

    yield heading_of(since)
    for told in tell_since(since):
        yield f"  {told.text}"
        yield from (f"    {tell_consequence(one)}" for one in told.consequences)


def _suite_beside(root: Element, section: Section) -> None:
    count = str(len(section.entries))
    is_skipped = section.kind == "unpaired"
    suite = SubElement(
        root,
        "testsuite",
        name=section.heading,
        tests=count,
        failures="0",
        errors=count if section.is_failure else "0",
        skipped=count if is_skipped else "0",
    )
    for entry in section.entries:
        name = str(entry) if section.kind == "idle" else entry.place or entry.message
        case = SubElement(suite, "testcase", classname=section.heading, name=name)
        if section.is_failure:
            SubElement(case, "error", message=entry.message, type=section.kind).text = str(entry)
        else:
            SubElement(case, "skipped" if is_skipped else "system-out").text = entry.message


def launch_name(report: Report) -> str:
    """Return target and draft as a phrase, and the launch file that starts them."""
    inputs = report.inputs
    pair = " + ".join(part for part in (inputs.target, inputs.draft) if part)
    return f"{inputs.launch_file}: {pair}" if inputs.launch_file else pair


def _details(finding: Finding) -> str:
    lines = [finding.message, finding.detail]
    for value in finding.values:
        origin = value.origin
        place = f"{origin.path}:{origin.line}:{origin.column}" if origin.line else origin.name
        lines.append(f"{value.label}: {value.value} ({place})")
    lines += [f"to do: {remedy.title}" for remedy in finding.remedies]
    if finding.ignored is not None:
        lines.append(f"ignored: {finding.ignored}")
    return "\n".join(line for line in lines if line)


def _printable(text: str) -> str:
    """Leave out the characters that XML 1.0 does not allow."""
    return "".join(
        letter for letter in text if (letter >= " " or letter in "\n\t\r") and letter not in _NONE
    )
