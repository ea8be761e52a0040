"""Remedies become one plan per file, or are refused with the names of those that clash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixing import finding

from specpreflight.documents import Document, parse_document, read_document
from specpreflight.fixes.plan import FilePlan, FixConflict, is_protected, plan_fixes
from specpreflight.models.finding import MISSING, Edit, Finding, Ignored, Remedy

CONFIG = (
    b'{\n  "dtype": "float16",\n  "heads": [1, 2, 3],\n'
    b'  "max_position_embeddings": 131072,\n  "rope_theta": 1e6,\n  "text": {"a": 1}\n}\n'
)


def config(name: str = "draft/config.json", data: bytes = CONFIG) -> Document:
    return parse_document(data, name)


def edit(pointer: str, before: Any, after: Any, path: str = "draft/config.json") -> Edit:
    return Edit(path, pointer, before, after)


def plan(*findings: Finding, applicability: tuple[str, ...] = ("safe",)) -> tuple[FilePlan, ...]:
    return plan_fixes(findings, [config()], applicability)


RAISE = edit("/max_position_embeddings", 131072, 262144)


def test_edits_of_several_rules_become_one_plan() -> None:
    (file,) = plan(
        finding(RAISE, rule="draft-context-shorter"),
        finding(edit("/dtype", "float16", "bfloat16"), rule="draft-dtype"),
        finding(edit("/text/b", MISSING, 2), rule="new-key"),
    )
    assert file.rules == ("draft-context-shorter", "draft-dtype", "new-key")
    assert file.new_data == CONFIG.replace(b"131072", b"262144").replace(
        b'"float16"', b'"bfloat16"'
    ).replace(b'{"a": 1}', b'{"a": 1, "b": 2}')
    assert file.edited.get("/max_position_embeddings") == 262144
    assert file.edited.name == "draft/config.json"


def test_the_same_edit_of_two_rules_is_one_edit() -> None:
    (file,) = plan(finding(RAISE, rule="one"), finding(RAISE, rule="other"))
    assert file.edits == (RAISE,)
    assert file.rules == ("one", "other")


def test_what_is_done_already_is_not_planned() -> None:
    assert plan(finding(edit("/max_position_embeddings", 4096, 131072))) == ()
    assert plan(finding(edit("/absent", 1, MISSING))) == ()
    assert plan() == ()


def test_removals_from_one_list_do_not_shift_each_other() -> None:
    (file,) = plan(
        finding(edit("/heads/0", 1, MISSING), rule="one"),
        finding(edit("/heads/2", 3, MISSING), rule="other"),
    )
    assert file.edited.get("/heads") == [2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (edit("/text/a", 1, 2), edit("/text/a", 1, 3)),
        (edit("/text/a", 1, 1.0), edit("/text/a", 1, True)),
        (edit("/text/a", 1, 2), edit("/text", {"a": 1}, {})),
        (edit("/text", {"a": 1}, MISSING), edit("/text/b", MISSING, 3)),
        (edit("/heads/0", 1, 9), edit("/heads", [1, 2, 3], [])),
        (edit("/new", MISSING, 1), edit("/new", MISSING, 2)),
    ],
)
def test_contradicting_edits_are_refused_with_both_names(one: Edit, other: Edit) -> None:
    with pytest.raises(FixConflict) as caught:
        plan(finding(one, rule="first-rule"), finding(other, rule="second-rule"))
    assert "first-rule" in caught.value.message
    assert "second-rule" in caught.value.message
    assert caught.value.message.startswith("draft/config.json: ")
    assert caught.value.exit_code == 2


def test_keys_that_begin_alike_do_not_overlap() -> None:
    (file,) = plan(
        finding(edit("/heads_kv", MISSING, 1), rule="one"),
        finding(edit("/heads/0", 1, 5), rule="other"),
    )
    assert file.edited.get("/heads") == [5, 2, 3]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (edit("/max_position_embeddings", 4096, 8192), "expects 4096"),
        (edit("/max_position_embeddings", 131072.0, 8192), "expects 131072.0"),
        (edit("/max_position_embeddings", MISSING, 8192), "expects no key"),
        (edit("/absent", 1, 2), "found no key"),
        (edit("/absent/deeper", MISSING, 2), "nothing can hold it"),
        (edit("/dtype/deeper", MISSING, 2), "nothing can hold it"),
        (edit("/dtype", "float16", "x", path="other/config.json"), "which was not read"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(wrong: Edit, says: str) -> None:
    with pytest.raises(FixConflict, match=says):
        plan(finding(wrong))


@pytest.mark.parametrize(
    ("how", "applicability", "planned"),
    [
        ("safe", ("safe",), 1),
        ("unsafe", ("safe",), 0),
        ("unsafe", ("safe", "unsafe"), 1),
        ("placeholder", ("safe", "unsafe"), 0),
    ],
)
def test_applicability(how: str, applicability: tuple[str, ...], planned: int) -> None:
    assert len(plan(finding(RAISE, how=how), applicability=applicability)) == planned


def test_the_first_remedy_that_applies_is_chosen() -> None:
    both = replace(
        finding(RAISE),
        remedies=(
            Remedy("wait", "manual", "safe"),
            Remedy("first", "edit", "unsafe", edits=(edit("/text/a", 1, 2),)),
            Remedy("second", "edit", "safe", edits=(RAISE,)),
        ),
    )
    assert plan(both)[0].edits == (RAISE,)
    assert plan(both, applicability=("safe", "unsafe"))[0].edits[0].pointer == "/text/a"


def test_ignored_findings_are_not_fixed() -> None:
    assert plan(replace(finding(RAISE), ignored=Ignored("known", "command line"))) == ()


@pytest.mark.parametrize(
    "pointer",
    ["/rope_theta", "/text_config/rope_scaling/factor", "/rope_scaling", "/vocab_size"],
)
def test_what_must_match_the_weights_is_never_planned(pointer: str) -> None:
    assert is_protected(pointer)
    change = edit("/rope_theta", 1e6, 5e6)
    assert plan(finding(change), applicability=("safe", "unsafe")) == ()


def test_a_file_with_two_names_gets_one_plan(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(CONFIG)
    one, other = read_document(path, "target/config.json"), read_document(path, "draft/config.json")
    plans = plan_fixes([finding(RAISE)], [one, other])
    assert [file.document.name for file in plans] == ["target/config.json"]


def test_duplicate_keys_are_said() -> None:
    document = config(data=b'{"a": 1, "a": 2}')
    (file,) = plan_fixes([finding(edit("/a", 2, 3))], [document])
    assert file.new_data == b'{"a": 1, "a": 3}'
    assert file.notes == (
        "/a is there more than once; the last one, which parsers take, is edited",
    )
