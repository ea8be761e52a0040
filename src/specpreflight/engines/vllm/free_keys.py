"""JSON that the parser takes as it is, and what later code makes of its keys.

- `--override-generation-config`: `config/model.py:ModelConfig.get_diff_sampling_param`
  (`config.py` in 0.10.0) reads the sampling parameters by name; nothing else looks at the rest, but
  for Llama 4's own attention chunks (`models/llama4.py`).
- `--model-loader-extra-config`: the loader's constructor, at the start of loading
  (`model_executor/model_loader/default_loader.py:DefaultModelLoader.__init__`). Other load formats
  have loaders of their own and are not judged.

`--hf-overrides`, `--additional-config`, `--mm-processor-kwargs` and `--media-io-kwargs` go to code
that takes any key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.record import Record, flag_value
from specpreflight.models.argument_parser import Arguments
from specpreflight.models.finding import Outcome, Stage

#: The parameters that are read, and the release since which they are.
_SAMPLING: Final = {
    "repetition_penalty": "0.10.0",
    "temperature": "0.10.0",
    "top_k": "0.10.0",
    "top_p": "0.10.0",
    "min_p": "0.10.0",
    "max_new_tokens": "0.10.0",
    "presence_penalty": "0.31.0",
    "frequency_penalty": "0.31.0",
    "skip_special_tokens": "0.33.0",
}
_LOADER: Final = {
    "enable_multithread_load": "0.10.2",
    "num_threads": "0.10.2",
    "enable_weights_track": "0.21.0",
}
#: The load formats of `DefaultModelLoader` in all releases.
_DEFAULT_LOADER: Final = frozenset(
    {"auto", "hf", "fastsafetensors", "mistral", "npcache", "pt", "safetensors"}
)


def check_generation_keys(record: Record, knowledge: Knowledge, parsed: Arguments) -> None:
    """Tell of each key of `--override-generation-config` that nothing reads."""
    name = "--override-generation-config"
    known = _known(_SAMPLING, knowledge)
    for key, value in _given(parsed, "override_generation_config").items():
        if key in known:
            continue
        record.add(
            "arguments.json-key-ignored",
            Outcome.DEGRADES,
            Stage.ARGUMENTS,
            f"vLLM reads no `{key}` in `{name}`"[:100],
            source="config/model.py:ModelConfig.get_diff_sampling_param",
            values=(flag_value(key, value, name, f"/{key}"),),
            facts={"key": key, "suggestion": _near(key, known)},
        )


def check_loader_keys(record: Record, knowledge: Knowledge, parsed: Arguments) -> None:
    """Tell of the keys of `--model-loader-extra-config` that stop the loading of weights."""
    name, load_format = "--model-loader-extra-config", parsed.values.get("load_format") or "auto"
    given = _given(parsed, "model_loader_extra_config")
    known = _known(_LOADER, knowledge)
    unknown = [key for key in given if key not in known]
    if load_format not in _DEFAULT_LOADER or not unknown:
        return
    text = f"Unexpected extra config keys for load format {load_format}: {set(unknown)}"
    if not known:
        text = f"Model loader extra config is not supported for load format {load_format}"
    near = _near(unknown[0], known)
    record.add(
        "arguments.json-key-unknown",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"`{name}` has no key `{unknown[0]}`{'' if near is None else f'; is `{near}` meant?'}"[
            :100
        ],
        text=text,
        source="model_executor/model_loader/default_loader.py:DefaultModelLoader.__init__",
        values=(flag_value(unknown[0], given[unknown[0]], name, f"/{unknown[0]}"),),
        facts={"key": unknown[0], "suggestion": near},
    )


def _given(parsed: Arguments, dest: str) -> Mapping[str, Any]:
    value = parsed.values.get(dest)
    return value if isinstance(value, Mapping) else {}


def _known(table: Mapping[str, str], knowledge: Knowledge) -> list[str]:
    return [key for key, since in table.items() if knowledge.since(since)]


def _near(key: str, known: list[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(key.replace("-", "_"), known, n=1)), None)
