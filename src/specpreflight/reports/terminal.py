"""The text report in colour, for a terminal; the only module that imports rich."""

from __future__ import annotations

from rich.color import ColorSystem
from rich.style import Style

from specpreflight.models.report import Report
from specpreflight.reports.text import Layout, Piece, lay_out, plain

#: The sixteen colours of the terminal's own theme, so that light and dark both read well.
_STYLES = {
    "error": Style(color="red", bold=True),
    "warning": Style(color="yellow", bold=True),
    "note": Style(color="cyan", bold=True),
    "good": Style(color="green", bold=True),
    "strong": Style(bold=True),
    "dim": Style(dim=True),
    "label": Style(dim=True),
    "value": Style(bold=True),
    "place": Style(color="cyan"),
    "source": Style(dim=True),
    "mark": Style(color="red"),
    "quote": Style(italic=True),
    "command": Style(color="green"),
}


def render_terminal(report: Report, layout: Layout) -> str:
    """Return the report with ANSI colours."""
    lines = ("".join(map(colour, line)) for line in lay_out(report, layout))
    return "".join(f"{line}\n" for line in lines)


def colour(piece: Piece) -> str:
    """Return a piece of text in the colour of the role it plays."""
    style = _STYLES.get(piece.style)
    text = plain(piece)
    return text if style is None else style.render(text, color_system=ColorSystem.STANDARD)
