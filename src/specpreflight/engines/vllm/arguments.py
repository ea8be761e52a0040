"""vLLM's command line: `FlexibleArgumentParser` over the release's own flags.

Restates vLLM `utils/argparse_utils.py:FlexibleArgumentParser.parse_args` (`utils/__init__.py` up
to 0.11.0): underscores become dashes, `--flag.key value` pairs become one JSON argument, then
argparse runs. `config_file.py` puts the words of a `--config FILE` in before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from specpreflight.engines.vllm.knowledge import Flag, Knowledge
from specpreflight.models.argument_parser import (
    Arguments,
    ConversionError,
    Converters,
    Option,
    Parser,
    Problem,
)

#: The name of a long option, up to its first dot.
_OPTION_NAME = re.compile(r"(?<=--)[^\.]*")
_HUMAN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_PAST_THE_END = "list index out of range"
_LEVELS = ("0", "1", "2", "3")
_OBJECT = re.compile(r"(?s)^\s*{.*}\s*$")


def parse(argv: Sequence[str], knowledge: Knowledge) -> Arguments:
    """Return what the release's parser makes of the words after `vllm serve` or the module."""
    words = list(_without_entry(argv))
    if words and not words[0].startswith("-"):
        words = ["--model", *words]
    dashed = list(_dashes(words, knowledge))
    if dashed and _is_dotted(dashed[-1]) and "=" not in dashed[-1]:
        # The release reads the word behind it before argparse has a say.
        return Arguments({}, (), (Problem("expected-value", _PAST_THE_END, words=(dashed[-1],)),))
    return _parser(knowledge).parse(_merge_dotted(dashed, knowledge), python=(3, 12))


@lru_cache(maxsize=8)
def _parser(knowledge: Knowledge) -> Parser:
    """Return the release's parser."""
    flags = dict.fromkeys(knowledge.flags.values())
    options = [*map(_option, flags), *_inverses(flags, knowledge)]
    return Parser(options, converters=_CONVERTERS)


def human_readable_int(text: str) -> int:
    """Return the number of `1k` (1000), `1K` (1024), `25.6k` (25600) or a plain integer.

    Raises:
        ConversionError: a decimal number with a binary suffix.
        ValueError: not a number.
    """
    stripped = text.strip()
    match = _HUMAN.fullmatch(stripped)
    if match is None:
        return int(stripped)
    number, suffix = match.groups()
    if suffix in _DECIMAL:
        return int(float(number) * _DECIMAL[suffix])
    try:
        return int(number) * _BINARY[suffix]
    except ValueError:
        raise ConversionError(
            f"Decimals are not allowed with binary suffixes like {suffix}. Did you mean to use "
            f"{number}{suffix.lower()} instead?"
        ) from None


def _human_readable_int_or_auto(text: str) -> int:
    stripped = text.strip()
    return -1 if stripped == "-1" or stripped.lower() == "auto" else human_readable_int(stripped)


def _optional_json(text: str) -> Any:
    if text in ("", "None"):
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConversionError(f"Value {text} cannot be converted to <function loads>.") from error


def _json_or_text(text: str) -> Any:
    return _optional_json(text) if _OBJECT.match(text) else str(text)


_CONVERTERS: Converters = {
    "json": ("loads", _optional_json),
    "json.loads": ("loads", json.loads),
    "json_or_str": ("union_dict_and_str", _json_or_text),
    "human_readable_int": ("human_readable_int", human_readable_int),
    "human_readable_int_or_auto": ("human_readable_int_or_auto", _human_readable_int_or_auto),
}


def _option(flag: Flag) -> Option:
    return Option(
        spellings=flag.names,
        dest=flag.dest,
        type=flag.type,
        action=flag.action if flag.action in ("store_true", "boolean_optional") else "store",
        nargs=flag.nargs,
        choices=flag.choices,
        const=True if flag.nargs == "?" else None,
    )


def _inverses(flags: Iterable[Flag], knowledge: Knowledge) -> Iterator[Option]:
    """Yield `--disable-x` for each switch `--enable-x` and the other way (0.33.0 on)."""
    if not knowledge.since("0.33.0"):
        return
    pairs = (("--enable-", "--disable-"), ("--disable-", "--enable-"))
    for flag in flags:
        spellings = tuple(
            inverse + name.removeprefix(prefix)
            for name in flag.names
            for prefix, inverse in pairs
            if name.startswith(prefix)
        )
        if spellings and flag.action == "boolean_optional":
            yield Option(spellings=spellings, dest=flag.dest, action="store_false")


def _without_entry(argv: Sequence[str]) -> Iterator[str]:
    """Drop a leading `serve`: `vllm serve MODEL` names the model by position."""
    yield from argv[1:] if argv and argv[0] == "serve" else argv


def _dashes(words: Sequence[str], knowledge: Knowledge) -> Iterator[str]:
    """Write option names with dashes; `-O2` is `--optimization-level 2` from 0.12.0.

    In 0.11.1 and 0.11.2 it is `-O.mode=2`, a key of `--compilation-config`.
    """
    level = knowledge.since("0.12.0")
    known = level or knowledge.since("0.11.1")
    for position, word in enumerate(words):
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            dashed = _OPTION_NAME.sub(lambda match: match[0].replace("_", "-"), name, count=1)
            yield f"{dashed}{equals}{value}"
        elif word.startswith("-O") and word != "-O" and known and (level or word[2] != "."):
            value = word[3:] if word[2] == "=" else word[2:]
            yield from ("--optimization-level", value) if level else (f"-O.mode={value}",)
        elif word == "-O" and known and "".join(words[position + 1 : position + 2]) in _LEVELS:
            yield "--optimization-level" if level else "-O.mode"
        else:
            yield word


def _is_dotted(word: str) -> bool:
    """Tell whether a word is `--flag.key`, maybe with its value."""
    return word.startswith("-") and "." in word.partition("=")[0] and not _is_number(word)


def _merge_dotted(words: Sequence[str], knowledge: Knowledge) -> list[str]:
    """Gather `--flag.key value` pairs into one JSON argument at the end of the line."""
    kept: list[str] = []
    objects: dict[str, dict[str, Any]] = {}
    pending = list(words)
    position = 0
    while position < len(pending):
        word = pending[position]
        position += 1
        if not _is_dotted(word):
            kept.append(word)
            continue
        name, equals, value = word.partition("=")
        if not equals:
            value = pending[position]
            position += 1
        if name.endswith("+"):
            name, value = name[:-1], json.dumps(value.split(","))
        flag, *keys = name.split(".")
        _merge(objects.setdefault(flag, {}), _nested(keys, _dotted_value(value, knowledge)))
    for flag, content in objects.items():
        kept += [flag, json.dumps(content)]
    return kept


def _is_number(word: str) -> bool:
    return re.fullmatch(r"-\d*\.?\d+", word) is not None


def _dotted_value(text: str, knowledge: Knowledge) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        if not knowledge.since("0.20.0"):
            return text
    try:
        return human_readable_int(text)
    except ValueError:
        return text


def _nested(keys: Sequence[str], value: Any) -> dict[str, Any]:
    for key in reversed(keys[1:]):
        value = {key: value}
    return {keys[0]: value} if keys else {}


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        known = into.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            _merge(known, value)
        elif isinstance(value, list) and isinstance(known, list):
            into[key] = known + value
        else:
            into[key] = value
