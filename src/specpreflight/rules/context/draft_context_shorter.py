"""The draft's context length is shorter than the one it is given.

## What it checks
The context length that the engine derives from the draft's config (the first of
`max_sequence_length`, `seq_length`, `max_seq_len`, `model_max_length`, `max_position_embeddings`,
times the RoPE factor where that counts) against the target's, or `--context-length`.

## What the engine does
SGLang gives the draft worker the target's context length. Up to 0.4.10.post2 a shorter draft is let
through with a warning, since the override is on by default. From 0.5.1 on the draft worker raises a
ValueError: after the target's weights are loaded, up to 0.5.13 also after its KV cache and CUDA
graphs. With `--context-length` the target's runner reads the draft's config first, so that the same
error comes earlier. `SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN` (true or 1, from 0.5.3 also yes and
y, in any case) or `SGLANG_IS_IN_CI` turns the error into a warning; later releases then also
overwrite the draft's `max_position_embeddings` in memory, earlier ones leave its rotary table
short.

vLLM gives the draft the lesser of both lengths. Its runner V1 (0.11.0 on) stops drafting for a
whole batch as soon as one sequence in it is longer than the draft. Runner V2 drafts on, past the
end of the draft's rotary table; from 0.33.0 on the draft's `max_position_embeddings` is raised in
memory.

## Example
Kimi-K2.5 (262144, inside `text_config`) with an EAGLE-3 draft that says 131072.

## Fix
Raise the draft's number to the target's; it survives the next shell. Or serve with
`--context-length` at the draft's length, which limits every request. Or set the variable, which
the next shell forgets. SGLang's `--json-model-override-args '{"max_position_embeddings": N}'` does
in memory what the edit does in the file: it is meant for the target and laid over both configs, but
only over their top level, so that it passes by a target that keeps its numbers in `text_config`
(Kimi-K2.5, Qwen-VL, Llama 4), and changes nothing in a target that states N already. No remedy
makes the draft accept more beyond the length it was trained on.

## Fix safety
Raising `max_position_embeddings` is safe where it changes nothing but the size of the rotary
table. With dynamic or longrope scaling, or YaRN without `original_max_position_embeddings`, the
frequencies depend on it, so the edit is unsafe.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
SGLang `srt/configs/model_config.py:_derive_context_length` (inline in `__init__` up to 0.5.2),
`srt/speculative/eagle_worker.py`, `srt/managers/tp_worker.py`; sglang#9388, #18220; vLLM
`config/speculative.py:_maybe_override_draft_max_model_len`, `v1/worker/gpu_model_runner.py`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.context_length import length_key, raising_changes_numerics
from specpreflight.models.finding import MISSING, Edit, Finding, Outcome, Remedy, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Event, Resolved
from specpreflight.rules.rule import Rule, report_event

_OVERRIDES = "--json-model-override-args"
_VARIABLE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_REFUSED, _OVERRIDDEN, _LET_THROUGH = (
    "context.draft-shorter",
    "context.draft-overridden",
    "context.draft-let-through",
)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report the first event about the draft's length, with every way out."""
    draft = launch.draft or launch.target
    for order, event in RULE.events(resolved):
        if draft is None:
            return
        wanted, derived = event.facts["wanted"], event.facts["derived"]
        explained = "explained" in event.facts
        yield report_event(
            RULE,
            order,
            event,
            outcome=Outcome.DEGRADES if event.topic == _LET_THROUGH else event.outcome,
            message=event.message if explained else _message(event, wanted, derived),
            detail=event.facts["explained"] if explained else _detail(event),
            values=(_draft_value(draft, derived), _wanted_value(launch, event, wanted)),
            remedies=tuple(_remedies(launch, draft, event, wanted, derived)),
        )
        return


def _message(event: Event, wanted: int, derived: int) -> str:
    if event.topic == _OVERRIDDEN:
        return f"the engine overrides the draft's context length {derived} with {wanted}"
    if event.facts.get("given"):
        return f"the draft's context length {derived} is below `--context-length` {wanted}"
    return f"the draft's context length {derived} is below the target's {wanted}"


def _detail(event: Event) -> str:
    if event.topic == _OVERRIDDEN:
        return (
            "The override is on, so the draft's rotary table is built for the longer context in "
            "memory. Acceptance beyond the length that the draft was trained on is not promised."
        )
    if event.topic == _LET_THROUGH:
        return (
            "This release lets it through with a warning and leaves the draft's rotary table "
            "short: requests past the draft's length may crash the server or accept nothing."
        )
    loaded = event.facts.get("loaded")
    after = f" This comes after {loaded} are loaded." if loaded else ""
    reader = str(event.facts.get("reader", "the draft worker")).capitalize()
    return (
        f"{reader} reads the draft's config with that length and refuses one above the draft's "
        f"own.{after}"
    )


