"""Preflight validator for speculative-decoding launches.

`check` a launch, or `scan` a tree of checkpoints:

>>> from specpreflight import build_launch, check, scan
>>> check(build_launch("target", "draft", engine="sglang@0.5.11")).verdict.outcome
>>> failing = [report for report in scan("drafts", target="target") if report.summary.errors]

What this module exports is stable; a report is described by `docs/report.schema.json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specpreflight.api import build_launch, check
    from specpreflight.models.policy import Ignore, Policy
    from specpreflight.models.report import Report
    from specpreflight.scanning import scan

__all__ = ["Ignore", "Policy", "Report", "__version__", "build_launch", "check", "scan"]

__version__ = "0.1.0"

#: Name → the module that defines it; imported when it is first asked for.
_EXPORTS = {
    "Ignore": "specpreflight.models.policy",
    "Policy": "specpreflight.models.policy",
    "Report": "specpreflight.models.report",
    "build_launch": "specpreflight.api",
    "check": "specpreflight.api",
    "scan": "specpreflight.scanning",
}


def __getattr__(name: str) -> Any:
    """Import what is exported when it is asked for: `--version` needs none of it."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_EXPORTS[name]), name)
