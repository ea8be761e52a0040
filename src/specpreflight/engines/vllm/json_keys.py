"""The JSON of flags that set a whole config object: keys that the release has no field for.

Restates `engine/arg_utils.py:_compute_kwargs` (0.10.0 to 0.33.0): argparse hands the text to
pydantic's `TypeAdapter(cls).validate_json`, so what pydantic refuses ends the parsing. Whether it
refuses a key or drops it is the class's own setting: all classes refuse from 0.16.0 on, that of
`--compilation-config` from 0.13.0 on. `--speculative-config` is a plain dictionary to the parser
(`speculative_keys.py`), and so are the flags whose keys are free (`--hf-overrides`,
`--override-generation-config`, `--additional-config` …), which are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from specpreflight.engines.vllm.knowledge import Flag, Knowledge
from specpreflight.engines.vllm.record import Record, flag_value
from specpreflight.models.argument_parser import Arguments
from specpreflight.models.finding import Outcome, Stage

_SOURCE = "engine/arg_utils.py:_compute_kwargs"


class _Unknown(NamedTuple):
    """A key that is no field: where it stands, its value, and what its class does with it."""

    path: tuple[str, ...]
    value: Any
    refused: bool
    near: str | None


def check_json_keys(record: Record, knowledge: Knowledge, parsed: Arguments) -> None:
    """Refuse, or tell of, each key in a flag's JSON that its config class does not have."""
    for name in dict.fromkeys(one.option.name for one in parsed.given):
        flag = knowledge.flags.get(name)
        value = None if flag is None else parsed.values.get(flag.dest)
        if flag is None or flag.type != "json" or not isinstance(value, Mapping):
            continue
        about = knowledge.json_keys.get(flag.names[0])
        if about is not None:
            for unknown in _unknown_keys(value, about, ()):
                _report(record, flag, about["class"], unknown)


def _unknown_keys(
    value: Mapping[str, Any], about: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[_Unknown]:
    nested = about.get("nested", {})
    for key, inner in value.items():
        if key not in about["keys"]:
            from difflib import get_close_matches

            near = next(iter(get_close_matches(key.replace("-", "_"), about["keys"], n=1)), None)
            yield _Unknown((*path, key), inner, about["extra"] == "forbid", near)
        elif key in nested and isinstance(inner, Mapping):
            yield from _unknown_keys(inner, nested[key], (*path, key))


def _report(record: Record, flag: Flag, class_name: str, unknown: _Unknown) -> None:
    name, key = flag.names[0], unknown.path[-1]
    values = (flag_value(key, unknown.value, name, "/" + "/".join(unknown.path)),)
    facts = {"key": key, "suggestion": unknown.near}
    if unknown.refused:
        meant = "" if unknown.near is None else f"; is `{unknown.near}` meant?"
        record.refuse(
            "arguments.json-key-unknown",
            Stage.ARGUMENTS,
            f"`{name}` has no key `{key}`{meant}"[:100],
            text=(
                f"error: argument {'/'.join(flag.names)}: 1 validation error for {class_name}\n"
                f"{'.'.join(unknown.path)}\n  Unexpected keyword argument"
            ),
            exception="SystemExit",
            source=_SOURCE,
            values=values,
            facts=facts,
        )
    else:
        record.add(
            "arguments.json-key-ignored",
            Outcome.DEGRADES,
            Stage.ARGUMENTS,
            f"vLLM drops the unknown key `{key}` of `{name}` without a word"[:100],
            source=_SOURCE,
            values=values,
            facts=facts,
        )
