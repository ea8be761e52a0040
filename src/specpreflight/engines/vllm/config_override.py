"""Runs a release's own `SpeculativeConfig.hf_config_override` on a draft's config.

The function rewrites MTP checkpoints (`deepseek_v3` becomes `deepseek_mtp`, its architecture
`DeepSeekMTPModel`, `n_predict` the number of extra layers) before vLLM looks at anything else. It
differs in 25 of the known releases, so its statements are harvested
(`harvest/override_program.py` documents the form) and evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from specpreflight.engines.sglang.model_facts import ConfigObject
from specpreflight.engines.vllm.config_parts import text_of

Program = list[Any]


class OverrideError(Exception):
    """What the function raises for this config; `exception` is the name of its class."""

    def __init__(self, exception: str, message: str) -> None:
        super().__init__(message)
        self.exception = exception
        self.message = message


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def rewrite(program: Program, config: ConfigObject) -> ConfigObject:
    """Return the config that `hf_config_override` gives; `config` is changed in place.

    Raises:
        OverrideError: the function raises for this config.
    """
    scope: dict[str, Any] = {"hf_config": config, "transformers_mtp_overrides": None}
    try:
        _run(program, scope)
    except _Returned as done:
        returned: ConfigObject = done.value
        return returned
    except OverrideError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise OverrideError(type(error).__name__, str(error)) from error
    return config


def _run(program: Program, scope: dict[str, Any]) -> None:
    for word, *parts in program:
        match word:
            case "set":
                scope[parts[0]] = _value(parts[1], scope)
            case "set_attribute":
                _value(parts[0], scope).set(parts[1], _value(parts[2], scope))
            case "set_item":
                _value(parts[0], scope)[_value(parts[1], scope)] = _value(parts[2], scope)
            case "update":
                for name, value in _value(parts[1], scope).items():
                    _value(parts[0], scope).set(name, value)
            case "if":
                _run(parts[1] if _value(parts[0], scope) else parts[2], scope)
            case "raise":
                raise OverrideError(parts[0], _value(parts[1], scope))
            case "assert":
                if not _value(parts[0], scope):
                    raise OverrideError("AssertionError", "")
            case "return":
                raise _Returned(_value(parts[0], scope))


def _value(expression: list[Any], scope: dict[str, Any]) -> Any:
    word, *parts = expression
    match word:
        case "value":
            return parts[0]
        case "name":
            return scope[parts[0]]
        case "bind":
            scope[parts[0]] = _value(parts[1], scope)
            return scope[parts[0]]
        case "attribute":
            return _attribute(_value(parts[0], scope), parts[1])
        case "item":
            return _value(parts[0], scope)[_value(parts[1], scope)]
        case "list":
            return _list(parts[0], scope)
        case "dict":
            return {_value(key, scope): _value(value, scope) for key, value in parts[0]}
        case "text":
            return "".join(str(_value(part, scope)) for part in parts[0])
        case "choose":
            return _value(parts[1] if _value(parts[0], scope) else parts[2], scope)
        case "and" | "or":
            return _first_deciding(word, parts[0], scope)
        case "not":
            return not _value(parts[0], scope)
        case "compare":
            return _COMPARE[parts[0]](_value(parts[1], scope), _value(parts[2], scope))
        case "binary":
            return _BINARY[parts[0]](_value(parts[1], scope), _value(parts[2], scope))
        case "call":
            return _call(parts[0], [_value(part, scope) for part in parts[1]])
        case "method":
            owner = _value(parts[0], scope)
            return _method(owner, parts[1], [_value(part, scope) for part in parts[2]])
    raise ValueError(f"unknown expression {word}")


def _list(parts: list[Any], scope: dict[str, Any]) -> list[Any]:
    values: list[Any] = []
    for part in parts:
        if part[0] == "spread":
            values += _value(part[1], scope)
        else:
            values.append(_value(part, scope))
    return values


def _first_deciding(word: str, parts: list[Any], scope: dict[str, Any]) -> Any:
    """Return what Python's `and`/`or` return: the first operand that decides, else the last."""
    result = None
    for part in parts:
        result = _value(part, scope)
        if bool(result) is (word == "or"):
            break
    return result


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, ConfigObject) and owner.has(name):
        return owner.get(name)
    if name == "architectures" and isinstance(owner, ConfigObject):
        return None
    kind = owner.class_name if isinstance(owner, ConfigObject) else type(owner).__name__
    raise AttributeError(f"'{kind}' object has no attribute '{name}'")


def _getattr(owner: Any, name: str, *default: Any) -> Any:
    if isinstance(owner, ConfigObject) and owner.has(name):
        return owner.get(name)
    return default[0] if default else _attribute(owner, name)


def _call(name: str, arguments: list[Any]) -> Any:
    return _FUNCTIONS[name](*arguments)


def _method(owner: Any, name: str, arguments: list[Any]) -> Any:
    if isinstance(owner, ConfigObject):
        return text_of(owner)
    if name == "intersection":
        return [value for value in owner if value in arguments[0]]
    return getattr(owner, name)(*arguments)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "getattr": _getattr,
    "hasattr": lambda owner, name: isinstance(owner, ConfigObject) and owner.has(name),
    "get_hf_text_config": text_of,
    "deepcopy": deepcopy,
    "int": int,
    "len": len,
}

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
    "is": lambda a, b: a is b,
    "is not": lambda a, b: a is not b,
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "|": lambda a, b: a | b,
}
