"""The keys of `--speculative-config`: values against pydantic itself, keys by release."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.speculative_keys import Invalid, _first_fitting, validate

pydantic = pytest.importorskip("pydantic")

TYPES: dict[str, tuple[Any, list[Any]]] = {
    "int": (int, ["int"]),
    "float": (float, ["float"]),
    "bool": (bool, ["bool"]),
    "str": (str, ["str"]),
    "literal": (Literal["eagle", "mtp"], [{"literal": ["eagle", "mtp"]}]),
    "ints": (list[int], [{"list": [["int"]]}]),
}
TEXTS = ("3", " 3 ", "3.0", "3.5", "-1", "on", "YES", "1", "t", "eagle", "mtp", "", "null", "1e3")
JSON_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(-(2.0**53), 2.0**53),
    st.sampled_from(TEXTS),
    st.lists(st.one_of(st.integers(-9, 9), st.sampled_from(TEXTS)), max_size=3),
    st.dictionaries(st.sampled_from(TEXTS), st.integers(0, 1), max_size=1),
)


@settings(deadline=None)
@given(name=st.sampled_from(sorted(TYPES)), value=JSON_VALUES)
def test_values_convert_as_in_pydantic(name: str, value: Any) -> None:
    real, ours = TYPES[name]
    try:
        expected: Any = pydantic.TypeAdapter(real).validate_python(value)
    except pydantic.ValidationError as error:
        expected = error.errors()[0]["msg"]
        with pytest.raises(Invalid) as raised:
            _first_fitting(ours, value)
        assert str(raised.value) == expected
    else:
        got = _first_fitting(ours, value)
        assert (got, type(got)) == (expected, type(expected))


def keys(version: str, **given_keys: Any) -> Any:
    return validate(given_keys, Knowledge(version))


def test_a_default_of_the_release_stands_in_for_a_missing_key() -> None:
    assert keys("0.20.2").get("parallel_drafting") is False
    assert keys("0.11.0").get("parallel_drafting") is None


@pytest.mark.parametrize(
    ("version", "problems", "ignored"),
    [
        ("0.15.1", [], ["num_tokens"]),
        ("0.16.0", ["num_tokens"], []),
        ("0.33.0", ["num_tokens"], []),
    ],
)
def test_unknown_keys(version: str, problems: list[str], ignored: list[str]) -> None:
    found = keys(version, num_tokens=3)
    assert [problem.key for problem in found.problems] == problems
    assert [each.key for each in found.ignored] == ignored


def test_the_nearest_key_is_named() -> None:
    [problem] = keys("0.20.2", num_speculative_token=3).problems
    assert problem.suggestion == "num_speculative_tokens"
    assert "num_speculative_tokens" in problem.message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "Input should be greater than 0"),
        (-1, "Input should be greater than 0"),
        ("three", "Input should be a valid integer, unable to parse string as an integer"),
        (2.5, "Input should be a valid integer, got a number with a fractional part"),
    ],
)
def test_bounds_and_types_of_the_token_count(value: Any, expected: str) -> None:
    [problem] = keys("0.33.0", num_speculative_tokens=value).problems
    assert problem.text == expected


def test_all_problems_are_found_at_once() -> None:
    found = keys("0.33.0", num_speculative_tokens="x", method="no", other=1)
    assert [problem.key for problem in found.problems] == [
        "num_speculative_tokens",
        "method",
        "other",
    ]


def test_engine_fields_are_not_taken_from_the_user() -> None:
    assert keys("0.33.0", target_model_config={"a": 1}).get("target_model_config") is None


def test_attention_backends_are_named_in_any_case() -> None:
    assert keys("0.33.0", attention_backend="flash_attn").get("attention_backend") == "FLASH_ATTN"
    assert keys("0.33.0", attention_backend="auto").get("attention_backend") is None
    [problem] = keys("0.33.0", attention_backend="fast").problems
    assert problem.text.startswith("Unknown attention backend: 'FAST'. Valid options are: ")
