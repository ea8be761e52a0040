"""A key in the JSON of a vLLM flag that the release does not have.

## What it checks
The flags that set a whole config object (`--compilation-config`, `--kv-transfer-config`,
`--structured-outputs-config`, `--attention-config`, `--profiler-config` …), their dotted forms
(`--compilation-config.mode 3`) and the objects inside them: that the release's class has every key.
Of the free dictionaries, `--override-generation-config` and `--model-loader-extra-config`: that
something reads the key. `--speculative-config` has a rule of its own; `--hf-overrides`,
`--additional-config`, `--mm-processor-kwargs` and the like take any key.

## What the engine does
From 0.16.0 on (for `--compilation-config` from 0.13.0 on) the parser stops with `Unexpected keyword
argument`, exit code 2. Earlier the key is dropped without a word, and the setting stays at its
default. Which keys there are changes with nearly every release. Of `--override-generation-config`
only some sampling parameters are read (`max_new_tokens`, not `max_tokens`), and nobody says so. A
key that the default loader does not know stops the workers when they begin to load.

## Example
`--compilation-config '{"cudagraph_modes": "NONE"}'`: the key is `cudagraph_mode`.

## Fix
Write the key as the release has it; the finding names the nearest one.

## Fix safety
Nothing is edited.

## How sure
Proven: the fields of the release's own classes, compared with what its parser did.

## References
vLLM `engine/arg_utils.py:_compute_kwargs`, `config/utils.py:config`,
`config/model.py:ModelConfig.get_diff_sampling_param`, `model_loader/default_loader.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

_WAY_OUT = Remedy.flag("write a key that this release has, or leave it out")

RULE = rule_of_events(
    name="vllm-json-key-unknown",
    summary="a key in the JSON of a vLLM flag that the release does not have",
    since="0.1.0",
    engines=("vllm",),
    topics=("arguments.json-key-unknown", "arguments.json-key-ignored"),
    remedies={
        "arguments.json-key-unknown": (_WAY_OUT,),
        "arguments.json-key-ignored": (_WAY_OUT,),
    },
)
