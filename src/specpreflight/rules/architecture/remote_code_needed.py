"""The config needs code from the checkpoint, and `--trust-remote-code` is missing.

## What it checks
`auto_map` of target and draft, where the engine has no config class of its own for the type.

## What the engine does
transformers refuses to run the checkpoint's code without the flag. The flag is shared: the draft
has none of its own, in any release of SGLang or vLLM.

## Example
A target with `"auto_map": {"AutoConfig": "configuration_x.XConfig"}` and no flag: `The repository
contains custom code which must be executed to correctly load the model`.

## Fix
Read the code, then launch with `--trust-remote-code`.

## Fix safety
Nothing is edited, and specpreflight itself never runs code from a checkpoint.

## How sure
Proven for the refusal; what the checkpoint's own code would say is not predicted.

## References
transformers `dynamic_module_utils.py:resolve_trust_remote_code`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="remote-code-needed",
    summary="the config needs code from the checkpoint, and `--trust-remote-code` is missing",
    since="0.1.0",
    engines=("sglang", "vllm"),
    topics=("config.remote-code",),
    remedies={
        "config.remote-code": (
            Remedy.flag("read the code, then give --trust-remote-code", "--trust-remote-code"),
        ),
    },
)
