"""A config.json holds NaN or Infinity, which JSON does not have.

## What it checks
Every value of the `config.json` of target and draft.

## What the engine does
Python's `json` writes and reads `NaN`, `Infinity` and `-Infinity`, so the engine takes them. A
strict parser (jq, a gateway, a server in another language) refuses the whole file. Some models mean
it: `time_step_limit` of Mamba layers ends at Infinity.

## Example
`"rope_theta": NaN` from a script that divided by zero.

## Fix
Write the number that was meant; leave an Infinity that the model's authors wrote.

## Fix safety
Nothing is edited: the file does not say which number was meant.

## How sure
Proven: Python's `json`, which transformers reads with.

## References
transformers `configuration_utils.py:_dict_from_json_file`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Remedy, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each value that is no JSON."""
    for checkpoint in (launch.target, launch.draft):
        if checkpoint is None:
            continue
        config = checkpoint.config
        for pointer, place in config.constants:
            written = config.data[place.start : place.end].decode()
            yield Finding(
                RULE.name,
                Outcome.STARTS,
                f"`{pointer[1:50]}` of the {checkpoint.role} is {written}, expected a JSON number",
                values=(Value(checkpoint.role, written, checkpoint.origin(pointer)),),
                remedies=(Remedy("write the number that was meant", "manual", "placeholder"),),
            )


RULE = Rule(
    name="number-not-json",
    summary="a config.json holds NaN or Infinity, which JSON does not have",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
