"""What `docs/scan.md` says can be typed."""

from __future__ import annotations

import re
from pathlib import Path

from specpreflight.cli.scan import scan

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_options_that_the_page_names_exist() -> None:
    text = (DOCS / "scan.md").read_text(encoding="utf-8")
    known = {option for parameter in scan.params for option in parameter.opts}
    assert set(re.findall(r"(?<!\w)--[a-z][a-z-]+", text)) <= known
