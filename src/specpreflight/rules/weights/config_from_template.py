"""The draft's config was left as its template had it.

## What it checks
Numbers that a training template or a library default puts into a draft's config and that the
target's config contradicts: a context of 2048, 4096 or 131072, a vocabulary of 32000, RoPE theta
10000 (or absent), and token ids of another family. Two or more together count.

## What the engine does
Nothing notices that a number is a default. The context stops the launch where it is shorter than
the target's; another theta rotates the draft's positions otherwise than it was trained.

## Example
`max_position_embeddings: 2048` and no `rope_theta` beside a target with 131072 and 500000: the
template `llama3-8B-eagle3.json`, of which SpecForge once copied eleven fields and not these.

## Fix
Take the values from the target's config, where the draft was trained with them.

## Fix safety
Nothing is edited here: the rules about context and RoPE offer what is safe.

## How sure
Inferred: the pattern is that of the exporter, the values may still be what was meant.

## References
SpecForge `specforge/utils.py:generate_draft_model_config` and `configs/*.json`; SafeAILab/EAGLE
`eagle/traineagle3/config.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_DEFAULTS: dict[str, tuple[object, ...]] = {
    "max_position_embeddings": (2048, 4096, 131072),
    "vocab_size": (32000,),
    "rope_theta": (10000, 10000.0, None),
    "bos_token_id": (1, 128000, 151643),
}
_FORMATS = (DraftFormat.EAGLE, DraftFormat.EAGLE3, DraftFormat.DFLASH)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report two or more defaults that the target contradicts."""
    target, draft = launch.target, launch.draft
    if target is None or draft is None or draft_format(draft) not in _FORMATS:
        return
    left = [key for key in _DEFAULTS if _is_left(key, draft, target)]
    if len(left) < 2:
        return
    keys = ", ".join(f"`{key}`" for key in left)
    yield Finding(
        RULE.name,
        Outcome.STARTS,
        f"likely copied from a template: {keys}"[:100],
        confidence=Confidence.INFERRED,
        detail=f"{exporter(draft)} The target's config says otherwise for each of them.",
        values=tuple(_compared(left, draft, target)),
        remedies=(
            Remedy("compare the draft's config with its training run", "manual", "placeholder"),
        ),
    )


def _is_left(key: str, draft: Checkpoint, target: Checkpoint) -> bool:
    ours, theirs = _read(draft, key), _read(target, key)
    return ours in _DEFAULTS[key] and theirs is not None and ours != theirs


def _read(checkpoint: Checkpoint, key: str) -> object:
    """Return a key of the language model; theta may stand in `rope_parameters`."""
    text = checkpoint.text
    nested = text.get("rope_parameters")
    if key == "rope_theta" and isinstance(nested, dict) and "rope_theta" in nested:
        return nested["rope_theta"]
    return text.get(key)


def _compared(keys: list[str], draft: Checkpoint, target: Checkpoint) -> Iterator[Value]:
    for key in keys:
        yield draft.text_value(f"draft {key}", key)
        yield target.text_value(f"target {key}", key)


def exporter(draft: Checkpoint) -> str:
    """Return a sentence about who wrote the config, as far as it shows."""
    root = draft.config.root
    nested = root.get("eagle_config")
    if "speculators_model_type" in root:
        return "Written by speculators."
    if isinstance(nested, dict) and {"next_layer_regular", "use_last_layernorm"} & nested.keys():
        return "Written by ModelOpt."
    if "dflash_config" in root:
        return "Written in the DFlash format."
    if root.get("architectures") == ["LlamaForCausalLMEagle3"]:
        return "Written by SpecForge, or in its format."
    if root.get("architectures") == ["LlamaForCausalLM"] and "draft_vocab_size" in root:
        return "Written by SafeAILab/EAGLE."
    return "Who wrote it does not show."


RULE = Rule(
    name="config-from-template",
    summary="the draft's config was left as its template had it",
    since="0.1.0",
    needs=("target.config", "draft.config"),
    check=check,
)
