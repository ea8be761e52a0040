"""The engine itself says no, and no other rule has more to say about it.

## What it checks
Everything in the launch that the engine's own code stops on, and that has no rule of its own.

## What the engine does
The finding quotes the engine's message and names the function that raises it.

## Example
`--page-size 3 --chunked-prefill-size 8192` on SGLang: `chunked_prefill_size must be divisible by
page_size`.

## Fix
Follow the engine's message.

## Fix safety
Nothing is edited.

## How sure
The engine's own code at this version, restated.

## References
The finding names file and function.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import STOPPING, Finding
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule, report_event


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report every stop whose topic no other rule claims."""
    from specpreflight.rules.registry import is_claimed

    for order, event in enumerate(resolved.events):
        if event.outcome in STOPPING and not is_claimed(event.topic, launch.engine.name):
            yield report_event(RULE, order, event)


RULE = Rule(
    name="engine-refuses",
    summary="the engine itself says no, and no other rule has more to say about it",
    since="0.1.0",
    engines=(),
    check=check,
)
