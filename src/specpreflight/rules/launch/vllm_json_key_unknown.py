"""A key in the JSON of a vLLM flag that the release does not have.

## What it checks
The flags that set a whole config object (`--compilation-config`, `--kv-transfer-config`,
`--structured-outputs-config`, `--attention-config`, `--profiler-config` …), their dotted forms
(`--compilation-config.mode 3`) and the objects inside them: that the release's class has every key.
`--speculative-config` has a rule of its own. `--hf-overrides`, `--override-generation-config`,
`--limit-mm-per-prompt`, `--additional-config` and the like are free dictionaries to the parser, and
are not looked at.

## What the engine does
From 0.16.0 on (for `--compilation-config` from 0.13.0 on) the parser stops with `Unexpected keyword
argument`, exit code 2. Earlier the key is dropped without a word, and the setting stays at its
default. Which keys there are changes with nearly every release.

## Example
`--compilation-config '{"cudagraph_modes": "NONE"}'`: the key is `cudagraph_mode`.

## Fix
Write the key as the release has it; the finding names the nearest one.

## Fix safety
Nothing is edited.

## How sure
Proven: the fields of the release's own classes, compared with what its parser did.

## References
vLLM `engine/arg_utils.py:_compute_kwargs`, `config/utils.py:config`.
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
