"""Strict dataclasses refuse what huggingface_hub's refuse, in its words."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from specpreflight.engines.sglang.surroundings import Files, surroundings
from specpreflight.engines.source.evaluator import Evaluator
from specpreflight.engines.source.modules import Module, build_module, split_module
from specpreflight.engines.source.values import Raised

TEXT = """
    from dataclasses import dataclass, field
    from typing import Literal, Optional, TypedDict, Union
    from huggingface_hub.dataclasses import as_validated_field, strict

    class Rope(TypedDict):
        factor: float

    def interval(low):
        @as_validated_field
        def check(value):
            if value < low:
                raise ValueError(f"below {low}: {value}")
        return check

    @strict(accept_kwargs=True)
    @dataclass
    class Base:
        names: list[str] | None = None

        def __post_init__(self, **kwargs):
            for key, value in kwargs.items():
                setattr(self, key, value)

        def validate_sizes(self):
            if self.size % 2:
                raise ValueError(f"odd: {self.size}")

    @strict
    class Config(Base):
        size: int = 4
        ratio: int | float | None = 0.5
        kind: Literal["a", "b"] = "a"
        rope: Rope | dict | None = None
        low: float = interval(0)(default=1.0)
        table: dict[str, int] = field(default_factory=dict)
        pair: tuple[int, int] = (1, 2)
        old: Optional[int] = None

    def f(**kwargs):
        return Config(**kwargs)
"""


class OneModule:
    def __init__(self, text: str) -> None:
        self._module = build_module("m", split_module(textwrap.dedent(text)), is_package=False)

    def module(self, name: str) -> Module | None:
        return self._module if name == "m" else None


def build(**kwargs: Any) -> Any:
    evaluator = Evaluator(OneModule(TEXT), surroundings({}, Files({}, {})))
    return evaluator.call(evaluator.find("m.f"), [], kwargs)


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"size": 8, "ratio": None},
        {"ratio": 1},
        {"names": ["a"]},
        {"rope": {"factor": 2.0}},
        {"table": {"a": 1}},
        {"pair": (3, 4)},
        {"old": None},
        {"unknown_key": object},
    ],
)
def test_accepts(kwargs: dict[str, Any]) -> None:
    built = build(**kwargs)
    for key, value in kwargs.items():
        assert built.attributes[key] == value


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"size": "4"}, "Field 'size' expected int, got str (value: '4')"),
        ({"size": True}, "Field 'size' expected int, got bool (value: True)"),
        ({"size": None}, "Field 'size' expected int, got NoneType (value: None)"),
        ({"ratio": "x"}, "Field 'ratio' with value 'x' doesn't match any type in (<class 'int'>, "),
        ({"names": "a"}, "Field 'names' with value 'a' doesn't match any type in (list[str], "),
        ({"names": [1]}, "Invalid item at index 0 in list 'names'"),
        ({"kind": "c"}, "Field 'kind' expected one of ('a', 'b'), got c"),
        ({"rope": "yarn"}, "TypedDict does not support instance and class checks"),
        ({"low": -1.0}, "ValueError: below 0: -1.0"),
        ({"table": {"a": "b"}}, "Invalid key or value in dict 'table'"),
        ({"pair": (1, 2, 3)}, "Field 'pair' expected a tuple of length 2, got 3"),
        ({"pair": [1, 2]}, "Field 'pair' expected a tuple, got list"),
    ],
)
def test_refuses_a_field(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(Raised) as caught:
        build(**kwargs)
    assert caught.value.name == "StrictDataclassFieldValidationError"
    assert caught.value.message.startswith(f"Validation error for field '{next(iter(kwargs))}':")
    assert message in caught.value.message


def test_runs_the_validators_after_the_fields() -> None:
    with pytest.raises(Raised) as caught:
        build(size=3)
    assert caught.value.name == "StrictDataclassClassValidationError"
    assert caught.value.message == (
        "Class validation error for validator 'validate_sizes':\n    ValueError: odd: 3"
    )


def test_string_annotations_switch_the_type_checks_off() -> None:
    text = "from __future__ import annotations\n" + textwrap.dedent(TEXT)
    evaluator = Evaluator(OneModule(text), surroundings({}, Files({}, {})))
    built = evaluator.call(evaluator.find("m.f"), [], {"ratio": "x"})
    assert built.attributes["ratio"] == "x"
