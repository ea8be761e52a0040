"""The arguments that vLLM takes from the YAML file of `--config`.

Restates vLLM `utils/argparse_utils.py` (`utils/__init__.py` up to 0.11.0):
`FlexibleArgumentParser._pull_args_from_config` and `load_config_file`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from specpreflight.engines.vllm.knowledge import Knowledge


class ConfigFileError(Exception):
    """What the release raises for a `--config` that it cannot use; the message is its own."""


def merge_config(argv: Sequence[str], config: Mapping[str, Any], knowledge: Knowledge) -> list[str]:
    """Put the words of the file before those of the command line, which win.

    `argv` is what stands after `vllm serve` (the model first, if at all) or after the module.

    Raises:
        ConfigFileError: the release stops here.
    """
    words = list(argv)
    if "--config" not in words:
        return words
    if words.count("--config") > 1:
        raise ConfigFileError("More than one config file specified!")
    at = words.index("--config")
    if at == len(words) - 1:
        raise ConfigFileError("No config file specified! Please check your command-line arguments.")
    extension = words[at + 1].split(".")[-1]
    if extension not in ("yaml", "yml"):
        raise ConfigFileError(f"Config file must be of a yaml/yml type. {extension} supplied")
    rest = words[:at] + words[at + 2 :]
    first = 1 if rest and not rest[0].startswith("-") and at > 0 else 0
    return [*rest[:first], *config_words(config, knowledge), *rest[first:]]


def config_words(config: Mapping[str, Any], knowledge: Knowledge) -> Iterator[str]:
    """Yield a file's settings as words, which the parser then reads like any others.

    A nested mapping is JSON from 0.16.0 on; before, it is Python's text, which no flag takes. A
    false switch says `--no-…` from 0.28.0 on; before, it says nothing, whatever the default is.
    """
    for key, value in config.items():
        if isinstance(value, bool):
            if value:
                yield f"--{key}"
            elif knowledge.since("0.28.0") and f"--no-{key}" in _negations(knowledge):
                yield f"--no-{key}"
        elif isinstance(value, list):
            yield from [f"--{key}", *map(str, value)] if value else []
        elif isinstance(value, dict) and knowledge.since("0.16.0"):
            yield from (f"--{key}", json.dumps(value))
        else:
            yield from (f"--{key}", str(value))


def _negations(knowledge: Knowledge) -> frozenset[str]:
    return frozenset(
        name.replace("--", "--no-", 1)
        for flag in knowledge.flags.values()
        if flag.action == "boolean_optional"
        for name in flag.names
        if name.startswith("--")
    )
