"""What kind of draft a config.json describes, whatever engine will read it."""

from __future__ import annotations

from enum import Enum
from typing import Any

from specpreflight.models.checkpoint import Checkpoint


class DraftFormat(str, Enum):
    """The families of drafts; the value is the word that reports use."""

    EAGLE = "EAGLE"
    EAGLE3 = "EAGLE-3"
    DFLASH = "DFlash"
    DSPARK = "DSpark"
    MTP = "MTP"
    MEDUSA = "Medusa"
    STANDALONE = "standalone"


#: Parts of architecture names in lower case, most telling first (SGLang `srt/models`, vLLM
#: `model_executor/models/registry.py`, speculators' and AngelSlim's exporters).
_ARCHITECTURES = (
    ("eagle3", DraftFormat.EAGLE3),
    ("eagle-3", DraftFormat.EAGLE3),
    ("eagle", DraftFormat.EAGLE),
    ("dspark", DraftFormat.DSPARK),
    ("dflash", DraftFormat.DFLASH),
    ("medusa", DraftFormat.MEDUSA),
)

#: How the names of MTP layers end.
_MTP = ("NextN", "MTP", "MTPModel")

_SPECULATORS = {
    "eagle": DraftFormat.EAGLE,
    "eagle3": DraftFormat.EAGLE3,
    "dflash": DraftFormat.DFLASH,
    "mtp": DraftFormat.MTP,
}


def draft_format(draft: Checkpoint) -> DraftFormat:
    """Return what a checkpoint is as a draft; a plain model is `STANDALONE`.

    The architecture's name decides, then speculators' own key, then the keys that only heads have
    (`eagle_config`, `draft_vocab_size`, `dflash_config`). An EAGLE-3 head under a plain name such
    as `LlamaForCausalLM` is recognised by those.
    """
    root: Any = draft.config.root
    architecture = first_architecture(draft) or ""
    lower = architecture.lower()
    for part, found in _ARCHITECTURES:
        if part in lower:
            return found
    if architecture.endswith(_MTP):
        return DraftFormat.MTP
    stated = root.get("speculators_model_type")
    if isinstance(stated, str) and stated in _SPECULATORS:
        return _SPECULATORS[stated]
    if "dflash_config" in root:
        return DraftFormat.DFLASH
    if "eagle_config" in root or "draft_vocab_size" in root:
        return DraftFormat.EAGLE3
    return DraftFormat.STANDALONE


def first_architecture(checkpoint: Checkpoint) -> str | None:
    """Return `architectures[0]`, `None` where the key is missing or not a list of names."""
    architectures: Any = checkpoint.config.root.get("architectures")
    if isinstance(architectures, list) and architectures and isinstance(architectures[0], str):
        return architectures[0]
    return None


def has_mtp_layers(checkpoint: Checkpoint) -> bool:
    """Return whether the config says that the checkpoint carries MTP (NextN) layers of its own."""
    text: Any = checkpoint.text
    return any(
        isinstance(text.get(key), int) and text[key] > 0
        for key in ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
    )
