"""Which key of a config states its context length, and what raising it would change."""

from __future__ import annotations

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.rope import read_rope

#: In the order in which SGLang takes them; the first that is not null wins.
#: Source: SGLang `get_context_length` (`hf_transformers_utils.py`, from 0.5.10
#: `utils/hf_transformers/common.py`), the same text in 0.4.6.post5 to 0.5.23.
LENGTH_KEYS = (
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
    "model_max_length",
    "max_position_embeddings",
)

#: Scalings whose frequencies depend on `max_position_embeddings` itself.
_DEPENDENT_SCALINGS = frozenset({"dynamic", "longrope", "su"})


def length_key(checkpoint: Checkpoint) -> str:
    """Return the key that decides, `max_position_embeddings` where none is stated."""
    text = checkpoint.text
    return next((key for key in LENGTH_KEYS if text.get(key) is not None), LENGTH_KEYS[-1])


def raising_changes_numerics(checkpoint: Checkpoint) -> bool:
    """Return whether another `max_position_embeddings` would change the rotary frequencies.

    Dynamic NTK and longrope compute them from the length; YaRN does where the original length is
    not stated, since it then is the length. Source: transformers `modeling_rope_utils.py`
    (`_compute_dynamic_ntk_parameters`, `_compute_yarn_parameters`,
    `_compute_longrope_parameters`), SGLang `srt/layers/rotary_embedding.py:get_rope`.
    """
    rope = read_rope(checkpoint)
    if rope.kind_name == "yarn":
        return rope.original is None
    return rope.kind_name in _DEPENDENT_SCALINGS
