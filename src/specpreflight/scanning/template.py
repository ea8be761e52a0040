"""A report that fits every launch with the same contents, wherever the checkpoints are.

The check that makes one calls its checkpoints by the slots below. `fill` puts the paths of a launch
in their places, and touches nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

_MARK: Final = "/specpreflight-slot/"

#: Stands where a report says what paired draft and target.
PAIRED_BY_SLOT: Final = f"{_MARK}paired-by"

#: Texts that engines look for in a model's path, in lower case: vLLM to tell the method
#: (`config/speculative.py:SpeculativeConfig.__post_init__`), SGLang for some models
#: (`utils/hf_transformers_utils.py:get_config`, `configs/model_config.py:ModelConfig`).
_TELLING: Final = (
    "eagle-", "eagle3-", "eagle3", "dflash", "dspark",
    "mistral-large-3", "mistral-small-4", "glm-4.6v",
)  # fmt: skip


def slot_of(role: str, given: str) -> str:
    """Return what a checkpoint is called while it is checked: no path that anybody has.

    It holds those texts of the given path that an engine would look for.
    """
    lowered = given.lower()
    telling = [text for text in _TELLING if text in lowered]
    return " ".join((f"{_MARK}{role}", *telling)) if telling else f"{_MARK}{role}"


class Names(NamedTuple):
    """What a checkpoint is called: as it was given, and its config.json."""

    given: str
    config: str

    @classmethod
    def of(cls, directory: str) -> Names:
        """Return the names of a checkpoint that was given as a directory."""
        return cls(directory, f"{directory}/config.json")


_T = TypeVar("_T")

#: The texts that take the place of slots, a longer slot before one that it begins with.
_Texts = Mapping[str, str]

#: Returns a value with its slots filled.
_Fill = Callable[[_Texts], Any]


class Template(Generic[_T]):
    """A value with slots, prepared to be filled often."""

    def __init__(self, value: _T) -> None:
        self.value = value
        self._fill = _filler(value)

    def fill(self, names: Mapping[str, Names], paired_by: str | None) -> _T:
        """Return the value with the names of checkpoints in their slots."""
        if self._fill is None:
            return self.value
        texts = {PAIRED_BY_SLOT: paired_by or ""}
        for slot, (given, config) in names.items():
            texts[f"{slot}/config.json"] = config
            texts[slot] = given
        filled: _T = self._fill(texts)
        return filled


def _filler(value: Any) -> _Fill | None:
    """Return what fills the slots of a value, `None` where it has none.

    Only the parts that hold a slot are built again; the rest is shared by all reports.
    """
    if isinstance(value, str):
        return partial(_filled, value) if _MARK in value else None
    kind: Any = type(value)
    look = _looking_into(kind)
    return None if look is None else look(value)


@cache
def _looking_into(kind: Any) -> Callable[[Any], _Fill | None] | None:
    """Return what looks into the values of a type, `None` for one without parts."""
    if issubclass(kind, Mapping):
        return _of_mapping
    make = getattr(kind, "_make", None)
    if make is not None:
        return lambda value: _of_parts(list(value), make)
    if issubclass(kind, (list, tuple)):
        return lambda value: _of_parts(list(value), kind)
    if not is_dataclass(kind):
        return None
    names = [one.name for one in fields(kind)]
    build: Any = kind
    return lambda value: _of_parts(
        [getattr(value, name) for name in names], lambda parts: build(*parts)
    )


def _filled(text: str, texts: _Texts) -> str:
    whole = texts.get(text)
    if whole is not None:
        return whole
    for slot, name in texts.items():
        text = text.replace(slot, name)
    return text


def _of_parts(parts: list[Any], build: Callable[[list[Any]], Any]) -> _Fill | None:
    slots = [(at, fill) for at, part in enumerate(parts) if (fill := _filler(part)) is not None]
    if not slots:
        return None

    def fill_all(texts: _Texts) -> Any:
        filled = parts.copy()
        for at, fill in slots:
            filled[at] = fill(texts)
        return build(filled)

    return fill_all


def _of_mapping(value: Mapping[Any, Any]) -> _Fill | None:
    fill_keys = _of_parts(list(value), list)
    slots = [(key, fill) for key, part in value.items() if (fill := _filler(part)) is not None]
    if fill_keys is None and not slots:
        return None
    plain = dict(value)

    def fill_mapping(texts: _Texts) -> Any:
        filled = plain.copy()
        for key, fill in slots:
            filled[key] = fill(texts)
        if fill_keys is None:
            return filled
        return dict(zip(fill_keys(texts), filled.values(), strict=True))

    return fill_mapping
