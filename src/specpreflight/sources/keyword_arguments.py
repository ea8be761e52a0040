"""JSON that starts an engine: the keyword arguments of vLLM's `LLM(...)`.

`{"model": "org/target", "speculative_config": {…}}` is a launch without a command line. Its values
are kept as they are, because nothing parses them on their way into the engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from specpreflight.errors import InputError
from specpreflight.sources.engine_config import is_flag_mapping
from specpreflight.sources.entry_points import Entry, engine_of_flags
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.text_file import read_text_file

#: The entry that `LLM(...)` in a Python program has too.
ENTRY = "vllm.LLM"

#: Keys of a checkpoint's `config.json`, which is no launch whatever else it holds.
_OF_A_CHECKPOINT = ("model_type", "architectures")


def is_keyword_arguments(value: Any) -> bool:
    """Say whether a JSON value is the keyword arguments of `LLM(...)`."""
    if not isinstance(value, dict) or not all(map(str.isidentifier, value)):
        return False
    if any(key in value for key in _OF_A_CHECKPOINT):
        return False
    telling = "speculative_config" in value or is_flag_mapping(value)
    return telling and engine_of_flags([f"--{name}" for name in value]) == "vllm"


def reader_of(keywords: Mapping[str, Any]) -> Callable[..., None]:
    """Return the reader of a file that holds them; they become the launch's `config`."""

    def read(_: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]) -> None:
        tracer.found(Entry("vllm", ENTRY, ()), Process((), line=1))
        tracer.commands[-1] = replace(tracer.commands[-1], config=keywords)

    return read


def is_launch(path: Path) -> bool:
    """Say whether a JSON file is a launch rather than a checkpoint's config."""
    try:
        value = json.loads(read_text_file(path, str(path)))
    except (InputError, ValueError, RecursionError):
        return False
    return is_keyword_arguments(value)
