"""A model class that this release does not have.

## What it checks
`architectures` of target and draft against the registry of the release, after the engine's own
renaming of drafts; and that `architectures` names a class at all.

## What the engine does
An unregistered class falls to the Transformers backend, which raises a ValueError; a missing list
raises `TypeError` or `IndexError`. For a draft this comes after the target's weights are loaded.
vLLM's and SGLang's names for the same draft differ (`Eagle3LlamaForCausalLM` is vLLM's,
`LlamaForCausalLMEagle3` SGLang's). vLLM refuses with `Model architectures [...] are not supported
for now` before anything is loaded, and names the release that still had a class it removed.

## Example
A draft exported for vLLM with `"architectures": ["Eagle3LlamaForCausalLM"]`: `Cannot find model
module. 'Eagle3LlamaForCausalLM' is not a registered model in the Transformers library`.

## Fix
Write the engine's own name where the tensors fit that class, or use a release that has it.

## Fix safety
Not written by `--fix`: whether the tensors fit is another question (see `keys`).

## How sure
Proven: the registry of that release.

## References
SGLang `srt/models/registry.py`, `srt/model_loader/utils.py:get_model_architecture`;
vLLM `model_executor/models/registry.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="architecture-unknown",
    summary="a model class that this release does not have",
    since="0.1.0",
    engines=("sglang", "vllm"),
    topics=(
        "architecture.draft-unregistered",
        "architecture.target-unregistered",
        "config.missing-architectures",
        "target.no-architecture",
    ),
    remedies={
        "architecture.draft-unregistered": (
            Remedy.manual("write this engine's name for the class, or use a release that has it"),
        ),
        "architecture.target-unregistered": (
            Remedy.manual("use an engine release that has this class"),
        ),
        "config.missing-architectures": (
            Remedy.manual("write `architectures` with the class that the weights belong to"),
        ),
    },
)
