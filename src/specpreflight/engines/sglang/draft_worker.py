"""What the draft's worker refuses once both models are loaded.

Restates the constructors in `speculative/eagle_worker_v2.py`, `multi_layer_eagle_worker_v2.py` and
`models/llama_eagle3.py:LlamaForCausalLMEagle3.__init__`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.pair import Pair
from specpreflight.models.finding import Confidence, Outcome, Stage, Value
from specpreflight.models.resolved import Event
from specpreflight.models.weights import weights_of

#: MTP heads that are loaded by their target's class, which asserts one layer.
_ONE_MTP_LAYER: Final = frozenset(
    {
        "BailingMoeForCausalLMNextN",
        "DeepseekV3ForCausalLMNextN",
        "Glm4MoeForCausalLMNextN",
        "Glm4MoeLiteForCausalLMNextN",
        "GlmMoeDsaForCausalLMNextN",
        "GlmOcrForConditionalGenerationNextN",
    }
)


def draft_worker_events(pair: Pair) -> Iterator[Event]:
    """Yield what the constructors of the draft's model and worker raise."""
    yield from _eagle3_config(pair)
    yield from _one_mtp_layer(pair)
    yield from _modelopt_without_algorithm(pair)
    yield from _tree_without_tokens(pair)
    yield from _multi_layer_tokens(pair)
    yield from _sampling_vocabulary(pair)


def _eagle3_config(pair: Pair) -> Iterator[Event]:
    """Yield what `LlamaForCausalLMEagle3` raises on its config.

    Where the tensors are at hand, the restated loader says the same and more.
    """
    checkpoint = pair.draft_checkpoint
    if pair.draft_class != "LlamaForCausalLMEagle3" or checkpoint is None:
        return
    table = weights_of(checkpoint)
    if table is not None and not table.unseen:
        return
    config, layers = pair.draft.config, pair.draft.config.get("num_hidden_layers")
    if pair.knowledge.probe("eagle3.many-layers") is False and layers not in (1, None):
        yield _refused(
            f"this release runs EAGLE-3 drafts of one layer, the config says {layers}",
            "EAGLE3 currently only supports 1 layer",
            "ValueError",
            pair.draft_value("/num_hidden_layers"),
        )
    elif not config.has("draft_vocab_size") and config.get("tie_word_embeddings") is False:
        yield _refused(
            "`draft_vocab_size` is missing; null would mean the target's whole vocabulary",
            f"'{config.class_name}' object has no attribute 'draft_vocab_size'",
            "AttributeError",
            pair.draft_value("/draft_vocab_size"),
        )


def _refused(
    message: str,
    said: str,
    exception: str,
    values: tuple[Value, ...],
    topic: str = "eagle3.config-unfit",
    source: str = "models/llama_eagle3.py:LlamaForCausalLMEagle3.__init__",
) -> Event:
    return Event(
        topic,
        Outcome.CRASHES,
        Stage.WEIGHTS,
        message,
        engine_message=said,
        exception=exception,
        source=source,
        values=values,
    )


def _one_mtp_layer(pair: Pair) -> Iterator[Event]:
    """Yield what `load_weights(is_nextn=True)` raises on the number of layers, in all releases."""
    name, checkpoint = pair.draft_class, pair.draft_checkpoint
    if name not in _ONE_MTP_LAYER or checkpoint is None:
        return
    table = weights_of(checkpoint)
    if name == "DeepseekV3ForCausalLMNextN" and table is not None and not table.unseen:
        return  # the restated loader says it
    config, key = pair.draft.config, "num_nextn_predict_layers"
    count = config.get(key)
    if count is UNKNOWN:
        return
    if not config.has(key):
        said, exception = f"{key} is not in the config", "ValueError"
    elif isinstance(count, int) and count != 1:
        said, exception = "Only 1 nextn layer is supported", "AssertionError"
    else:
        return
    shown = "missing" if exception == "ValueError" else str(count)
    yield _refused(
        f"`{key}` is {shown}; `{name}` loads exactly one layer",
        said,
        exception,
        pair.draft_value(f"/{key}"),
        "config.mtp-layers",
        f"models/{'glm4_moe' if name.startswith('Glm4') else 'deepseek_v2'}.py:load_weights",
    )


