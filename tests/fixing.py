"""A draft to fix, and the findings and plans that fix it; shared by the tests of fixes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specpreflight.documents import read_document
from specpreflight.fixes.plan import FilePlan, plan_fixes
from specpreflight.models.finding import Edit, Finding, Outcome, Remedy

KIMI = b'{\n  "max_position_embeddings": 131072,\n  "rope_theta": 1e6\n}\n'
FIXED = KIMI.replace(b"131072", b"262144")


def finding(
    *edits: Edit,
    rule: str = "draft-context-shorter",
    how: Any = "safe",
    outcome: Outcome = Outcome.CRASHES,
) -> Finding:
    """A finding with one edit remedy."""
    remedies = (Remedy("raise it", "edit", how, edits=edits),) if edits else ()
    return Finding(rule=rule, outcome=outcome, message=f"{rule} found it", remedies=remedies)


def kimi_plan(directory: Path) -> tuple[FilePlan, ...]:
    """The plan that raises the draft's context length."""
    document = read_document(directory / "config.json")
    edit = Edit(document.name, "/max_position_embeddings", 131072, 262144)
    return plan_fixes([finding(edit)], [document])
