"""A report that fits every launch with the same contents, wherever the checkpoints are.

The check that makes one calls its checkpoints by the slots below. `fill` puts the paths of a launch
in their places, and touches nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
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
    return f"{_MARK}{role}" + "".join(f" {text}" for text in _TELLING if text in lowered)


class Names(NamedTuple):
    """What a checkpoint is called: as it was given, and its config.json."""

    given: str
    config: str

    @classmethod
    def of(cls, directory: str) -> Names:
        """Return the names of a checkpoint that was given as a directory."""
        return cls(directory, f"{directory}/config.json")


_T = TypeVar("_T")

#: Replaces the slots in a text.
_Renaming = Callable[[str], str]


class Template(Generic[_T]):
    """A value with slots, prepared to be filled often."""

    def __init__(self, value: _T) -> None:
        self.value = value
        self._fill = _filler(value)

    def fill(self, names: Mapping[str, Names], paired_by: str | None) -> _T:
        """Return the value with the names of checkpoints in their slots."""
        if self._fill is None:
            return self.value
        pairs = [(PAIRED_BY_SLOT, paired_by or "")]
        for slot, (given, config) in names.items():
            if config != f"{given}/config.json":
                pairs.append((f"{slot}/config.json", config))
            pairs.append((slot, given))

        def rename(text: str) -> str:
            for slot, name in pairs:
                text = text.replace(slot, name)
            return text

        filled: _T = self._fill(rename)
        return filled


def _filler(value: Any) -> Callable[[_Renaming], Any] | None:
    """Return what fills the slots of a value, `None` where it has none.

    Only the parts that hold a slot are built again; the rest is shared by all reports.
    """
    if isinstance(value, str):
        return (lambda rename: rename(value)) if _MARK in value else None
    if isinstance(value, Mapping):
        return _of_mapping(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return _of_parts(list(value), type(value))
    if is_dataclass(value):
        kind: Any = type(value)
        return _of_parts([getattr(value, one.name) for one in fields(value)], lambda a: kind(*a))
    if isinstance(value, tuple):
        named: Any = type(value)
        return _of_parts(list(value), named._make)
    return None


def _of_parts(
    parts: list[Any], build: Callable[[list[Any]], Any]
) -> Callable[[_Renaming], Any] | None:
    slots = [(at, fill) for at, part in enumerate(parts) if (fill := _filler(part)) is not None]
    if not slots:
        return None

    def fill_all(rename: _Renaming) -> Any:
        filled = parts.copy()
        for at, fill in slots:
            filled[at] = fill(rename)
        return build(filled)

    return fill_all


def _of_mapping(value: Mapping[Any, Any]) -> Callable[[_Renaming], Any] | None:
    keys = _of_parts(list(value), list)
    values = _of_parts(list(value.values()), list)
    if keys is None and values is None:
        return None
    plain_keys, plain_values = list(value), list(value.values())

    def fill_mapping(rename: _Renaming) -> Any:
        return dict(
            zip(
                plain_keys if keys is None else keys(rename),
                plain_values if values is None else values(rename),
                strict=True,
            )
        )

    return fill_mapping
