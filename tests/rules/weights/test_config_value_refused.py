from __future__ import annotations

from pathlib import Path

from launches import bare_launch

from specpreflight.models.finding import MISSING, Origin, Outcome, Stage, Value
from specpreflight.models.resolved import Event, Resolved
from specpreflight.rules.weights.config_value_refused import RULE


def refusal(value: object, line: int | None) -> Resolved:
    origin = Origin("file", path="draft/config.json", pointer="/num_hidden_layers", line=line)
    event = Event(
        "config.wrong-type",
        Outcome.REFUSES,
        Stage.DRAFT_CONFIG,
        "`num_hidden_layers` has a type that the config class refuses",
        values=(Value("draft", value, origin),),
    )
    return Resolved({}, (event,))


def test_a_stated_null_is_taken_away(tmp_path: Path) -> None:
    [finding] = RULE.check(bare_launch(tmp_path), refusal(None, 3))
    [edit] = finding.remedies[0].edits
    assert (edit.pointer, edit.before, edit.after) == ("/num_hidden_layers", None, MISSING)
    assert finding.remedies[0].applicability == "safe"


def test_another_value_needs_a_human(tmp_path: Path) -> None:
    for value, line in (("32", 3), (None, None)):
        [finding] = RULE.check(bare_launch(tmp_path), refusal(value, line))
        assert finding.remedies[0].applicability == "placeholder"


def test_quiet_without_the_event(tmp_path: Path) -> None:
    assert list(RULE.check(bare_launch(tmp_path), Resolved({}, ()))) == []
