"""A fix can be taken back, and the journal tells what happened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixing import FIXED, KIMI, finding, kimi_plan

from specpreflight.documents import read_document
from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.apply import apply_change, apply_plans
from specpreflight.fixes.place import find_write_place
from specpreflight.fixes.plan import plan_fixes
from specpreflight.fixes.undo import read_history, undo_last
from specpreflight.models.finding import Edit
from specpreflight.storage import LOCAL


def states(directory: Path) -> list[tuple[str, str]]:
    return [(entry.record.action, entry.state) for entry in read_history(str(directory))]


def fix_again(directory: Path) -> bytes:
    document = read_document(directory / "config.json")
    edit = Edit(document.name, "/max_position_embeddings", 262144, 524288)
    (plan,) = plan_fixes([finding(edit, rule="another-rule")], [document])
    apply_plans([plan])
    return plan.new_data


def test_undo_restores_the_bytes(draft: Path) -> None:
    apply_plans(kimi_plan(draft))
    fix, undoing = undo_last(str(draft))
    assert (draft / "config.json").read_bytes() == KIMI
    assert (fix.number, undoing.number, undoing.undoes) == (1, 2, 1)
    assert states(draft) == [("fix", "undone"), ("undo", "applied")]


def test_the_record_tells_what_was_done(draft: Path) -> None:
    apply_plans(kimi_plan(draft))
    (entry,) = read_history(str(draft))
    assert entry.record.rules == ("draft-context-shorter",)
    assert entry.record.edits == (
        {"pointer": "/max_position_embeddings", "before": 131072, "after": 262144},
    )
    assert entry.record.time.endswith("+00:00")
    assert entry.state == "applied"


def test_undo_goes_back_step_by_step(draft: Path) -> None:
    apply_plans(kimi_plan(draft))
    fix_again(draft)
    undo_last(str(draft))
    assert (draft / "config.json").read_bytes() == FIXED
    undo_last(str(draft))
    assert (draft / "config.json").read_bytes() == KIMI
    with pytest.raises(UsageError, match="nothing to undo"):
        undo_last(str(draft))


def test_fix_undo_fix_undo(draft: Path) -> None:
    for _ in range(2):
        apply_plans(kimi_plan(draft))
        undo_last(str(draft))
    assert (draft / "config.json").read_bytes() == KIMI
    assert states(draft) == [
        ("fix", "undone"),
        ("undo", "applied"),
        ("fix", "undone"),
        ("undo", "applied"),
    ]


def test_nothing_was_ever_fixed(draft: Path) -> None:
    assert read_history(str(draft)) == ()
    with pytest.raises(UsageError, match="nothing to undo"):
        undo_last(str(draft))


def test_a_file_that_was_edited_since_needs_force(draft: Path) -> None:
    apply_plans(kimi_plan(draft))
    (draft / "config.json").write_bytes(b'{"mine": 1}')
    assert states(draft) == [("fix", "edited since")]
    with pytest.raises(UsageError, match="was edited after the fix") as caught:
        undo_last(str(draft))
    assert "--force" in str(caught.value.hint)
    undo_last(str(draft), force=True)
    assert (draft / "config.json").read_bytes() == KIMI
    assert (draft / ".specpreflight" / "0002-config.json").read_bytes() == b'{"mine": 1}'


def test_a_fix_that_was_not_carried_out_is_not_undone(draft: Path) -> None:
    apply_plans(kimi_plan(draft))
    fix_again(draft)
    (draft / "config.json").write_bytes(FIXED)  # as if killed before the second rename
    assert states(draft) == [("fix", "applied"), ("fix", "not written")]
    undo_last(str(draft))
    assert (draft / "config.json").read_bytes() == KIMI


def test_a_damaged_backup_is_not_restored(draft: Path) -> None:
    apply_plans(kimi_plan(draft))
    (draft / ".specpreflight" / "0001-config.json").write_bytes(b"{}")
    with pytest.raises(InputError, match="backup of fix 1 is damaged"):
        undo_last(str(draft))
    assert (draft / "config.json").read_bytes() == FIXED


@pytest.mark.parametrize("file", ["../target/config.json", "/etc/passwd", "..", "a/b", 7])
def test_a_record_that_leads_out_of_the_checkpoint_is_not_ours(file: object, draft: Path) -> None:
    apply_plans(kimi_plan(draft))
    record = draft / ".specpreflight" / "0001.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "file": file}))
    assert read_history(str(draft)) == ()


def test_a_hidden_file_can_be_undone(tmp_path: Path) -> None:
    script = tmp_path / ".start.sh"
    script.write_bytes(b"old")
    place = find_write_place(LOCAL, str(script), str(script))
    apply_change(place, str(script), b"old", b"new", ["a-rule"])
    undo_last(str(tmp_path), file=".start.sh")
    assert script.read_bytes() == b"old"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"{}", b'{"number": 1}', b"\xff"])
def test_a_torn_record_is_skipped(data: bytes, draft: Path) -> None:
    apply_plans(kimi_plan(draft))
    (draft / ".specpreflight" / "0002.json").write_bytes(data)
    assert states(draft) == [("fix", "applied")]
    fix_again(draft)
    assert (draft / ".specpreflight" / "0003.json").exists()


def test_the_file_is_gone(draft: Path) -> None:
    apply_plans(kimi_plan(draft))
    (draft / "config.json").unlink()
    assert states(draft) == [("fix", "edited since")]
    with pytest.raises(InputError, match="not written"):
        undo_last(str(draft), force=True)
