"""Edits keep every byte outside the edited value, and mean what was asked."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from specpreflight.documents import parse_document, scan
from specpreflight.documents.edits import edit_bytes, remove_bytes
from specpreflight.documents.pointer import join_pointer, split_pointer

#: As many documents as SPECPREFLIGHT_EXAMPLES says, however slow the machine makes them.
THOROUGH = settings(
    max_examples=int(os.environ.get("SPECPREFLIGHT_EXAMPLES", "250")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

INFINITIES = (float("inf"), float("-inf"))

STRANGE = (
    b"\xef\xbb\xbf{\r\n"
    b'\t"name" :\t"caf\\u00e9 \\/ \xe6\xa8\xa1\xe5\x9e\x8b",\r\n'
    b'\t"lr":1e-5,"one": 1.0 ,\r\n\r\n'
    b'\t"big": 123456789012345678901234567890,\r\n'
    b'\t"limit": [0.0, Infinity, NaN],\r\n'
    b'\t"context": 1,\r\n'
    b'\t"context": 131072\r\n'
    b"}"
)


def test_only_the_value_that_parsers_take_is_replaced() -> None:
    edited = edit_bytes(STRANGE, "/context", 262144)
    assert edited == STRANGE.replace(b"131072", b"262144")


@pytest.mark.parametrize(
    ("before", "pointer", "value", "after"),
    [
        ('{"a":1}', "/a", 2, '{"a":2}'),
        ('{ "a" : 1.0 }', "/a", 1e-5, '{ "a" : 1e-05 }'),
        ('{"a": [1, 2]}', "/a/1", None, '{"a": [1, null]}'),
        ('{"a": "x"}', "/a", "é", '{"a": "\\u00e9"}'),
        ('{"a": "ü"}', "/a", "é", '{"a": "é"}'),
        ('{"a": true}\n', "/a", False, '{"a": false}\n'),
        ('{\n "a": 1\n}', "/a", {"b": [1]}, '{\n "a": {\n  "b": [\n   1\n  ]\n }\n}'),
        ('{\n  "a": [1, 2]\n}', "/a", [3, 4, 5], '{\n  "a": [3, 4, 5]\n}'),
        ('{\n  "a": [\n    1\n  ]\n}', "/a", [3, 4], '{\n  "a": [\n    3,\n    4\n  ]\n}'),
        ('{\n  "a": {"x": 1}\n}', "/a", {"y": 2}, '{\n  "a": {"y": 2}\n}'),
        ('{"a":{"x":1},"b":2}', "/a", {"y": 2, "z": 3}, '{"a":{"y":2,"z":3},"b":2}'),
        ("{\r\n\t\"a\": 1\r\n}", "/a", {"b": 1}, "{\r\n\t\"a\": {\r\n\t\t\"b\": 1\r\n\t}\r\n}"),
    ],
)  # fmt: skip
def test_replace(before: str, pointer: str, value: Any, after: str) -> None:
    assert edit_bytes(before.encode(), pointer, value).decode() == after


@pytest.mark.parametrize(
    ("before", "pointer", "value", "after"),
    [
        # to its place among sorted keys, else to the end
        ('{"a": 1, "c": 3}', "/b", 2, '{"a": 1, "b": 2, "c": 3}'),
        ('{"b": 1, "c": 3}', "/a", 2, '{"a": 2, "b": 1, "c": 3}'),
        ('{"a": 1, "b": 3}', "/c", 2, '{"a": 1, "b": 3, "c": 2}'),
        ('{"z": 1, "c": 3}', "/b", 2, '{"z": 1, "c": 3, "b": 2}'),
        ('{"z": 1}', "/b", 2, '{"z": 1, "b": 2}'),
        ('{\n  "z": 1\n}\n', "/b", 2, '{\n  "z": 1,\n  "b": 2\n}\n'),
        ('{\n  "b": 1,\n  "c": 2\n}\n', "/a", 0, '{\n  "a": 0,\n  "b": 1,\n  "c": 2\n}\n'),
        # in the neighbours' style
        ('{"a":1,"b":2}', "/c", [1, 2], '{"a":1,"b":2,"c":[1,2]}'),
        ('{ "a" : 1 , "b" : 2 }', "/c", 3, '{ "a" : 1 , "b" : 2 , "c" : 3 }'),
        ('{\n  "z": {"x": 1}\n}', "/z/y", 2, '{\n  "z": {"x": 1, "y": 2}\n}'),
        ('{\n  "z": {"x": 1}\n}', "/z/y", {"k": 1}, '{\n  "z": {"x": 1, "y": {"k": 1}}\n}'),
        ('{\n "z": {\n  "x": 1\n }\n}', "/z/y", 2, '{\n "z": {\n  "x": 1,\n  "y": 2\n }\n}'),
        ('{\n "z": 1\n}', "/y", {"k": 1}, '{\n "z": 1,\n "y": {\n  "k": 1\n }\n}'),
        ('{\n  "z": 1\n, "a": 2\n}', "/b", 3, '{\n  "z": 1\n, "a": 2\n, "b": 3\n}'),
        ('{\r\n    "z": 1\r\n}', "/b", 2, '{\r\n    "z": 1,\r\n    "b": 2\r\n}'),
        ('{"a": [1] ,"b": 2}', "/a/1", 2, '{"a": [1,2] ,"b": 2}'),
        # a blank line between groups is not what most neighbours have
        ('{"z": 1,\n "y": 2,\n\n "x": 3}', "/b", 2, '{"z": 1,\n "y": 2,\n\n "x": 3,\n "b": 2}'),
        # into empty containers
        ("{}", "/a", 1, '{"a": 1}'),
        ('{\n  "z": {}\n}', "/z/a", 1, '{\n  "z": {\n    "a": 1\n  }\n}'),
        ('{\n  "z": [ ]\n}', "/z/-", 1, '{\n  "z": [\n    1\n  ]\n}'),
        # arrays
        ('{"a": [1, 2]}', "/a/2", 3, '{"a": [1, 2, 3]}'),
        ('{"a": [1]}', "/a/-", 3, '{"a": [1, 3]}'),
        ('{\n  "a": [\n    1\n  ]\n}', "/a/1", 2, '{\n  "a": [\n    1,\n    2\n  ]\n}'),
        # a list of scalars is flat where the file's lists are
        ('{\n  "z": [1, 2]\n}', "/b", [3], '{\n  "z": [1, 2],\n  "b": [3]\n}'),
        ('{\n  "z": 1\n}', "/b", [3], '{\n  "z": 1,\n  "b": [\n    3\n  ]\n}'),
        ('{"z": 1}', "/k~1~0", 2, '{"z": 1, "k/~": 2}'),
    ],
)  # fmt: skip
def test_add(before: str, pointer: str, value: Any, after: str) -> None:
    assert edit_bytes(before.encode(), pointer, value).decode() == after


@pytest.mark.parametrize(
    ("before", "pointer", "after"),
    [
        ('{"a": 1, "b": 2, "c": 3}', "/a", '{"b": 2, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', "/b", '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', "/c", '{"a": 1, "b": 2}'),
        ('{\n  "a": 1\n}', "/a", "{}"),
        ('{\n  "a": 1,\n  "b": 2\n}\n', "/b", '{\n  "a": 1\n}\n'),
        ('{\n  "a": 1,\n  "b": 2\n}\n', "/a", '{\n  "b": 2\n}\n'),
        ('{"a": [1, 1, 1]}', "/a/1", '{"a": [1, 1]}'),
        # an earlier duplicate would come to light
        ('{"a": 1, "b": 2, "a": 3}', "/a", '{"b": 2}'),
        ('{"a": 1, "a": 3}', "/a", "{}"),
    ],
)
def test_remove(before: str, pointer: str, after: str) -> None:
    assert remove_bytes(before.encode(), pointer).decode() == after


@pytest.mark.parametrize("pointer", ["/x/y", "/a/b", "/list/3", "/list/x", "/list/01"])
def test_no_container_for_the_new_value(pointer: str) -> None:
    with pytest.raises(LookupError):
        edit_bytes(b'{"a": 1, "list": [1, 2]}', pointer, 1)


@pytest.mark.parametrize("pointer", ["", "/x", "/a/b", "/list/2", "/list/-"])
def test_nothing_to_remove(pointer: str) -> None:
    with pytest.raises(LookupError):
        remove_bytes(b'{"a": 1, "list": [1, 2]}', pointer)


# ------------------------------------------------------------------ random documents

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**20, max_value=10**40)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
)
keys = st.sampled_from(["a", "b", "rope_scaling", "text_config", "max/len", "~", "é", ""])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=25,
)
objects = st.dictionaries(keys, values, max_size=6)
space = st.text(" \t\r\n", max_size=3)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """The value with arbitrary whitespace, escapes, and hidden duplicates of keys."""
    if isinstance(value, dict):
        parts = []
        for key, item in value.items():
            spelled = json.dumps(key, ensure_ascii=draw(st.booleans()))
            if draw(st.integers(0, 9)) == 0:
                parts.append(f"{spelled}:{draw(space)}0")
            pad = [draw(space) for _ in range(4)]
            parts.append(f"{pad[0]}{spelled}{pad[1]}:{pad[2]}{draw(written(item))}{pad[3]}")
        return "{" + (",".join(parts) or draw(space)) + "}"
    if isinstance(value, list):
        parts = [draw(space) + draw(written(item)) + draw(space) for item in value]
        return "[" + (",".join(parts) or draw(space)) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    root = draw(objects)
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    layout = draw(st.sampled_from([None, 0, 1, 2, 4, "\t", "random"]))
    if layout == "random":
        text = draw(space) + draw(written(root)) + draw(space)
    else:
        text = json.dumps(root, indent=layout, ensure_ascii=draw(st.booleans()))
        text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))) + draw(space)
    return mark + text.encode()


def all_pointers(value: Any, parts: tuple[str | int, ...] = ()) -> list[str]:
    found = [join_pointer(*parts)]
    if isinstance(value, dict):
        for key, item in value.items():
            found += all_pointers(item, (*parts, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += all_pointers(item, (*parts, index))
    return found


def strictly_equal(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)


def parent_of(root: Any, pointer: str) -> tuple[Any, str | int]:
    *parts, last = split_pointer(pointer)
    for part in parts:
        root = root[int(part)] if isinstance(root, list) else root[part]
    return root, int(last) if isinstance(root, list) else last


@THOROUGH
@given(documents(), values, st.data())
def test_replacing_any_value(data: bytes, value: Any, choices: st.DataObject) -> None:
    document = parse_document(data, "config.json")
    pointer = choices.draw(st.sampled_from(all_pointers(document.root)))
    edited = edit_bytes(data, pointer, value)
    place = document.place(pointer)
    assert place is not None
    assert edited.startswith(data[: place.start])
    assert edited.endswith(data[place.end :])
    expected = [copy.deepcopy(document.root)]
    parent, key = parent_of(expected, "/0" + pointer)
    parent[key] = value
    assert strictly_equal(json.loads(edited.decode("utf-8-sig")), expected[0])


@THOROUGH
@given(documents(), st.text(max_size=3), values, st.data())
def test_adding_anywhere(data: bytes, key: str, value: Any, choices: st.DataObject) -> None:
    document = parse_document(data, "config.json")
    container = choices.draw(
        st.sampled_from(
            [
                pointer
                for pointer in all_pointers(document.root)
                if isinstance(document.get(pointer), (dict, list))
            ]
        )
    )
    if isinstance(document.get(container), dict):
        assume(key not in document.get(container))
        pointer = container + join_pointer(key)
    else:
        pointer = container + join_pointer(len(document.get(container)))
    edited = edit_bytes(data, pointer, value)
    result = parse_document(b'{"": ' + edited.removeprefix(b"\xef\xbb\xbf") + b"}", "")
    assert strictly_equal(result.get("/" + pointer), value)
    if document.get(container):
        same = (one == other for one, other in zip(data, edited, strict=False))
        kept = next((at for at, equal in enumerate(same) if not equal), len(data))
        assert edited.endswith(data[kept:])
    without = remove_bytes(edited, pointer)
    assert strictly_equal(json.loads(without.decode("utf-8-sig")), document.root)


@THOROUGH
@given(documents(), st.data())
def test_removing_any_value(data: bytes, choices: st.DataObject) -> None:
    document = parse_document(data, "config.json")
    pointers = all_pointers(document.root)[1:]
    assume(pointers)
    pointer = choices.draw(st.sampled_from(pointers))
    expected = copy.deepcopy(document.root)
    parent, key = parent_of(expected, pointer)
    del parent[key]
    edited = remove_bytes(data, pointer)
    assert strictly_equal(json.loads(edited.decode("utf-8-sig")), expected)


@THOROUGH
@given(documents(), scalars.filter(lambda value: value not in INFINITIES), st.data())
def test_another_editor_agrees(data: bytes, value: Any, choices: st.DataObject) -> None:
    """json-source-edit, written by others, replaces values to the same bytes."""
    other = pytest.importorskip("json_source_edit")
    document = parse_document(data, "config.json")
    assume(not document.has_bom and not document.duplicates and not document.constants)
    pointers = [p for p in all_pointers(document.root)[1:] if p]
    assume(pointers)
    pointer = choices.draw(st.sampled_from(pointers))
    editor = other.JSONEditor.from_string(document.text)
    editor.replace(pointer, value)
    theirs = editor.apply(validate=False)
    ours = edit_bytes(data, pointer, value).decode()
    member = scan.find(document.text, pointer)
    assert member is not None
    tail = len(document.text) - member.end
    assert ours[: member.start] == theirs[: member.start]
    assert ours[len(ours) - tail :] == theirs[len(theirs) - tail :]
    assert json.loads(ours) == json.loads(theirs)


@pytest.mark.shared
def test_every_corpus_file_takes_every_kind_of_edit(shared: Path) -> None:
    edited = 0
    for path in sorted((shared / "corpus" / "configs").rglob("*.json")):
        data = path.read_bytes()
        document = parse_document(data, str(path))
        for key, value in document.root.items():
            pointer = join_pointer(key)
            place = document.place(pointer)
            assert place is not None
            changed = edit_bytes(data, pointer, 262144)
            assert changed == data[: place.start] + b"262144" + data[place.end :]
            if not isinstance(value, (dict, list)):
                assert edit_bytes(changed, pointer, value) is not None
            shorter = remove_bytes(data, pointer)
            assert key not in json.loads(shorter)
            edited += 1
        grown = edit_bytes(data, "/draft_vocab_size", 32000)
        if "draft_vocab_size" not in document.root:
            assert remove_bytes(grown, "/draft_vocab_size") == data, path
    assert edited > 1000
