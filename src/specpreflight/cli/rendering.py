"""The formats a report can be written in, by name; each is imported when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from specpreflight.errors import InputError, UsageError
from specpreflight.models.report import Report

if TYPE_CHECKING:
    from specpreflight.models.beside import Beside

#: Format → its function in `specpreflight.reports`, which takes all reports of one call.
MACHINE_FORMATS = {
    "json": "json.render_json_of",
    "json-lines": "json.render_json_lines",
    "sarif": "sarif.render_sarif",
    "junit": "junit.render_junit",
    "github": "github.render_github",
    "gitlab": "gitlab.render_gitlab",
    "markdown": "markdown.render_markdown",
    "html": "html.render_html",
}

#: Formats whose functions take the pages of the rules too.
_WITH_PAGES = ("sarif", "html")

#: Formats whose functions take what stands beside the reports, last.
_WITH_BESIDE = ("json", "sarif", "junit", "github", "markdown", "html")

#: Formats that are shown on the lines of a repository's files.
_IN_REPOSITORY = ("sarif", "github", "gitlab")


def render(form: str, reports: Sequence[Report], beside: Beside | None = None) -> str:
    """Return the reports as text of one of `MACHINE_FORMATS`.

    Args:
        form: its name.
        reports: what was found.
        beside: what else there is to say; formats of findings alone have no place for it.
    """
    module_name, _, function_name = MACHINE_FORMATS[form].partition(".")
    module = import_module(f"specpreflight.reports.{module_name}")
    function: Callable[..., str] = getattr(module, function_name)
    if form in _IN_REPOSITORY:
        from specpreflight.reports.relative import beside_from, seen_from

        root = repository_root()
        reports = [seen_from(root, report) for report in reports]
        beside = None if beside is None else beside_from(root, beside)
    pages = (rule_pages(reports),) if form in _WITH_PAGES else ()
    last = () if beside is None or form not in _WITH_BESIDE else (beside,)
    return encodable(function(reports, *pages, *last))


def repository_root() -> str:
    """Return the folder that a pipeline's annotations are relative to."""
    return os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or str(Path.cwd())


def encodable(text: str) -> str:
    """Return text with lone surrogates, which JSON may hold and UTF-8 may not, as `\\ud800`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def rule_pages(reports: Sequence[Report]) -> dict[str, tuple[str, str]]:
    """Return summary and page of each rule that found something."""
    from specpreflight.rules.plugins import loaded_rules
    from specpreflight.rules.registry import find_rule, read_page

    others = loaded_rules()
    names = {finding.rule for report in reports for finding in report.findings}
    return {
        name: (find_rule(name, others).summary, read_page(name, others)) for name in sorted(names)
    }


def parse_output(given: str) -> tuple[str, Path]:
    """Return format and file of an `--output FORMAT=FILE`.

    Raises:
        UsageError: it is not of that form, or names no format.
    """
    form, equals, file = given.partition("=")
    if not equals or not file or form not in MACHINE_FORMATS:
        raise UsageError(
            f"--output {given}: not FORMAT=FILE",
            hint=f"formats: {', '.join(MACHINE_FORMATS)}",
        )
    return form, Path(file)


def write_output(given: str, reports: Sequence[Report], beside: Beside | None = None) -> None:
    """Write the reports to the file of an `--output FORMAT=FILE`.

    Raises:
        UsageError: see `parse_output`.
        InputError: the file cannot be written.
    """
    form, path = parse_output(given)
    try:
        path.write_text(render(form, reports, beside), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
