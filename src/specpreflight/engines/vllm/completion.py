"""The vLLM command line for checkpoints that a user names beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from specpreflight.engines.vllm.arguments import parse
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.models.checkpoint import Checkpoint

#: What `check TARGET DRAFT` assumes where nothing says how many tokens to draft.
_ASSUMED_TOKENS = 3


def complete(
    words: Sequence[str],
    target: Checkpoint | None,
    draft: Checkpoint | None,
    knowledge: Knowledge,
) -> tuple[str, ...]:
    """Return the words with the two paths added where they lack them.

    Without any words the draft's format decides the method: vLLM's own detection looks at the
    path's text, which says nothing of a folder called `draft`.
    """
    parsed = parse(words, knowledge).values
    completed = list(words)
    if target is not None and parsed.get("model") is None:
        completed = ["--model", target.given, *completed]
    given = parsed.get("speculative_config")
    keys: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    if draft is None or "model" in keys or parsed.get("spec_model") is not None:
        return tuple(completed)
    keys["model"] = draft.given
    if not words:
        keys |= {"method": _method_of(draft), "num_speculative_tokens": _tokens_of(draft)}
    return (*completed, "--speculative-config", json.dumps(keys))


def _method_of(draft: Checkpoint) -> str:
    root = draft.config.root if isinstance(draft.config.root, dict) else {}
    if root.get("speculators_model_type") in ("eagle3", "peagle", "dflash", "dspark"):
        kind = str(root["speculators_model_type"])
        return "eagle3" if kind == "peagle" else kind
    names = root.get("architectures")
    name = str(names[0]) if isinstance(names, list) and names else ""
    if "DSpark" in name:
        return "dspark"
    if "dflash_config" in root or "DFlash" in name:
        return "dflash"
    if "Eagle3" in name or "draft_vocab_size" in root or "eagle_config" in root:
        return "eagle3"
    if "Eagle" in name:
        return "eagle"
    if "NextN" in name or "MTP" in name or root.get("num_nextn_predict_layers"):
        return "mtp"
    return "draft_model"


def _tokens_of(draft: Checkpoint) -> int:
    root = draft.config.root if isinstance(draft.config.root, dict) else {}
    block = root.get("block_size")
    return block - 1 if isinstance(block, int) and block > 1 else _ASSUMED_TOKENS
