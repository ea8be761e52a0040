"""Flags that are written as a mapping: an engine's `--config` file, Ray's `engine_kwargs`.

What becomes of a value restates SGLang `server_args_config_parser.py`
(`ConfigArgumentMerger._convert_config_to_args`) and vLLM `utils/argparse_utils.py`
(`FlexibleArgumentParser.load_config_file`): a true boolean is a bare flag, a false one is dropped,
a list becomes several words, a mapping JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from specpreflight.errors import InputError
from specpreflight.sources.entry_points import Entry, engine_of_flags
from specpreflight.sources.launch_files import LaunchFiles
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.yaml_text import YamlList, YamlMap, read_yaml

#: Keys by which a mapping is recognised as one of flags; two are needed.
_TELLING = re.compile(
    r"model(-path|-tag)?|served-model-name|tokenizer(-path)?|tensor-parallel-size|tp(-size)?"
    r"|pipeline-parallel-size|pp-size|data-parallel-size|dp(-size)?|ep-size|speculative-.*"
    r"|mem-fraction-static|gpu-memory-utilization|max-model-len|context-length|quantization"
    r"|kv-cache-dtype|trust-remote-code|attention-backend|chunked-prefill-size|max-num-seqs"
    r"|max-num-batched-tokens|max-running-requests|disable-radix-cache|cuda-graph-.*|dtype"
    r"|hf-overrides|enforce-eager|page-size"
)

#: Keys of a chart's values or of a container, which are no flags of an engine.
_OF_A_CHART = re.compile(
    r"image|replicas|replicaCount|resources|envs?|environment|service|ingress|args|command"
    r"|extra_?[aA]rgs|nodeSelector|tolerations|volumes|volumeMounts|ports"
)


def read_config(argv: Sequence[str], files: LaunchFiles) -> tuple[YamlMap | None, str | None]:
    """Return the content of the file that `--config` names, and its name where it is missing.

    Both engines look for the word `--config` alone; `--config=FILE` is read by neither.

    Raises:
        InputError: it is no YAML, or holds something else than flags by name.
    """
    if "--config" not in argv:
        return None, None
    at = list(argv).index("--config")
    name = "".join(argv[at + 1 : at + 2])
    text = files.read(name) if name else None
    if text is None:
        return None, name or None
    document = next(iter(read_yaml(text, name)), None)
    if document is not None and not isinstance(document, YamlMap):
        raise InputError(
            f"{name}: no mapping at its top level",
            hint="the engine's --config takes a YAML file of flags by name",
        )
    return document, None


def is_flag_mapping(value: Any) -> bool:
    """Say whether a mapping's keys are an engine's flags."""
    if not isinstance(value, dict) or any(map(_OF_A_CHART.fullmatch, value)):
        return False
    known = sum(map(is_telling, value))
    scalars = sum(not isinstance(item, dict) for item in value.values())
    return known >= 2 and known * 3 >= len(value) and scalars * 2 >= len(value)


def is_telling(key: str) -> bool:
    """Say whether a key is one of the flags that nearly every launch has."""
    return _TELLING.fullmatch(flag_name(key)) is not None


def flag_name(key: str) -> str:
    """Return a key as a flag without dashes: `maxModelLen` and `max_model_len` are one."""
    spaced = key if key.isupper() else re.sub(r"(?<=[a-z0-9])([A-Z])", r"-\1", key)
    return spaced.lower().replace("_", "-")


def read_flag_mapping(
    mapping: YamlMap, tracer: Tracer, process: Process, entry: str, engine: str | None = None
) -> None:
    """Note the launch that a mapping of flags stands for."""
    names = ["--" + flag_name(key) for key in mapping]
    engine = engine or engine_of_flags(names) or "sglang"
    words = list(flag_words(mapping))
    if engine == "vllm":
        words = model_first(words)
    if "_" in "".join(mapping):
        tracer.notes.append("keys with underscores are read as flags with dashes")
    tracer.found(Entry(engine, entry.format(engine=engine), tuple(words)), process)


def flag_words(mapping: Mapping[str, Any]) -> Iterator[str]:
    """Yield the command line that a mapping of flags stands for."""
    for key, value in mapping.items():
        flag = "--" + flag_name(key)
        if value is None or value is False or value == []:
            continue
        yield flag
        if value is True:
            continue
        if isinstance(value, YamlList):
            yield from value.texts
        elif isinstance(value, list):
            yield from map(str, value)
        elif isinstance(value, dict):
            yield json.dumps(value)
        else:
            text = mapping.texts.get(key) if isinstance(mapping, YamlMap) else None
            yield str(value) if text is None else text


def model_first(words: list[str]) -> list[str]:
    """Move `--model NAME` to the front, where `vllm serve` takes it."""
    if "--model" not in words:
        return words
    at = words.index("--model")
    return [words[at + 1], *words[:at], *words[at + 2 :]]
