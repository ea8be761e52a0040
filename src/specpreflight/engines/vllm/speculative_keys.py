"""The JSON of `--speculative-config`: which keys and values a release takes.

vLLM hands the object to `SpeculativeConfig(**keys)`, a pydantic dataclass. This module restates
what pydantic 2 does with the harvested fields in its default (lax) mode: the conversions it makes,
and the text of its errors. All errors are found before any code of the class runs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

from specpreflight.engines.vllm.knowledge import Knowledge

#: Texts that pydantic reads as booleans, in lower case.
_BOOLEAN_TEXTS = {
    **dict.fromkeys(("1", "on", "t", "true", "y", "yes"), True),
    **dict.fromkeys(("0", "off", "f", "false", "n", "no"), False),
}

#: The first float that pydantic turns into no integer.
_LARGEST = 2.0**63

#: Fields that the engine fills itself, whatever the JSON says.
_ENGINE_FIELDS = frozenset(
    {
        "target_model_config",
        "target_parallel_config",
        "enable_chunked_prefill",
        "disable_log_stats",
    }
)


class KeyProblem(NamedTuple):
    """A key that the release refuses: what is wrong, pydantic's text, a near known key."""

    key: str
    message: str
    text: str
    suggestion: str | None = None


class IgnoredKey(NamedTuple):
    """A key that the release drops without a word."""

    key: str
    suggestion: str | None


class Invalid(Exception):
    """A value that no alternative of the field takes; the message is pydantic's."""


class Keys(NamedTuple):
    """The object after validation: every field of the release, given or default."""

    values: dict[str, Any]
    given: Mapping[str, Any]
    problems: tuple[KeyProblem, ...]
    ignored: tuple[IgnoredKey, ...]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a field, `default` where the release has no such field."""
        return self.values.get(key, default)


def validate(given: Mapping[str, Any], knowledge: Knowledge) -> Keys:
    """Return the fields that `SpeculativeConfig` gets, with all that pydantic objects to."""
    fields = knowledge.speculative_keys
    if knowledge.since("0.26.0"):
        given = {key.replace("-", "_"): value for key, value in given.items()}
    values: dict[str, Any] = {}
    problems: list[KeyProblem] = []
    for name, field in fields.items():
        values[name] = field.get("default")
        if name not in given or name in _ENGINE_FIELDS:
            continue
        try:
            values[name] = _convert(name, given[name], field, knowledge)
        except Invalid as error:
            shown = f"`{name}`: {_shorten(str(error))}, got {_shorten(repr(given[name]), 24)}"
            problems.append(KeyProblem(name, shown, str(error)))
    ignored = []
    for key in given:
        if key not in fields:
            near = _near(key, fields)
            if knowledge.since("0.16.0"):
                message = f"unknown key `{key}` in the speculative config"
                message += "" if near is None else f"; is `{near}` meant?"
                problems.append(KeyProblem(key, message, "Unexpected keyword argument", near))
            else:
                ignored.append(IgnoredKey(key, near))
    return Keys(values, given, tuple(problems), tuple(ignored))


def _near(key: str, fields: Mapping[str, Any]) -> str | None:
    known = [name for name in fields if name not in _ENGINE_FIELDS]
    plain = key.replace("-", "_")
    if plain in known:
        return plain
    from difflib import get_close_matches

    return next(iter(get_close_matches(plain, known, n=1)), None)


def _shorten(text: str, length: int = 60) -> str:
    lowered = text[:1].lower() + text[1:]
    return lowered if len(lowered) <= length else lowered[: length - 1] + "…"


def _convert(name: str, value: Any, field: Mapping[str, Any], knowledge: Knowledge) -> Any:
    if name == "attention_backend" and isinstance(value, str):
        return _attention_backend(value, knowledge)
    if value is None and "none" in field["types"]:
        return None
    alternatives = [item for item in field["types"] if item != "none"]
    converted = _first_fitting(alternatives, value)
    for bound, holds, words in _BOUNDS:
        known = bound in field and isinstance(converted, int | float)
        if known and not holds(converted, field[bound]):
            raise Invalid(f"Input should be {words} {field[bound]}")
    return converted


_BOUNDS = (
    ("gt", operator.gt, "greater than"),
    ("ge", operator.ge, "greater than or equal to"),
    ("lt", operator.lt, "less than"),
    ("le", operator.le, "less than or equal to"),
)


def _first_fitting(alternatives: list[Any], value: Any) -> Any:
    objections = []
    for alternative in alternatives:
        objection, converted = _attempt(alternative, value)
        if objection is None:
            return converted
        objections.append(objection)
    if objections:
        raise objections[0]
    return value


def _attempt(alternative: Any, value: Any) -> tuple[Invalid | None, Any]:
    """Return pydantic's objection to a value, or the value as it converts it."""
    try:
        return None, _fit(alternative, value)
    except Invalid as objection:
        return objection, None


def _fit(alternative: Any, value: Any) -> Any:
    match alternative:
        case "int":
            return _integer(value)
        case "float":
            return _number(value)
        case "bool":
            return _boolean(value)
        case "str":
            if not isinstance(value, str):
                raise Invalid("Input should be a valid string")
            return value
        case {"literal": choices}:
            if value not in choices or isinstance(value, bool):
                raise Invalid(f"Input should be {_listed(choices)}")
            return value
        case {"list": [items]}:
            if not isinstance(value, list):
                raise Invalid("Input should be a valid list")
            return [_first_fitting(items, item) for item in value]
        case {"tuple": parts}:
            if not isinstance(value, list):
                raise Invalid("Input should be a valid tuple")
            if len(value) != len(parts):
                raise Invalid(
                    "Field required"
                    if len(value) < len(parts)
                    else f"Tuple should have at most {len(parts)} items after validation, "
                    f"not {len(value)}"
                )
            return [_first_fitting(part, item) for part, item in zip(parts, value, strict=True)]
        case {"class": name} if isinstance(value, str | int | float | list):
            raise Invalid(f"Input should be a dictionary or an instance of {name}")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Invalid("Input should be a finite number")
        if abs(value) >= _LARGEST:
            raise Invalid("Unable to parse input string as an integer, exceeded maximum size")
        if value.is_integer():
            return int(value)
        raise Invalid("Input should be a valid integer, got a number with a fractional part")
    if isinstance(value, str):
        plain = value.strip().removesuffix(".0")
        try:
            return int(plain.encode("ascii"))
        except ValueError:
            raise Invalid(
                "Input should be a valid integer, unable to parse string as an integer"
            ) from None
    raise Invalid("Input should be a valid integer")


def _number(value: Any) -> float:
    if isinstance(value, bool | int | float):
        return float(value)
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isnan(number):
            return number
        raise Invalid("Input should be a valid number, unable to parse string as a number")
    raise Invalid("Input should be a valid number")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in _BOOLEAN_TEXTS:
        return _BOOLEAN_TEXTS[value.lower()]
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, str) or (whole and abs(value) < 2**63):
        raise Invalid("Input should be a valid boolean, unable to interpret input")
    raise Invalid("Input should be a valid boolean")


def _listed(choices: list[Any]) -> str:
    shown = [repr(choice) for choice in choices]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _attention_backend(value: str, knowledge: Knowledge) -> str | None:
    """Restate `_parse_attention_backend` (from 0.22.0)."""
    if value.lower() == "auto":
        return None
    known = knowledge.constant("attention_backends")
    if value.upper() not in known:
        raise Invalid(
            f"Unknown attention backend: '{value.upper()}'. Valid options are: {', '.join(known)}"
        )
    return value.upper()
