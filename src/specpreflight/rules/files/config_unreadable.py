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
Mend the file at the place that the finding names.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
transformers `configuration_utils.py:_get_config_dict`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from specpreflight.models.finding import Finding
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import rule_of_events

_OF_EVENTS = rule_of_events(
    name="config-unreadable",
    summary="a config.json that is not there, or that is no JSON",
    since="0.1.0",
    engines=("sglang", "vllm"),
    topics=("config.unreadable", "config.missing"),
    remedies={},
)


def _check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Yield what the engine says, with what is wrong with the file before it."""
    causes = list(_causes(launch))
    for finding in _OF_EVENTS.check(launch, resolved):
        yield replace(finding, detail="\n".join(filter(None, [*causes, finding.detail])))


def _causes(launch: Launch) -> Iterator[str]:
    for checkpoint in (launch.target, launch.draft):
        if checkpoint is not None and checkpoint.problem is not None:
            _, message, hint = checkpoint.problem
            yield f"{message}; {hint}" if hint else message


RULE = _OF_EVENTS._replace(check=_check)
