"""The text report in colour, for a terminal; the only module that imports rich."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from specpreflight.models.report import Report
from specpreflight.reports.text import Layout, Line, lay_out

#: The sixteen colours of the terminal's own theme, so that light and dark both read well.
_STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold cyan",
    "good": "bold green",
    "strong": "bold",
    "dim": "dim",
    "label": "dim",
    "value": "bold",
    "place": "cyan",
    "source": "dim",
    "mark": "red",
    "quote": "italic",
    "command": "green",
}


def render_terminal(report: Report, layout: Layout) -> str:
    """Return the report with ANSI colours."""
    console = Console(
        file=io.StringIO(), force_terminal=True, color_system="standard", width=10_000
    )
    with console.capture() as capture:
        for line in lay_out(report, layout):
            console.print(colour(line), soft_wrap=True)
    return capture.get()


def colour(line: Line) -> Text:
    """Return one line as rich text."""
    return Text.assemble(*((piece.text, _STYLES.get(piece.style, "")) for piece in line))
