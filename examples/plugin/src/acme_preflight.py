"""The draft does not say which team answers for it.

## What it checks

At Acme, every draft's `config.json` names its owner in `acme_owner`, so that the person on call
knows whom to wake. This looks for the key.

## What the engine does

Nothing: no engine reads it.

## Example

`{"architectures": ["LlamaForCausalLMEagle3"], …}` without `"acme_owner": "team-drafts"`.

## Fix

Add the key.

## Fix safety

A human has to choose the value.

## How sure

Certain.

## References

Acme's handbook, "Serving".
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Remedy, Severity
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Look for the key in the draft's config."""
    draft = launch.draft
    if draft is None or "acme_owner" in draft.config.root:
        return
    yield Finding(
        RULE.name,
        Outcome.STARTS,
        "the draft's config has no `acme_owner`, expected the name of a team",
        severity=Severity.WARNING,
        values=(draft.value("draft", "/acme_owner"),),
        remedies=(Remedy.manual("add `acme_owner` to the draft's config.json"),),
    )


RULE = Rule(
    name="acme-owner-missing",
    summary="the draft does not say which team answers for it",
    since="1.0",
    engines=(),
    needs=("draft.config",),
    check=check,
)

#: What the entry point names: all rules of this package.
RULES = (RULE,)
