"""SGLang's command line: argparse over the release's own options, and its `--config` file.

Restates `srt/server_args.py:prepare_server_args` and the converters of `srt/utils/common.py`
(0.4.6.post5 to 0.5.23).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from specpreflight.engines.sglang.facts import Flag, Unknown
from specpreflight.engines.sglang.knowledge import Knowledge, load, releases
from specpreflight.models.argument_parser import (
    Arguments,
    ConversionError,
    Option,
    Parser,
    canonical_option,
)

_SUFFIXED = r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)"
_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_HELP = Option(("-h", "--help"), "help", action="help")
#: Actions of the engine's own that store the value they are given.
_STORING = frozenset({"LoRAPathAction", "DeprecatedAliasStoreAction"})

#: `ServerArgs.from_cli_args` (to 0.5.13): attributes of the parser that are stored elsewhere.
_STORED_AS = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "attention_context_parallel_size": "attn_cp_size",
    "moe_data_parallel_size": "moe_dp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
}


class ConfigFileError(Exception):
    """The engine's own `ValueError` about its `--config` file."""


def parse(
    argv: Sequence[str],
    knowledge: Knowledge,
    *,
    config: Mapping[str, Any] | None = None,
    python: tuple[int, int] = (3, 11),
) -> Arguments:
    """Return what the release's parser makes of the words after the entry point.

    `config` is the content of the file that `--config` names, where it could be read; `python`
    the version that runs the engine.

    Raises:
        ConfigFileError: what the engine says of its configuration file.
    """
    words = argv if config is None else merge_config(argv, config, knowledge)
    return _parse(tuple(words), knowledge, python)


@lru_cache(maxsize=8)
def _parse(words: tuple[str, ...], knowledge: Knowledge, python: tuple[int, int]) -> Arguments:
    """Parse what a check asks about several times: for its checkpoints, flags and settings."""
    return _parser(knowledge).parse(words, python=python)


@lru_cache(maxsize=8)
def _parser(knowledge: Knowledge) -> Parser:
    """Return the release's parser; the default of some bare flags is `None` (`enable_lora`)."""
    undecided = {
        flag.dest: None
        for flag in knowledge.flags.values()
        if flag.action == "store_true" and flag.default is None
    }
    return Parser(options(knowledge), converters=_CONVERTERS, defaults=undecided)


@lru_cache(maxsize=8)
def options(knowledge: Knowledge) -> tuple[Option, ...]:
    """Return the release's options in the order in which its parser got them."""
    return (_HELP, *map(_option, knowledge.flags.values()))


def options_for_words(words: Sequence[str], release: str) -> tuple[Option, ...]:
    """Return a release's options, and those of others for the flags that it does not know.

    What a flag meant is told by the newest other release in which its spelling, or abbreviation,
    is one option's alone: `--speculative-draft` was `--speculative-draft-model-path` until there
    were more flags that begin so.
    """
    own = options(load(release))
    spelled = {word.partition("=")[0] for word in words if word.startswith("--")}
    unknown = {word for word in spelled if canonical_option(word, own) is None}
    borrowed: dict[str, Option] = {}
    for other in reversed(releases()):
        if not unknown:
            break
        theirs = options(load(other))
        for word in sorted(unknown):
            found = canonical_option(word, theirs)
            if found is not None:
                borrowed[word] = found._replace(spellings=(word, found.name))
                unknown = unknown - {word}
    return (*own, *borrowed.values())


def _option(flag: Flag) -> Option:
    return Option(
        spellings=flag.spellings,
        dest=_STORED_AS.get(flag.dest, flag.dest),
        type=flag.type,
        action="store" if flag.action in _STORING else flag.action,
        nargs=flag.nargs,
        choices=None if isinstance(flag.choices, Unknown) else flag.choices,
        default=flag.default,
        required=flag.required,
        const=True if flag.action == "DeprecatedStoreTrueAction" else flag.const,
        fatal=flag.deprecated if flag.fatal else None,
    )


def merge_config(argv: Sequence[str], config: Mapping[str, Any], knowledge: Knowledge) -> list[str]:
    """Put the words of a `--config` file before those of the command line.

    Restates `ConfigArgumentMerger.merge_config_with_args` (0.5.3 to 0.5.23); releases before know
    no such option, so that the words stay as they are.

    Raises:
        ConfigFileError: what the merger refuses, in its own words.
    """
    if "--config" not in argv or not knowledge.since("0.5.3"):
        return list(argv)
    if list(argv).count("--config") > 1:
        raise ConfigFileError("Multiple config files specified! Only one allowed.")
    at = list(argv).index("--config")
    if at == len(argv) - 1:
        raise ConfigFileError("No config file specified after --config flag!")
    return [*_config_words(config, knowledge), *argv[:at], *argv[at + 2 :]]


