"""Read a baseline file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from specpreflight.documents import read_document
from specpreflight.errors import InputError
from specpreflight.models.baseline import Baseline, Entry, Key
from specpreflight.models.finding import Severity

FORMAT_VERSION: Final = "1"


def read_baseline(given: str) -> Baseline:
    """Read the file that `specpreflight baseline create` writes.

    Raises:
        InputError: it is not there, or is no baseline.
    """
    path = Path(given)
    if not path.exists():
        raise InputError(
            f"{given}: no such file", hint=f"specpreflight baseline create {given} scan …"
        )
    data = read_document(path, given).root
    if not isinstance(data, dict) or data.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{given}: is no baseline of format {FORMAT_VERSION}",
            hint="make one with: specpreflight baseline create FILE scan …",
        )
    try:
        entries = dict(_read_entry(entry) for entry in data["findings"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{given}: an entry of the baseline cannot be read: {error}",
            hint="restore the file, or make it again",
        ) from None
    return Baseline(given, folder_of(given), entries)


def folder_of(file: str) -> str:
    """Return the folder that paths in a baseline are relative to."""
    return os.path.abspath(os.path.dirname(file))  # noqa: PTH100, PTH120 (a link keeps its name)


def _read_entry(entry: Any) -> tuple[Key, Entry]:
    key = Key(
        str(entry["fingerprint"]),
        str(entry["target"]),
        str(entry["draft"]),
        entry.get("launch", ""),
    )
    return key, Entry(str(entry["rule"]), str(entry["engine"]), Severity(entry["severity"]))


def baseline_text(baseline: Baseline) -> str:
    """Return the file that `read_baseline` reads, sorted so that a diff shows what changed."""
    findings = [
        {
            "rule": entry.rule,
            "severity": entry.severity.value,
            "engine": entry.engine,
            "target": key.target,
            "draft": key.draft,
            **({"launch": key.launch} if key.launch else {}),
            "fingerprint": key.fingerprint,
        }
        for key, entry in sorted(
            baseline.entries.items(),
            key=lambda item: (item[0].draft, item[1].rule, item[0]),
        )
    ]
    return json.dumps({"format_version": FORMAT_VERSION, "findings": findings}, indent=1) + "\n"
