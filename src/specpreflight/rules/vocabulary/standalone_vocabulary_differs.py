"""A standalone draft speaks another vocabulary than the target.

## What it checks
For STANDALONE: `vocab_size` of both, then the token of every id in both tokenizers, added tokens
included, and which tokens begin and end a text. The first ids that differ are shown as tokens.

## What the engine does
The draft's token ids are used as the target's. From 0.5.15 different `vocab_size`s are refused once
both models are loaded; the comparison of the tokenizers that stands beside it never runs, because
the draft worker has no tokenizer of its own. So a draft with other tokens under the same size, and
up to 0.5.14 any other draft, starts: nothing is accepted, and text comes out wrong or slow. A few
ids with other tokens only cost acceptance where they occur; ids that one of the two does not have
are never proposed, or never asked for.

## Example
Gemma 2 as the target (256,000 tokens) with tiny_starcoder_py (49,152).

## Fix
Use a draft of the target's family.

## Fix safety
Nothing is edited. Padded vocabularies (more rows than tokens) are the same for this purpose only
if `vocab_size` is equal, which is what the engine compares.

## How sure
Proven for the sizes; what the engine makes of equal sizes with other tokens is observed, and from
which share of them on nothing is accepted is a guess (a tenth).

## References
sglang#24051; SGLang `srt/speculative/standalone_worker_v2.py:_validate_vocab_compatibility`
(0.5.15), `srt/managers/tp_worker.py` (the draft's tokenizer).
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import (
    Confidence,
    Finding,
    Origin,
    Outcome,
    Remedy,
    Severity,
    Stage,
    Value,
)
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.tokenizer import Tokenizer, differences, first_differences, tokenizer_of
from specpreflight.rules.rule import Rule

_SHOWN = 5
#: The share of ids with other tokens from which on nothing is accepted.
_MOST_TO_SPARE = 0.1


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare sizes, then tokens."""
    target, draft = launch.target, launch.draft
    if target is None or draft is None:
        return
    if str(launch.flags.get("speculative-algorithm")).upper() != "STANDALONE":
        return
    theirs, ours = target.text.get("vocab_size"), draft.text.get("vocab_size")
    if isinstance(theirs, int) and isinstance(ours, int) and theirs != ours:
        yield _sizes_differ(launch, target, draft)
        return
    one, other = tokenizer_of(target), tokenizer_of(draft)
    if one is None or other is None or one.unseen or other.unseen:
        return
    if one.tokens != other.tokens:
        yield _tokens_differ(target, draft, one, other)
    roles = [role for role in ("bos_token", "eos_token") if _differ(role, one, other)]
    if roles and one.tokens == other.tokens:
        yield _roles_differ(target, draft, one, other, roles)


def _sizes_differ(launch: Launch, target: Checkpoint, draft: Checkpoint) -> Finding:
    refused = _checks_sizes(launch)
    theirs, ours = target.text["vocab_size"], draft.text["vocab_size"]
    said = (
        "STANDALONE speculative decoding requires the draft model to share the same vocabulary "
        f"as the target model, but got target vocab_size={theirs} and draft vocab_size={ours}."
    )
    return Finding(
        RULE.name,
        Outcome.CRASHES if refused else Outcome.WRONG_OUTPUT,
        f"the draft has {ours} tokens, the target {theirs}",
        stage=Stage.WEIGHTS if refused else Stage.SERVING,
        detail=(
            "This release compares the sizes once both models are loaded."
            if refused
            else "This release does not compare them: draft ids are used as target ids."
        ),
        engine_message=f"ValueError: {said}" if refused else None,
        values=(
            target.text_value("target", "vocab_size"),
            draft.text_value("draft", "vocab_size"),
        ),
        remedies=_REMEDIES,
    )


def _checks_sizes(launch: Launch) -> bool:
    """Return whether this release refuses different sizes (0.5.15 on)."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(launch.engine.version) >= Version("0.5.15")
    except InvalidVersion:
        return True


def _differ(role: str, one: Tokenizer, other: Tokenizer) -> bool:
    stated = one.special.get(role), other.special.get(role)
    return None not in stated and stated[0] != stated[1]


def _roles_differ(
    target: Checkpoint, draft: Checkpoint, one: Tokenizer, other: Tokenizer, roles: list[str]
) -> Finding:
    role = roles[0]
    return Finding(
        RULE.name,
        Outcome.STARTS,
        f"`{role}` is {one.special[role]!r:.24} for the target, {other.special[role]!r:.24} for "
        "the draft",
        detail="The tokens are the same; only the target's decides where a text ends.",
        values=tuple(
            Value(f"{side.role} {each}", tokenizer.special[each], _origin(side, tokenizer))
            for each in roles
            for side, tokenizer in ((target, one), (draft, other))
        ),
    )


def _tokens_differ(
    target: Checkpoint, draft: Checkpoint, one: Tokenizer, other: Tokenizer
) -> Finding:
    conflicts = [each for each in differences(one, other) if None not in each]
    shown = conflicts[:_SHOWN] or first_differences(one, other, _SHOWN)
    outcome, severity = Outcome.ACCEPTS_NOTHING, None
    if not conflicts:
        outcome, severity = Outcome.STARTS, Severity.NOTE
    elif len(conflicts) < _MOST_TO_SPARE * max(len(one.tokens), len(other.tokens)):
        outcome, severity = Outcome.DEGRADES, Severity.WARNING
    number, theirs, ours = shown[0]
    message = f"token {number} is {theirs!r:.24} for the target and {ours!r:.24} for the draft"
    if not conflicts:
        lacking = draft.role if ours is None else target.role
        token = theirs if ours is None else ours
        message = f"token {number} ({token!r:.24}) is one that the {lacking} does not have"
    return Finding(
        RULE.name,
        outcome,
        message,
        severity=severity,
        stage=Stage.SERVING,
        confidence=Confidence.OBSERVED if len(conflicts) else Confidence.INFERRED,
        detail=(
            f"{len(conflicts)} ids have other tokens. The id → token maps differ "
            f"({one.digest()[:12]} and {other.digest()[:12]}); no release compares them, because "
            "the draft worker has no tokenizer of its own."
        ),
        values=tuple(
            Value(f"{role.role} token {each}", token, _origin(role, tokenizer))
            for each, first, second in shown
            for role, tokenizer, token in ((target, one, first), (draft, other, second))
        ),
        remedies=_REMEDIES if conflicts else (),
    )


def _origin(checkpoint: Checkpoint, tokenizer: Tokenizer) -> Origin:
    return Origin("file", path=f"{checkpoint.given.rstrip('/')}/{tokenizer.file}")


_REMEDIES = (Remedy("use a draft of the target's family", "manual", "placeholder"),)


RULE = Rule(
    name="standalone-vocabulary-differs",
    summary="a standalone draft speaks another vocabulary than the target",
    since="0.1.0",
    needs=("target.config", "draft.config"),
    check=check,
)
