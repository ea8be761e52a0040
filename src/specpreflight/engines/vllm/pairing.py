"""What a target and a draft do not share once both are loaded: layers, cache pages, back ends.

Restates parts of vLLM's workers: `v1/core/kv_cache_utils.py`, the attention selector,
`model_executor/models/qwen3_dflash.py` and the loops over a target's layers.
"""

from __future__ import annotations

from collections.abc import Sequence

from specpreflight.engines.vllm.config_parts import ConfigObject
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model
from specpreflight.engines.vllm.options import Options
from specpreflight.engines.vllm.record import Record, engine_value, flag_value
from specpreflight.engines.vllm.speculation import Speculation
from specpreflight.models.finding import Confidence, Outcome, Stage

#: Drafts whose residual stream leaves float16's range (public reports).
_OVERFLOWING = frozenset({"DFlash2DraftModel", "DFlash2BeamDraftModel"})


def check_layers(
    record: Record, target: Model, draft: Model, found: Speculation, layers: Sequence[int] | None
) -> None:
    """Compare the layers whose states the draft wants with those that the target has.

    A state is taken before the layer of that number, so that one past the last never comes.
    """
    count = target.text.get("num_hidden_layers")
    if layers is None or not isinstance(count, int):
        return
    if not all(isinstance(layer, int) for layer in layers) or max(layers) <= count:
        return
    wanted = max(layers)
    record.add(
        "architecture.aux-layers-missing",
        Outcome.CRASHES,
        Stage.WARMUP,
        f"the draft wants the states before layer {wanted}; the target has {count} layers",
        text="mat1 and mat2 shapes cannot be multiplied",
        source="model_executor/models/interfaces.py:EagleModelMixin",
        values=(
            engine_value("layers wanted", list(layers), "set_aux_hidden_state_layers"),
            target.value("num_hidden_layers"),
        ),
        facts={"method": found.method},
    )


def check_cache_pages(
    record: Record, knowledge: Knowledge, options: Options, target: Model, draft: Model
) -> None:
    """Restate `get_kv_cache_config` of 0.10: the pages of all layers have one size."""
    if knowledge.since("0.11.0") or options.tensor_parallel_size < 1:
        return
    sizes = [_row_size(model.text, options.tensor_parallel_size) for model in (target, draft)]
    if None in sizes or sizes[0] == sizes[1]:
        return
    record.add(
        "architecture.cache-pages-differ",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"a cached token takes {sizes[1]} numbers a layer in the draft, {sizes[0]} in the target",
        text="NotImplementedError",
        source="v1/core/kv_cache_utils.py:get_kv_cache_config",
        values=(target.value("num_key_value_heads"), draft.value("num_key_value_heads")),
    )


def _row_size(text: ConfigObject, tensor: int) -> int | None:
    """Return how many numbers one token takes in the cache of one layer and GPU."""
    rank, rope = text.get("kv_lora_rank"), text.get("qk_rope_head_dim")
    if isinstance(rank, int) and isinstance(rope, int):
        return rank + rope
    heads, width = text.get("num_attention_heads"), text.get("hidden_size")
    size = text.get("head_dim")
    if size is None and isinstance(heads, int) and isinstance(width, int) and heads > 0:
        size = width // heads
    groups = text.get("num_key_value_heads") or heads
    if not isinstance(size, int) or not isinstance(groups, int):
        return None
    return 2 * max(1, groups // tensor) * size


def check_backend(
    record: Record,
    knowledge: Knowledge,
    options: Options,
    target: Model,
    draft: Model,
    found: Speculation,
    runner: str,
) -> None:
    """Restate the attention selector for a draft that takes over the target's MLA back end.

    From 0.22.0 on runner V1 asks `attention_backend` of the speculative config instead, from
    0.25.0 on so does DFlash on runner V2.
    """
    backend = options.attention_backend
    own_key = runner == "V1" and knowledge.since("0.22.0")
    own_key = own_key or (found.method == "dflash" and knowledge.since("0.25.0"))
    if backend is None or "MLA" not in backend or own_key or not knowledge.since("0.12.0"):
        return
    if target.text.get("kv_lora_rank") is None or draft.text.get("kv_lora_rank") is not None:
        return
    record.add(
        "attention.draft-backend",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"the draft takes over the back end `{backend}`, which can do MLA only",
        text=(
            f"Selected backend AttentionBackendEnum.{backend} is not valid for this configuration. "
            "Reason: ['non-MLA not supported']"
        ),
        source="platforms/cuda.py:get_attn_backend_cls",
        values=(
            flag_value("attention backend", backend, "--attention-backend"),
            draft.value("architectures"),
        ),
    )


def check_numerics(record: Record, options: Options, target: Model, draft: Model) -> None:
    """Add what is reported of drafts that float16 is too narrow for."""
    asked = options.dtype if options.dtype != "auto" else None
    written = asked or target.text.get("torch_dtype") or target.text.get("dtype")
    name = next((name for name in draft.architectures if name in _OVERFLOWING), None)
    if name is None or str(written).removeprefix("torch.") not in ("float16", "half"):
        return
    record.add(
        "architecture.draft-overflows",
        Outcome.ACCEPTS_NOTHING,
        Stage.SERVING,
        f"in float16 the states of `{name}` overflow, and no token is accepted",
        source="model_executor/models/qwen3_dflash2.py",
        values=(
            flag_value("dtype", written, "--dtype"),
            draft.value("architectures"),
        ),
        confidence=Confidence.OBSERVED,
    )


def check_head(
    record: Record,
    knowledge: Knowledge,
    target: Model,
    draft: Model,
    found: Speculation,
    runner: str,
) -> None:
    """Restate how runner V2 of 0.24 shares the target's head with a DFlash draft.

    It does so only where both vocabularies have one size; a draft without a head of its own then
    keeps an empty one.
    """
    window = knowledge.since("0.24.0") and not knowledge.since("0.25.0")
    if found.method != "dflash" or runner != "V2" or not window:
        return
    ours = draft.text.get("draft_vocab_size") or draft.text.get("vocab_size")
    theirs = target.text.get("vocab_size")
    if ours is None or theirs is None or ours == theirs:
        return
    record.add(
        "vocabulary.head-not-shared",
        Outcome.ACCEPTS_NOTHING,
        Stage.SERVING,
        f"the draft's {ours} tokens are not the target's {theirs}, so the head is not shared",
        source="v1/worker/gpu/spec_decode/dflash/utils.py:load_dflash_model",
        values=(draft.value("vocab_size"), target.value("vocab_size")),
        confidence=Confidence.INFERRED,
    )
