"""The command line of a launch that only its log tells of."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from specpreflight.engines.base import Facts
from specpreflight.models.diagnosis import Diagnosis

#: Drawn, bound or computed anew at each start.
_INCIDENTAL = frozenset({"random_seed", "port", "nccl_port", "tokenizer_path", "device"})


def words_of_log(diagnosis: Diagnosis, facts: Facts) -> tuple[str, ...]:
    """Return the words that a logged launch was started with, as far as its log tells.

    A command that a traced shell printed is taken as it is. Else the flags are those whose value
    differs from the release's default; the engine prints them after its own adjustments, so what
    it chose by itself is among them.
    """
    if diagnosis.launch.command:
        return tuple(shlex.split(diagnosis.launch.command))
    return tuple(_flag_words(diagnosis.launch.arguments, facts["flags"]))


def _flag_words(
    arguments: Mapping[str, Any], flags: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    by_name = {flag.lstrip("-").replace("-", "_"): flag for flag in flags}
    for name, value in arguments.items():
        flag = by_name.get(name) or _flag_of_alias(name, flags)
        if flag is None or name in _INCIDENTAL or value in (None, "***"):
            continue
        about = flags[flag]
        if value == about.get("default"):
            continue
        action = about.get("action", "store")
        if value is False and action != "boolean_optional":
            continue
        if isinstance(value, bool):
            yield flag if value else f"--no-{flag[2:]}"
        elif isinstance(value, Mapping):
            yield from (flag, json.dumps(value))
        elif isinstance(value, list | tuple):
            yield from (flag, *map(str, value))
        else:
            yield from (flag, str(value))


def _flag_of_alias(name: str, flags: Mapping[str, Mapping[str, Any]]) -> str | None:
    spelling = "--" + name.replace("_", "-")
    return next(
        (flag for flag, about in flags.items() if spelling in about.get("aliases", ())), None
    )
