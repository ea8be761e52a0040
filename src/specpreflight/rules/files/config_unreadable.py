"""A config.json that is not there, or that is no JSON.

## What it checks
Whether target and draft have a `config.json` that can be read. specpreflight then also exits with 4
and says on stderr what is wrong and where.

## What the engine does
`AutoConfig.from_pretrained` raises an OSError (`It looks like the config file at … is not a valid
JSON file`) or looks the path up on the Hub. For a draft this comes when the draft's config is read:
up to 0.5.11 after the target's weights, later while the arguments are handled. vLLM reads both
while it handles the arguments, and a draft of the speculators format names the target to read.

## Example
A trailing comma in the draft's config.json.

## Fix
Mend the file at the place that stderr names.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
transformers `configuration_utils.py:_get_config_dict`.
"""

from __future__ import annotations

from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="config-unreadable",
    summary="a config.json that is not there, or that is no JSON",
    since="0.1.0",
    engines=("sglang", "vllm"),
    topics=("config.unreadable", "config.missing"),
    remedies={},
)
