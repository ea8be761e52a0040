from __future__ import annotations

from pathlib import Path

import pytest
from launches import bare_launch, resolved_with

from specpreflight.models.finding import Outcome
from specpreflight.rules.context.draft_context_longer import RULE


@pytest.mark.parametrize(("draft", "count"), [(131071, 0), (131072, 0), (131073, 1), (None, 0)])
def test_only_a_longer_draft_is_worth_a_note(tmp_path: Path, draft: int | None, count: int) -> None:
    facts = resolved_with(target_derived_length=131072, draft_derived_length=draft)
    found = list(RULE.check(bare_launch(tmp_path), facts))
    assert len(found) == count
    assert all(finding.outcome is Outcome.STARTS for finding in found)