def _modelopt_without_algorithm(pair: Pair) -> Iterator[Event]:
    """Yield what `get_quant_config` raises on ModelOpt's file of an unquantised draft (0.4.9 on).

    `LlamaForCausalLMEagle3` is let through by name.
    """
    method, checkpoint = str(pair.draft.quantization), pair.draft_checkpoint
    if checkpoint is None or not method.startswith("modelopt") or not pair.since("0.4.9"):
        return
    if pair.draft_class == "LlamaForCausalLMEagle3" or pair.draft.config.get("quantization_config"):
        return
    written = checkpoint.facts.get("documents", {}).get("hf_quant_config.json")
    if not isinstance(written, Mapping):
        return
    producer, section = written.get("producer"), written.get("quantization")
    if not isinstance(producer, Mapping) or not isinstance(section, Mapping):
        return
    if not str(producer.get("name", "")).startswith("modelopt") or section.get("quant_algo"):
        return
    yield Event(
        "quantization.modelopt-without-algorithm",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"the draft is loaded as {method}, and its hf_quant_config.json names no algorithm",
        engine_message=(
            f"Invalid quant_config, quantization method: {method},hf architectures: "
            f"{pair.draft.architecture}. "
        ),
        exception="ValueError",
        source="model_loader/weight_utils.py:get_quant_config",
        values=pair.draft_value("/architectures/0"),
    )


def _tree_without_tokens(pair: Pair) -> Iterator[Event]:
    """Yield the event for a tree whose size nobody chose.

    `None` passes the hook in all releases; the first size that is computed from it is that of the
    target's graphs (`num_tokens_per_bs`), or of the tree in the first draft.
    """
    topk = pair.setting("speculative_eagle_topk")
    if pair.algorithm not in ("EAGLE", "EAGLE3", "STANDALONE"):
        return
    steps = pair.setting("speculative_num_steps")
    if not isinstance(topk, int) or topk < 2 or not isinstance(steps, int):
        return
    if not pair.is_unset("speculative_num_draft_tokens"):
        return
    yield Event(
        "arguments.tree-without-tokens",
        Outcome.CRASHES,
        Stage.WARMUP,
        f"top-k {topk} needs `--speculative-num-draft-tokens`, which is not given",
        exception="TypeError",
        source="model_executor/cuda_graph_runner.py:CudaGraphRunner.__init__",
        values=(
            pair.args.value("speculative_eagle_topk"),
            pair.args.value("speculative_num_draft_tokens"),
        ),
        confidence=Confidence.INFERRED,
    )


def _multi_layer_tokens(pair: Pair) -> Iterator[Event]:
    """Yield the event for a tree in multi-layer EAGLE (0.5.13 on), which drafts chains only."""
    if not pair.since("0.5.13") or not pair.setting("enable_multi_layer_eagle"):
        return
    steps = pair.setting("speculative_num_steps")
    tokens = pair.setting("speculative_num_draft_tokens")
    if not isinstance(steps, int) or not isinstance(tokens, int) or tokens == steps + 1:
        return
    yield Event(
        "arguments.multi-layer-tokens",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"multi-layer EAGLE needs {steps + 1} draft tokens for {steps} steps, got {tokens}",
        engine_message=(
            "multi-layer EAGLE requires speculative_num_draft_tokens == speculative_num_steps + 1"
        ),
        exception="AssertionError",
        source="speculative/multi_layer_eagle_worker_v2.py",
        values=(
            pair.args.value("speculative_num_steps"),
            pair.args.value("speculative_num_draft_tokens"),
        ),
    )


def _sampling_vocabulary(pair: Pair) -> Iterator[Event]:
    """Yield the event for rejection sampling with a draft of a reduced vocabulary (0.5.14 on)."""
    if not pair.setting("speculative_use_rejection_sampling"):
        return
    reduced, whole = pair.draft.config.get("draft_vocab_size"), pair.target.text.get("vocab_size")
    if not isinstance(reduced, int) or not isinstance(whole, int) or reduced == whole:
        return
    yield Event(
        "arguments.rejection-sampling-vocabulary",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"rejection sampling needs one vocabulary, the draft has {reduced} of {whole} tokens",
        engine_message=(
            "--speculative-use-rejection-sampling requires the draft and target to share one "
            f"vocab, but the draft vocab ({reduced})"
        ),
        exception="ValueError",
        source="speculative/eagle_worker_v2.py",
        values=(
            *pair.draft_value("/draft_vocab_size"),
            *pair.target_value(f"{pair.target.pointer}/vocab_size"),
        ),
    )
