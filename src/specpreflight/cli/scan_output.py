"""What a scan writes, and when: lines as they come, documents when all is known."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Protocol

import click

from specpreflight.errors import InputError
from specpreflight.models.beside import Beside
from specpreflight.models.report import FORMAT_VERSION, Report

if TYPE_CHECKING:
    from specpreflight.cli.check import Options
    from specpreflight.reports.scan_text import Tally
    from specpreflight.reports.text import Line, Piece
    from specpreflight.sources.checkpoint_tree import Unreadable


class Writer(Protocol):
    """One of the forms that a scan's reports are written in."""

    def add(self, report: Report) -> None:
        """Take the next report."""
        ...

    def end(self, tally: Tally, unreadable: Sequence[Unreadable]) -> None:
        """Write what comes after the last report."""
        ...


@contextmanager
def open_writers(options: Options) -> Iterator[list[Writer]]:
    """Open what `--format` and `--output` ask for.

    Raises:
        UsageError: an output is not FORMAT=FILE.
        InputError: a file cannot be written.
    """
    from specpreflight.cli.rendering import parse_output

    parsed = [parse_output(output) for output in options.outputs]
    with ExitStack() as stack:
        writers: list[Writer] = []
        if options.form == "text":
            writers.append(_Text(options))
        else:
            writers.append(_writer(options.form, sys.stdout))
        for form, path in parsed:
            try:
                stream = stack.enter_context(path.open("w", encoding="utf-8"))
            except OSError as error:
                raise InputError(f"{path}: cannot be written: {error.strerror}") from None
            writers.append(_writer(form, stream))
        yield writers


def _writer(form: str, stream: IO[str]) -> Writer:
    if form == "json":
        return _Json(stream)
    return _JsonLines(stream) if form == "json-lines" else _Document(form, stream)


class _Text:
    """Lines for people, as launches are checked."""

    def __init__(self, options: Options) -> None:
        from specpreflight.cli.check import wants_color

        self._stream = sys.stdout
        self._verbose = options.verbose
        self._colour = wants_color(options.color)

    def add(self, report: Report) -> None:
        from specpreflight.reports.scan_text import lay_out_launch

        self._write(lay_out_launch(report, verbose=self._verbose))

    def end(self, tally: Tally, unreadable: Sequence[Unreadable]) -> None:
        from specpreflight.reports.scan_text import lay_out_totals

        self._write(lay_out_totals(tally, verbose=self._verbose))

    def _write(self, lines: Iterator[Line]) -> None:
        for line in lines:
            text = "".join(map(self._shown, line)).rstrip()
            click.echo(text, file=self._stream, color=True)

    def _shown(self, piece: Piece) -> str:
        if self._colour:
            from specpreflight.reports.terminal import colour

            return str(colour(piece))
        from specpreflight.reports.text import plain

        return plain(piece)


class _JsonLines:
    """A line a report, as it is made."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def add(self, report: Report) -> None:
        from specpreflight.cli.rendering import render

        _write(self._stream, render("json-lines", [report]))

    def end(self, tally: Tally, unreadable: Sequence[Unreadable]) -> None:
        """Nothing comes after the last report."""


class _Json:
    """The document of several reports, each written as it is made.

    Beside `reports` and `summary` it has what only a scan can say: why launches have `failed` to be
    checked, `unpaired` drafts with the reason, `unreadable` paths, and what is ignored or known in
    vain (`idle`).
    """

    _HEAD = f'{{\n  "format_version": "{FORMAT_VERSION}",\n  "reports": ['

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._is_begun = False

    def add(self, report: Report) -> None:
        from specpreflight.cli.rendering import encodable
        from specpreflight.reports.json import report_data

        text = encodable(json.dumps(report_data(report), ensure_ascii=False))
        _write(self._stream, ("," if self._is_begun else self._HEAD) + "\n    " + text)
        self._is_begun = True

    def end(self, tally: Tally, unreadable: Sequence[Unreadable]) -> None:
        from specpreflight.cli.rendering import encodable

        ending = {
            "summary": asdict(tally.summary),
            "failed": [*tally.failed, *tally.broken],
            "unpaired": [{"draft": path, "reason": reason} for path, reason in tally.unpaired],
            "unreadable": [one._asdict() for one in unreadable],
            "idle": [one._asdict() for one in tally.idle],
        }
        text = encodable(json.dumps(ending, indent=2, ensure_ascii=False))
        _write(self._stream, ("\n  " if self._is_begun else self._HEAD) + "],\n" + text[2:] + "\n")


class _Document:
    """A document that can only be written when all reports are known."""

    def __init__(self, form: str, stream: IO[str]) -> None:
        self._form = form
        self._stream = stream
        self._reports: list[Report] = []

    def add(self, report: Report) -> None:
        self._reports.append(report)

    def end(self, tally: Tally, unreadable: Sequence[Unreadable]) -> None:
        from specpreflight.cli.rendering import render

        beside = Beside(tally.failed, unreadable, tally.unpaired, tally.idle, tuple(tally.broken))
        _write(self._stream, render(self._form, self._reports, beside))


def _write(stream: IO[str], text: str) -> None:
    """Write text as it is."""
    click.echo(text, file=stream, nl=False)