def _config_words(config: Mapping[str, Any], knowledge: Knowledge) -> Iterator[str]:
    """Restate `_convert_config_to_args`.

    A boolean is a bare flag where true and nothing where false. From 0.5.8 that holds for
    `store_true` options alone, which others follow as `true` or `false`, and options with any
    other action are refused (from 0.5.23 only those that take several values).
    """
    by_key = dict(_keyed_flags(knowledge))
    for key, value in config.items():
        flag = by_key.get(key.replace("-", "_"))
        bare = flag is not None and flag.action == "store_true"
        if knowledge.since("0.5.8") and flag is not None and not bare:
            _refuse_unsupported(key, flag, knowledge)
        if isinstance(value, bool):
            if bare or not knowledge.since("0.5.8"):
                yield from [f"--{key}"] if value else []
            else:
                yield from (f"--{key}", str(value).lower())
        elif isinstance(value, list):
            yield from [f"--{key}", *map(str, value)] if value else []
        elif isinstance(value, dict) and knowledge.since("0.5.14"):
            yield from (f"--{key}", json.dumps(value))
        else:
            yield from (f"--{key}", str(value))


def _keyed_flags(knowledge: Knowledge) -> Iterator[tuple[str, Flag]]:
    """Yield the flags by the keys a file may use: their attribute, from 0.5.23 any spelling."""
    for flag in reversed(list(knowledge.flags.values())):
        if knowledge.since("0.5.23"):
            for spelling in flag.spellings:
                yield spelling.removeprefix("--").replace("-", "_"), flag
        yield flag.dest, flag


def _refuse_unsupported(key: str, flag: Flag, knowledge: Knowledge) -> None:
    single = knowledge.since("0.5.23") and flag.nargs is None and flag.action != "boolean_optional"
    if flag.action != "store" and not single:
        name = key.replace("-", "_")
        kind = {"boolean_optional": "BooleanOptionalAction"}.get(flag.action, flag.action)
        raise ConfigFileError(f"Unsupported config option '{name}' with action '{kind}'")


def _nullable_str(text: str) -> str | None:
    return None if not text or text == "None" else text


def _json_list(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ConversionError(
            f"Invalid JSON list: {text}. Please provide a valid JSON list."
        ) from None


def human_readable_int(text: str) -> int:
    """Return the number of `1k` (1000), `1Ki` (1024), `25.6k` (25600) or a plain integer.

    Raises:
        ConversionError: with the engine's text.
    """
    text = text.strip()
    match = re.fullmatch(_SUFFIXED, text)
    if match is None:
        try:
            return int(text)
        except ValueError:
            raise ConversionError(
                f"Invalid integer value: '{text}'. Use a plain integer, SI suffixes (1k, 1M), or "
                "IEC suffixes (1Ki, 1Mi). Suffixes are case-sensitive."
            ) from None
    from decimal import Decimal

    number, suffix = match.groups()
    if suffix in _DECIMAL:
        return int(Decimal(number) * _DECIMAL[suffix])
    if "." in number:
        raise ConversionError(
            f"Decimals are not allowed with IEC suffixes like '{suffix}'. Use an integer IEC value "
            f"such as '{int(Decimal(number))}{suffix}', or an SI value such as "
            f"'{number}{suffix[0]}'."
        )
    return int(number) * _BINARY[suffix]


def _cuda_graph_backend(text: str) -> str:
    """Restate `cuda_graph_config.py:parse_cuda_graph_backend_arg` (0.5.23)."""
    if text == "tc_piecewise":
        raise ConversionError("tc_piecewise was removed; select breakable, full, or disabled")
    return text


def _cuda_graph_config(text: str) -> Any:
    """Restate the outer checks of `cuda_graph_config.py:parse_cuda_graph_config_arg`."""
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConversionError(f"--cuda-graph-config must be JSON: {error}") from None
    if not isinstance(parsed, dict):
        kind = type(parsed).__name__
        raise ConversionError(f"--cuda-graph-config must be a JSON object, got {kind}")
    return parsed


_CONVERTERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "nullable_str": ("nullable_str", _nullable_str),
    "json_list_type": ("json_list_type", _json_list),
    "human_readable_int": ("human_readable_int", human_readable_int),
    "parse_cuda_graph_backend_arg": ("parse_cuda_graph_backend_arg", _cuda_graph_backend),
    "parse_cuda_graph_config_arg": ("parse_cuda_graph_config_arg", _cuda_graph_config),
}
