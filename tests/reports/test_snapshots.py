"""Each format as it is, on the shared sample: a change of a format is a change of a file here.

`UPDATE_SNAPSHOTS=1 pytest tests/reports/test_snapshots.py` writes them again.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from sample_report import BESIDE, SAMPLE

from specpreflight import __version__
from specpreflight.cli.rendering import MACHINE_FORMATS, render
from specpreflight.reports.sarif import render_sarif

FOLDER = Path(__file__).parent / "snapshots"
SUFFIXES = {
    "json-lines": "jsonl",
    "github": "txt",
    "gitlab": "json",
    "markdown": "md",
    "junit": "xml",
}

PAGES = {
    "draft-context-shorter": ("the draft is shorter", "The draft is shorter.\n\n## Example"),
    "rope-theta-differs": ("theta differs", "Theta differs.\n\n## Example"),
}


def text_of(form: str) -> str:
    text = (
        render_sarif([SAMPLE], PAGES, BESIDE) if form == "sarif" else render(form, [SAMPLE], BESIDE)
    )
    if form == "html":  # the style, the script and their digests are files of their own
        text = re.sub(r"(<style>|<script>)[^<].*?(</style>|</script>)", r"\1…\2", text, flags=re.S)
        text = re.sub(r"sha256-[\w+/=]+", "sha256-…", text)
    return text.replace(f'"version": "{__version__}"', '"version": "…"')


@pytest.mark.parametrize("form", MACHINE_FORMATS)
def test_snapshot(form: str) -> None:
    path = FOLDER / f"{form}.{SUFFIXES.get(form, form)}"
    text = text_of(form)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
