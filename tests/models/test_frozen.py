"""Values made the quick way behave as `@dataclass(frozen=True, slots=True)` makes them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from typing import Any

import pytest

from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Value
from specpreflight.models.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Quick:
    """Two fields."""

    name: str
    facts: Mapping[str, Any] = field(default_factory=dict, metadata={"internal": True})
    count: int = 3

    @property
    def double(self) -> int:
        return self.count * 2


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """The same by the standard library."""

    name: str
    facts: Mapping[str, Any] = field(default_factory=dict, metadata={"internal": True})
    count: int = 3

    @property
    def double(self) -> int:
        return self.count * 2


@dataclass(frozen=True, slots=True)
class Single:
    """One field."""

    only: tuple[int, ...]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("a",), {}),
        (("a", {"b": 1}), {}),
        (("a", {"b": 1}, 4), {}),
        (("a",), {"count": 5}),
        ((), {"count": 1, "name": "a", "facts": {}}),
        (("a",), {"facts": None}),
    ],
)
def test_is_made_and_shown_as_the_standard_one(args: Any, named: Any) -> None:
    made, expected = Quick(*args, **named), Standard(*args, **named)
    assert repr(made) == repr(expected).replace("Standard", "Quick")
    assert asdict(made) == asdict(expected)
    assert made.double == expected.double


@pytest.mark.parametrize(
    ("args", "named"),
    [((), {}), (("a",), {"name": "b"}), (("a",), {"other": 1}), (("a", {}, 1, 2), {})],
)
def test_refuses_what_the_standard_one_refuses(args: Any, named: Any) -> None:
    with pytest.raises(TypeError) as ours:
        Quick(*args, **named)
    with pytest.raises(TypeError) as theirs:
        Standard(*args, **named)
    assert str(ours.value) == str(theirs.value).replace("Standard", "Quick")


def test_each_gets_a_default_of_its_own() -> None:
    assert Quick("a").facts is not Quick("a").facts


def test_is_equal_to_its_like_alone() -> None:
    assert Quick("a") == Quick("a")
    assert Quick("a") != Quick("a", count=4)
    assert Quick("a") != Standard("a")
    assert Single((1,)) == Single((1,))
    assert Single((1,)) != (1,)


def test_hash() -> None:
    assert hash(Single((1, 2))) == hash(Single((1, 2)))
    assert len({Single((1,)), Single((1,)), Single((2,))}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Quick("a"))


def test_nothing_changes_it() -> None:
    value = Quick("a")
    with pytest.raises(FrozenInstanceError):
        value.name = "b"
    with pytest.raises(FrozenInstanceError):
        del value.name
    with pytest.raises(FrozenInstanceError):
        value.other = 1
    assert not hasattr(value, "__dict__")


def test_the_standard_library_takes_it_for_its_own() -> None:
    assert is_dataclass(Quick)
    assert [each.name for each in fields(Quick)] == ["name", "facts", "count"]
    assert fields(Quick)[1].metadata == {"internal": True}
    assert replace(Quick("a"), count=9) == Quick("a", count=9)
    match Quick("a", {}, 7):
        case Quick(name, _, count):
            assert (name, count) == ("a", 7)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_is_copied_and_kept(protocol: int) -> None:
    value = Quick("a", {"b": [1]})
    assert pickle.loads(pickle.dumps(value, protocol)) == value
    assert copy.copy(value) == value
    deep = copy.deepcopy(value)
    assert deep == value
    assert deep.facts["b"] is not value.facts["b"]


def test_a_nested_value_is_taken_apart() -> None:
    finding = Finding(
        "rule",
        Outcome.REFUSES,
        "message",
        values=(Value("label", 1, Origin("file", "config.json", "/a", 1, 2)),),
        remedies=(Remedy.flag("title", "--a"),),
    )
    plain = asdict(finding)
    assert plain["values"][0]["origin"]["pointer"] == "/a"
    assert plain["remedies"][0]["flags"] == ("--a",)
    assert pickle.loads(pickle.dumps(finding)) == finding
