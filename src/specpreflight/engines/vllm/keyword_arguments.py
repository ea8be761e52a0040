"""`LLM(...)` written as JSON: its keyword arguments as the words of a command line.

`LLM.__init__` hands its keywords to `EngineArgs(**kwargs)` (vLLM `entrypoints/llm.py`), whose
fields are the destinations of the flags. Nothing is parsed on the way, so that a number stays a
number and a nested object what it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from specpreflight.engines.vllm.knowledge import Flag, Knowledge


def keyword_words(arguments: Mapping[str, Any], knowledge: Knowledge) -> Iterator[str]:
    """Yield the words that give a release the same values as these keyword arguments.

    A keyword that no flag sets is written as a flag too, for the release to refuse.
    """
    by_field = {flag.dest: flag for flag in knowledge.flags.values()}
    for name, value in arguments.items():
        if value is not None:
            yield from _words(name, value, by_field.get(name))


def _words(name: str, value: Any, flag: Flag | None) -> Iterator[str]:
    option = f"--{name.replace('_', '-')}" if flag is None else flag.names[0]
    if value is True:
        yield option
    elif value is False:
        if flag is None or flag.action == "boolean_optional":
            yield option.replace("--", "--no-", 1)
    elif isinstance(value, list) and flag is not None and flag.nargs in ("+", "*"):
        yield from (option, *map(_text, value))
    else:
        yield f"{option}={_text(value)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
