"""A value in a config that the config class refuses for its type.

## What it checks
The values that transformers' config class declares a type for: an explicit null where the class
wants a number, a float for an integer, text for a number.

## What the engine does
From 0.5.11 (transformers 5.6) config classes are strict dataclasses: a wrong type raises
`StrictDataclassFieldValidationError` when the config is read; from 0.5.12 that is already while the
arguments are handled. transformers 4 accepted all of it, so a draft may have worked before.

## Example
`"num_hidden_layers": null`, from an exporter that writes every key it knows and did not find.

## Fix
Take the null away, so that the class's default holds; or write the number.

## Fix safety
Safe for a null whose class default is what the engine used before; else a human value is needed.

## How sure
Proven: the engine's own config classes, restated from their source.

## References
transformers `configuration_utils.py` (5.6 on), huggingface_hub `dataclasses.py:strict`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import MISSING, Edit, Finding, Remedy, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Event, Resolved
from specpreflight.rules.rule import Rule

_TOPIC = "config.wrong-type"


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Turn the engine's refusals into findings with the edit that removes a null."""
    for order, event in RULE.events(resolved):
        yield Finding(
            RULE.name,
            event.outcome,
            event.message[:100],
            stage=event.stage,
            confidence=event.confidence,
            detail=f"Raised by {event.source}." if event.source else "",
            engine_message=event.engine_message,
            values=event.values,
            remedies=tuple(_remedies(event)),
            order=order,
        )


def _remedies(event: Event) -> Iterator[Remedy]:
    for value in event.values:
        if value.value is None and value.origin.path and value.origin.pointer and _is_stated(value):
            edit = Edit(value.origin.path, value.origin.pointer, None, MISSING)
            yield Remedy(
                f"take the null `{value.origin.pointer.rsplit('/', 1)[-1]}` away",
                "edit",
                "safe",
                edits=(edit,),
            )
            return
    yield Remedy("write a value of the type that the class declares", "manual", "placeholder")


def _is_stated(value: Value) -> bool:
    """Return whether the null stands in the file, not for a key that is absent."""
    return value.origin.line is not None


RULE = Rule(
    name="config-value-refused",
    summary="a value in a config that the config class refuses for its type",
    since="0.1.0",
    topics=(_TOPIC,),
    check=check,
)
