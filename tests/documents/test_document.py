"""Values by pointer, and the places of values and keys."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specpreflight.documents import Document, Place, parse_document
from specpreflight.documents.pointer import join_pointer, split_pointer

CONFIG = b"""{
  "architectures": ["LlamaForCausalLMEagle3"],
  "text_config": {
    "max_position_embeddings" : 131072,
    "rope_scaling": {
      "factor": 1e-5
    }
  },
  "a/b": {"~": null}
}
"""


def document(data: bytes) -> Document:
    return parse_document(data, "config.json")


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/architectures/0", "LlamaForCausalLMEagle3"),
        ("/text_config/max_position_embeddings", 131072),
        ("/a~1b/~0", None),
        ("/architectures/1", "default"),
        ("/architectures/-1", "default"),
        ("/architectures/00", "default"),
        ("/architectures/x", "default"),
        ("/text_config/max_position_embeddings/deeper", "default"),
        ("/nothing", "default"),
    ],
)
def test_get(pointer: str, value: Any) -> None:
    assert document(CONFIG).get(pointer, "default") == value


def test_the_empty_pointer_is_the_document() -> None:
    assert document(CONFIG).get("") == json.loads(CONFIG)


def test_a_pointer_without_its_slash_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="not a JSON pointer"):
        document(CONFIG).get("architectures")


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("/architectures/0", (2, 21, 45, b'"LlamaForCausalLMEagle3"')),
        ("/text_config/max_position_embeddings", (4, 33, 39, b"131072")),
        ("/text_config/rope_scaling/factor", (6, 17, 21, b"1e-5")),
        ("/text_config/rope_scaling", (5, 21, 22, b'{\n      "factor": 1e-5\n    }')),
        ("/a~1b/~0", (9, 16, 20, b"null")),
    ],
)
def test_place(pointer: str, place: tuple[int, int, int, bytes]) -> None:
    found = document(CONFIG).place(pointer)
    assert found is not None
    assert (found.line, found.column, found.end_column) == place[:3]
    assert CONFIG[found.start : found.end] == place[3]


@pytest.mark.parametrize("pointer", ["/nothing", "/architectures/1", "/architectures/0/x"])
def test_no_place(pointer: str) -> None:
    assert document(CONFIG).place(pointer) is None
    assert document(CONFIG).key_place(pointer) is None


def test_key_place() -> None:
    found = document(CONFIG).key_place("/text_config/max_position_embeddings")
    assert found is not None
    assert (found.line, found.column, found.end_column) == (4, 5, 30)
    assert CONFIG[found.start : found.end] == b'"max_position_embeddings"'
    assert document(CONFIG).key_place("/architectures/0") is None
    assert document(CONFIG).key_place("") is None


def test_columns_count_characters_and_spans_count_bytes() -> None:
    data = '{"naïve 模型": "é", "b": 1}'.encode()
    found = document(data).place("/b")
    assert found == Place(1, 24, 25, data.index(b"1}"), data.index(b"1}") + 1)


def test_byte_order_mark_counts_in_the_span_only() -> None:
    found = document(b'\xef\xbb\xbf{"a": 1}').place("/a")
    assert found == Place(1, 7, 8, 9, 10)
    assert document(b'\xef\xbb\xbf{"a": 1}').has_bom
    assert not document(b'{"a": 1}').has_bom


def test_crlf() -> None:
    config = document(b'{\r\n  "a": {\r\n    "b": 1\r\n  }\r\n}\r\n')
    assert config.line_text(2) == '  "a": {'
    found = config.place("/a")
    assert found is not None
    assert (found.line, found.column, found.end_column) == (2, 8, 9)


@pytest.mark.parametrize(
    ("line", "text"), [(0, ""), (1, "{"), (4, '    "max_position_embeddings" : 131072,'), (99, "")]
)
def test_line_text(line: int, text: str) -> None:
    assert document(CONFIG).line_text(line) == text


def test_the_last_of_duplicate_keys_counts() -> None:
    config = document(b'{"a": 1, "b": {"c": 1, "c": 2, "c": 3}, "a": 4}')
    assert config.get("/a") == 4
    assert [(key.pointer, key.place.column, key.value) for key in config.duplicates] == [
        ("/a", 2, 1),
        ("/b/c", 16, 1),
        ("/b/c", 24, 2),
    ]
    place = config.place("/a")
    assert place is not None
    assert place.column == 46


def test_same_keys_of_different_objects_are_no_duplicates() -> None:
    assert document(b'{"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}, {"x": 1}]}').duplicates == ()


def test_keys_hidden_inside_a_hidden_value_are_told_apart() -> None:
    hidden = document(b'{"a": {"x": 1}, "a": {"x": 2, "x": 3}}').duplicates
    assert [(key.pointer, key.place.column) for key in hidden] == [("/a", 2), ("/a/x", 23)]


def test_constants() -> None:
    config = document(b'{"a": NaN, "b": ["NaN", -Infinity], "c": {"Infinity": Infinity}}')
    assert sorted(pointer for pointer, _ in config.constants) == ["/a", "/b/1", "/c/Infinity"]
    assert document(b'{"a": "NaN"}').constants == ()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


def pointers(value: Any, parts: tuple[str | int, ...] = ()) -> list[tuple[str, Any]]:
    found = [(join_pointer(*parts), value)]
    if isinstance(value, (dict, list)):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in members:
            found += pointers(child, (*parts, key))
    return found


@given(
    st.dictionaries(st.text(), json_values),
    st.sampled_from([None, 0, 2, "\t"]),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_every_place_holds_its_value(
    root: dict[str, Any], indent: int | str | None, ascii_only: bool, newline: str
) -> None:
    text = json.dumps(root, indent=indent, ensure_ascii=ascii_only).replace("\n", newline)
    config = parse_document(text.encode(), "config.json")
    for pointer, value in pointers(config.root):
        place = config.place(pointer)
        assert place is not None
        assert json.loads(config.data[place.start : place.end]) == value
        assert config.get(pointer) == value
        line = config.line_text(place.line)
        assert line[place.column - 1 : place.end_column - 1] != ""


@given(st.lists(st.text()))
def test_pointers_round_trip(parts: list[str]) -> None:
    assert split_pointer(join_pointer(*parts)) == tuple(parts)