def _draft_value(draft: Checkpoint, derived: int) -> Value:
    value = draft.text_value("draft", length_key(draft))
    return value if value.value is not None else Value("draft", derived, value.origin)


def _wanted_value(launch: Launch, event: Event, wanted: int) -> Value:
    """Return the value that asks for the longer context: the flag, or the target's key."""
    if event.facts.get("given") or launch.target is None:
        for value in event.values:
            if value.origin.kind == "flag":
                return value
    if launch.target is None:
        return Value("target", wanted, event.values[0].origin)
    value = launch.target.text_value("target", length_key(launch.target))
    return value if value.value is not None else Value("target", wanted, value.origin)


def _remedies(
    launch: Launch, draft: Checkpoint, event: Event, wanted: int, derived: int
) -> Iterator[Remedy]:
    keys = event.facts.get("keys", (length_key(draft), "max_position_embeddings"))
    edits = tuple(_edits(draft, wanted, derived, keys))
    unsafe = raising_changes_numerics(draft)
    names = " and ".join(f"`{edit.pointer.rsplit('/', 1)[-1]}`" for edit in edits)
    if edits:
        yield Remedy(
            f"set {names} to {edits[0].after} in {draft.config.name}"
            + (", which changes the rotary frequencies" if unsafe else ""),
            "edit",
            "unsafe" if unsafe else "safe",
            edits=edits,
        )
    if event.outcome is Outcome.ADJUSTS:
        return
    flag = f"{event.facts.get('flag', '--context-length')} {derived}"
    yield Remedy.flag(f"or launch with {flag}; longer requests are then refused", flag)
    if event.topic == _REFUSED and "flag" not in event.facts:
        yield Remedy(
            f"or export {_VARIABLE}=1, which the next shell forgets",
            "environment",
            "safe",
            environment={_VARIABLE: "1"},
        )
        if reaches_draft_alone(launch, draft, edits):
            flag = f"{_OVERRIDES} {shlex.quote(json.dumps(_by_key(edits)))}"
            yield Remedy(
                f"or launch with {flag}, which changes nothing but the draft's length",
                "flag",
                "unsafe" if unsafe else "safe",
                flags=(flag,),
            )


def reaches_draft_alone(launch: Launch, draft: Checkpoint, edits: tuple[Edit, ...]) -> bool:
    """Return whether `--json-model-override-args` with these edits would leave the target as it is.

    One string goes to both models, and is laid over the top level of each config
    (`utils/hf_transformers_utils.py:get_config`, all releases). It misses a target that keeps its
    language model in a nested config, and changes nothing in one that has the value already. With
    a token map the draft worker replaces it up to 0.5.16.
    """
    target, flags = launch.target, launch.flags
    if target is None or launch.draft is None or not edits or draft.text_pointer:
        return False
    if {"json-model-override-args", "speculative-token-map"} & flags.keys():
        return False
    return bool(target.text_pointer) or all(
        target.config.get(edit.pointer) == edit.after for edit in edits
    )


def _by_key(edits: tuple[Edit, ...]) -> dict[str, int]:
    return {edit.pointer.rsplit("/", 1)[-1]: edit.after for edit in edits}


def _edits(draft: Checkpoint, wanted: int, derived: int, keys: tuple[str, ...]) -> Iterator[Edit]:
    """Yield what to write so that the derived length becomes `wanted`.

    Where RoPE scaling multiplies, the stated number grows by the same ratio. Where another key
    than `max_position_embeddings` decides, the rotary table has to grow as well.
    """
    text, prefix = draft.text, draft.text_pointer
    stated = text.get(keys[0])
    for key in dict.fromkeys(keys):
        before = text.get(key, MISSING)
        if stated is None:
            after = wanted
        elif isinstance(stated, int) and derived > 0 and stated > 0:
            after = -(-wanted * stated // derived)
        else:
            return
        if isinstance(before, int) and before >= after:
            continue
        yield Edit(draft.config.name, f"{prefix}/{key}", before, after)


RULE = Rule(
    name="draft-context-shorter",
    summary="the draft's context length is shorter than the one it is given",
    since="0.1.0",
    engines=("sglang", "vllm"),
    needs=(),
    topics=(_REFUSED, _OVERRIDDEN, _LET_THROUGH),
    check=check,
)
