"""What each speculative method demands of the keys, the draft and the target.

Restates the checks of vLLM `config/speculative.py`: the branches of
`SpeculativeConfig.__post_init__` and its validator `_verify_args`, in the order of each release.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model
from specpreflight.engines.vllm.options import Options
from specpreflight.engines.vllm.record import Record, engine_value, speculative_value
from specpreflight.engines.vllm.speculation import Speculation
from specpreflight.models.finding import Outcome, Stage, Value

_POST_INIT = "config/speculative.py:SpeculativeConfig.__post_init__"
_VERIFY = "config/speculative.py:SpeculativeConfig._verify_args"

#: MTP types whose layers are trained for more than one step, with the release that knows it.
_MULTI_STEP = {"step3p5_mtp": "0.23.0", "inkling_mtp": "0.26.0", "step5_mtp": "0.33.0"}

_NO_TOKENS = (
    "num_speculative_tokens must be provided with speculative model unless the draft model config "
    "contains an n_predict parameter."
)


def check_without_draft(
    record: Record, knowledge: Knowledge, found: Speculation, target: Model
) -> None:
    """Restate the branches for methods that need no draft checkpoint."""
    found.draft = target
    if found.method in ("ngram", "ngram_gpu"):
        _check_lookup(record, knowledge, found)
    elif found.method == "suffix":
        found.draft = None
        _check_suffix(record, found)


def _check_lookup(record: Record, knowledge: Knowledge, found: Speculation) -> None:
    """Restate the n-gram window: both 5 where none is given, one given stands for both."""
    least, most = found.keys.get("prompt_lookup_min"), found.keys.get("prompt_lookup_max")
    if least is None and most is None:
        least = most = 5
    least, most = (most if least is None else least), (least if most is None else most)
    for name, value in (("prompt_lookup_min", least), ("prompt_lookup_max", most)):
        if value < 1 and not knowledge.since("0.11.1"):
            _refuse_key(record, name, value, f"{name}={value} must be > 0")
    if least > most:
        text = f"prompt_lookup_min={least} must be <= prompt_lookup_max={most}"
        _refuse_key(record, "prompt_lookup_min", least, text)


def _check_suffix(record: Record, found: Speculation) -> None:
    """Restate `_validate_suffix_decoding`; its package is not part of a default install."""
    record.refuse(
        "arguments.suffix-package-missing",
        Stage.ARGUMENTS,
        "method `suffix` needs the package arctic-inference, which vLLM does not install",
        text=(
            "Arctic Inference is required for suffix decoding. Install via "
            "`pip install arctic-inference==0.1.1`."
        ),
        exception="ImportError",
        source="config/speculative.py:_validate_suffix_decoding",
        values=(speculative_value("method", "suffix"),),
    )
    if found.num_tokens is None:
        found.num_tokens = found.keys.get("suffix_decoding_max_tree_depth")
    for name, low, high in (
        ("suffix_decoding_max_tree_depth", 1, None),
        ("suffix_decoding_max_cached_requests", 0, None),
        ("suffix_decoding_max_spec_factor", 0, None),
        ("suffix_decoding_min_token_prob", 0, 1),
    ):
        value = found.keys.get(name)
        if value is not None and (value < low or (high is not None and value > high)):
            limit = f"must be >= {low}" if high is None else f"must be in [{low}, {high}]"
            _refuse_key(record, name, value, f"{name}={value} {limit}")


def check_mtp(
    record: Record, knowledge: Knowledge, found: Speculation, draft: Model, target: Model
) -> None:
    """Restate what follows the detection of an MTP draft."""
    newest = target.config.get("model_type") == "deepseek_v41" and knowledge.since("0.30.0")
    if newest and found.method == "mtp":
        record.refuse(
            "architecture.method-unsupported",
            Stage.DRAFT_CONFIG,
            "DeepSeek V4.1 has no MTP draft; its checkpoints need method `dspark`",
            text="DeepSeek V4.1 has no classic-MTP draft: its checkpoints ship DSpark stages",
            source=_POST_INIT,
            values=(speculative_value("method", found.keys.given.get("method")),),
        )
    if found.num_tokens is None:
        record.refuse(
            "arguments.tokens-missing",
            Stage.DRAFT_CONFIG,
            "an MTP draft needs `num_speculative_tokens`; vLLM compares the missing value with 1",
            text="'>' not supported between instances of 'NoneType' and 'int'",
            exception="TypeError",
            source=_POST_INIT,
            values=(speculative_value("num_speculative_tokens", None),),
        )
        return
    if not isinstance(found.num_tokens, int) or found.num_tokens <= 1:
        return
    known = _MULTI_STEP.get(str(draft.config.get("model_type")))
    if known is None or not knowledge.since(known):
        record.add(
            "launch.mtp-layer-reused",
            Outcome.ADJUSTS,
            Stage.SERVING,
            f"one MTP layer drafts {found.num_tokens} tokens in a row, which lowers acceptance",
            text=(
                "Enabling num_speculative_tokens > 1 will run multiple times of forward on same "
                "MTP layer,which may result in lower acceptance rate"
            ),
            source=_POST_INIT,
            values=(speculative_value("num_speculative_tokens", found.num_tokens),),
        )


def settle_tokens(record: Record, knowledge: Knowledge, found: Speculation, draft: Model) -> None:
    """Restate how `num_speculative_tokens` follows from the draft, and its divisibility."""
    n_predict = draft.config.get("n_predict")
    if found.method == "dspark" and knowledge.since("0.31.0"):
        if found.num_tokens is None:
            block = draft.config.get("block_size")
            found.num_tokens = draft.config.get("dspark_block_size") if block is None else block
    elif n_predict is not None:
        if found.num_tokens is None:
            found.num_tokens = n_predict
        else:
            _check_divisible(record, found, draft, n_predict)
    if not isinstance(found.num_tokens, int) and not _recorded(record, "arguments.tokens-missing"):
        _refuse_token_type(record, knowledge, found)
    _check_tree(record, found)


def _check_tree(record: Record, found: Speculation) -> None:
    """Restate `ast.literal_eval(self.speculative_token_tree)` (the key is gone from 0.22.0 on)."""
    tree = found.keys.get("speculative_token_tree")
    if not isinstance(tree, str):
        return
    try:
        literal_eval(tree)
    except (ValueError, SyntaxError) as error:
        text = re.sub(r" at 0x[0-9a-f]+", "", str(error))
        _refuse_key(record, "speculative_token_tree", tree, text)


def _check_divisible(record: Record, found: Speculation, draft: Model, n_predict: Any) -> None:
    tokens = found.num_tokens
    if not isinstance(tokens, int) or not isinstance(n_predict, int) or tokens <= n_predict:
        return
    layers = draft.checkpoint
    place: tuple[Value, ...] = ()
    if layers is not None:
        names = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
        found_name = next((name for name in names if layers.config.get(f"/{name}") is not None), "")
        place = (layers.value("n_predict", f"/{found_name}"),) if found_name else ()
    values = (speculative_value("num_speculative_tokens", tokens), *place)
    if n_predict == 0:
        record.refuse(
            "arguments.tokens-not-divisible",
            Stage.DRAFT_CONFIG,
            "the draft says that it has 0 MTP layers, and vLLM divides by that number",
            text="integer modulo by zero",
            exception="ZeroDivisionError",
            source=_POST_INIT,
            values=values,
        )
    elif tokens % n_predict != 0:
        record.refuse(
            "arguments.tokens-not-divisible",
            Stage.DRAFT_CONFIG,
            f"`num_speculative_tokens` {tokens} is no multiple of the draft's {n_predict} layers",
            text=f"num_speculative_tokens:{tokens} must be divisible by n_predict={n_predict}",
            source=_POST_INIT,
            values=values,
        )


def _refuse_token_type(record: Record, knowledge: Knowledge, found: Speculation) -> None:
    """Record what a release makes of missing tokens, or up to 0.11.0 of a text or float."""
    value = found.num_tokens
    kind = type(value).__name__
    exception = "TypeError"
    if knowledge.since("0.22.0"):
        text = "A speculative model was provided, but `num_speculative_tokens` was not provided"
        exception = "ValidationError"
    elif knowledge.since("0.17.0"):
        text = (
            "A speculative model was provided, but neither `speculative_token_tree` nor "
            "`num_speculative_tokens` was provided"
        )
        exception = "ValidationError"
    elif knowledge.since("0.10.1"):
        text = f"'{kind}' object cannot be interpreted as an integer"
    else:
        return
    record.refuse(
        "arguments.tokens-missing" if value is None else "arguments.speculative-value-invalid",
        Stage.ARGUMENTS,
        "the speculative config has a draft but no `num_speculative_tokens`"
        if value is None
        else f"`num_speculative_tokens` is {value!r}, which vLLM cannot count with",
        text=text,
        exception=exception,
        source=_POST_INIT,
        values=(speculative_value("num_speculative_tokens", value),),
        facts={"key": "num_speculative_tokens", "suggestion": None},
    )


def check_draft(
    record: Record, knowledge: Knowledge, found: Speculation, draft: Model, target: Model
) -> None:
    """Restate the checks of single drafts that stand before the parallel sizes."""
    tokens = found.num_tokens
    counted = isinstance(tokens, int)
    if counted and "ParseAuxMTPModel" in draft.architectures and tokens != 1:
        _refuse_key(
            record, "num_speculative_tokens", tokens, "Parse 3.5 has only one trained MTP step"
        )
    single = knowledge.since("0.26.0") and not knowledge.since("0.28.0")
    if single and draft.config.get("model_type") == "inkling_mtp" and tokens != 1:
        text = "Inkling MTP currently supports exactly one speculative token"
        _refuse_key(record, "num_speculative_tokens", tokens, text)
    block = draft.config.get("dspark_block_size")
    blocked = single and found.method == "dspark" and isinstance(block, int)
    if blocked and isinstance(tokens, int) and tokens < block:
        text = f"DSpark requires num_speculative_tokens >= dspark_block_size ({block})"
        _refuse_key(record, "num_speculative_tokens", tokens, text)
    top = found.keys.get("dspark_draft_topk")
    if top is not None and found.method != "dspark":
        text = "dspark_draft_topk is only supported by DSpark"
        _refuse_key(record, "dspark_draft_topk", top, text)
    refiner = found.method == "dflash" and any(
        name in ("Qwen3XPressModel", "DFlashQwen3XPressModel") for name in draft.architectures
    )
    if found.keys.get("xpress_topc") is not None and not refiner:
        text = "xpress_topc is only supported by XPress"
        _refuse_key(record, "xpress_topc", found.keys.get("xpress_topc"), text)
    if found.method == "dspark" and knowledge.since("0.29.0"):
        _check_omni(record, draft, target)


def _check_omni(record: Record, draft: Model, target: Model) -> None:
    """Restate the first test of `_validate_qwen3_omni_dspark`; the others need such a draft."""
    omni = target.config.get("model_type") == "qwen3_omni_moe"
    if omni and "Qwen3OmniDSparkModel" not in draft.architectures:
        record.refuse(
            "architecture.method-unsupported",
            Stage.DRAFT_CONFIG,
            "a Qwen3-Omni target needs a draft of architecture `Qwen3OmniDSparkModel`",
            text=(
                "Qwen3-Omni DSpark requires a standalone draft checkpoint with "
                "architectures=['Qwen3OmniDSparkModel']; generic Qwen3DSparkModel checkpoints "
                "must be converted first."
            ),
            source="config/speculative.py:_validate_qwen3_omni_dspark",
            values=(draft.value("architectures"),),
        )


def check_after(record: Record, knowledge: Knowledge, found: Speculation) -> None:
    """Restate the last tests of `__post_init__`."""
    shared = found.keys.get("index_share_for_mtp_iteration")
    if shared is not None and (found.method != "mtp" or found.draft is None):
        text = "index_share_for_mtp_iteration is only supported with method='mtp'"
        _refuse_key(record, "index_share_for_mtp_iteration", shared, text)
    adaptive = found.keys.get("enable_adaptive_verification")
    if not adaptive or found.method == "dspark":
        return
    if not knowledge.since("0.30.0"):
        text = "Adaptive verification only supported with DSpark"
        _refuse_key(record, "enable_adaptive_verification", adaptive, text)
    elif found.keys.get("use_local_argmax_reduction"):
        text = (
            "Adaptive verification estimates per-position acceptance from the draft logits, which "
            "use_local_argmax_reduction never materializes. Disable one of them."
        )
        _refuse_key(record, "enable_adaptive_verification", adaptive, text)


def verify_arguments(
    record: Record,
    knowledge: Knowledge,
    found: Speculation,
    options: Options,
    target: Model,
) -> None:
    """Restate `_verify_args`, which runs after everything else of the speculative config."""
    keys = found.keys
    if keys.get("tensor_parallel_size") is not None:
        text = (
            "'tensor_parallel_size' is not a valid argument in the speculative_config. Please "
            "pass 'draft_tensor_parallel_size' instead."
        )
        _refuse_key(record, "tensor_parallel_size", keys.get("tensor_parallel_size"), text)
    tokens = found.num_tokens
    if tokens is None and not _recorded(record, "arguments.tokens-missing"):
        record.refuse(
            "arguments.tokens-missing",
            Stage.ARGUMENTS,
            "the speculative config gives no `num_speculative_tokens`",
            text=_NO_TOKENS,
            source=_VERIFY,
            values=(speculative_value("num_speculative_tokens", None),),
        )
    elif isinstance(tokens, int) and tokens <= 0:
        text = f"Expected num_speculative_tokens to be greater than zero ({tokens})."
        _refuse_key(record, "num_speculative_tokens", tokens, text)
    _check_lm_head(record, found)
    _check_synthetic(record, keys.values, tokens)
    if found.draft is not None:
        check_parallel(record, knowledge, found, options, found.draft)
    _check_vocabulary_keys(record, found)
    _check_fly(record, found)
    threshold = keys.get("disable_by_batch_size")
    if threshold is not None and threshold < 2:
        text = (
            "Expect the batch size threshold of disabling speculative decoding is > 1, but got "
            f"self.disable_by_batch_size={threshold}"
        )
        _refuse_key(record, "disable_by_batch_size", threshold, text)
    _check_target_type(record, knowledge, found, target)
    if not keys.get("use_heterogeneous_vocab") and knowledge.since("0.15.0"):
        _check_vocabulary(record, found, target)


def _check_lm_head(record: Record, found: Speculation) -> None:
    wanted = found.keys.get("draft_lm_head_quantization")
    if wanted is None:
        return
    gemma = found.draft is not None and found.draft.config.get("model_type") == "gemma4_mtp"
    if found.method not in ("eagle", "eagle3", "mtp") or gemma:
        text = f"draft_lm_head_quantization is not supported for method {found.method!r}."
        _refuse_key(record, "draft_lm_head_quantization", wanted, text)


def _check_synthetic(record: Record, keys: Mapping[str, Any], tokens: Any) -> None:
    """Restate `_resolve_synthetic_acceptance_rates` and its counterpart for other methods."""
    rates, length = keys.get("synthetic_acceptance_rates"), keys.get("synthetic_acceptance_length")
    if keys.get("rejection_sample_method") != "synthetic":
        if rates is not None or length is not None:
            _refuse_key(
                record,
                "synthetic_acceptance_rates",
                rates if length is None else length,
                "synthetic_acceptance_rates / synthetic_acceptance_length are only valid with "
                "rejection_sample_method='synthetic'.",
            )
        return
    if (rates is None) == (length is None):
        _refuse_key(
            record,
            "rejection_sample_method",
            "synthetic",
            "rejection_sample_method='synthetic' requires exactly one of "
            "synthetic_acceptance_rates or synthetic_acceptance_length.",
        )
    elif rates is not None and isinstance(tokens, int):
        text = None
        if len(rates) != tokens:
            text = f"synthetic_acceptance_rates must have length {tokens}, got {rates}."
        elif not all(0.0 <= rate <= 1.0 for rate in rates):
            text = f"synthetic_acceptance_rates entries must be in [0, 1], got {rates}."
        elif any(later > earlier for earlier, later in pairwise(rates)):
            text = f"synthetic_acceptance_rates must be non-increasing, got {rates}."
        if text is not None:
            _refuse_key(record, "synthetic_acceptance_rates", rates, text)
    elif length is not None and isinstance(tokens, int) and not 1.0 <= length <= tokens + 1:
        text = f"synthetic_acceptance_length must be in [1, {tokens + 1}], got {length}."
        _refuse_key(record, "synthetic_acceptance_length", length, text)


def check_parallel(
    record: Record, knowledge: Knowledge, found: Speculation, options: Options, draft: Model
) -> None:
    """Restate `ModelConfig.verify_with_parallel_config` for the draft."""
    own = found.has_draft
    tensor = found.draft_tp if own else options.tensor_parallel_size
    pipeline = found.draft_pp if own else options.pipeline_parallel_size
    heads = draft.text.get("num_attention_heads", 0)
    if isinstance(heads, int) and tensor > 0 and heads % tensor != 0:
        record.refuse(
            "parallelism.heads",
            draft.stage if own else Stage.ARGUMENTS,
            f"the {draft.role}'s {heads} attention heads do not divide by tensor parallel {tensor}",
            text=(
                f"Total number of attention heads ({heads}) must be divisible by tensor parallel "
                f"size ({tensor})."
            ),
            source="config/model.py:verify_with_parallel_config",
            values=(
                draft.value("num_attention_heads"),
                engine_value("tensor parallel size", tensor, "--tensor-parallel-size"),
            ),
        )
    if pipeline > 1 and not _supports_pipeline(knowledge, draft):
        record.refuse(
            "parallelism.pipeline-draft",
            draft.stage if own else Stage.ARGUMENTS,
            f"`{_first(draft.architectures)}` cannot run with pipeline parallel size {pipeline}",
            text=(
                "Pipeline parallelism is not supported for this model. Supported models implement "
                "the `SupportsPP` interface."
            ),
            exception="NotImplementedError",
            source="config/model.py:verify_with_parallel_config",
            values=(
                engine_value("pipeline parallel size", pipeline, "--pipeline-parallel-size"),
                engine_value("draft architecture", _first(draft.architectures), "registry"),
            ),
        )


def _supports_pipeline(knowledge: Knowledge, model: Model) -> bool:
    """Tell whether the class has `SupportsPP`; one that is unknown is reported elsewhere."""
    registered = [
        found
        for name in model.architectures
        if (found := knowledge.architectures.get(name)) is not None
    ]
    return not registered or "pp" in registered[0].interfaces


def _check_vocabulary_keys(record: Record, found: Speculation) -> None:
    keys = found.keys
    if not keys.get("use_heterogeneous_vocab"):
        return
    if found.method != "draft_model":
        text = "use_heterogeneous_vocab only works with method='draft_model'"
    elif keys.get("draft_sample_method") not in (None, "greedy"):
        text = (
            "use_heterogeneous_vocab currently only supports greedy draft sampling. Set "
            "draft_sample_method='greedy' (the default) or omit it."
        )
    elif keys.get("use_local_argmax_reduction") and "fly_window_size" in keys.values:
        text = (
            "use_heterogeneous_vocab is not compatible with use_local_argmax_reduction because "
            "token-level intersection requires the full draft logits."
        )
    else:
        return
    _refuse_key(record, "use_heterogeneous_vocab", True, text)


def _check_fly(record: Record, found: Speculation) -> None:
    if found.keys.get("rejection_sample_method") != "fly":
        return
    tokens, window = found.num_tokens, found.keys.get("fly_window_size")
    text = None
    if found.method == "extract_hidden_states":
        text = (
            "FLy is not compatible with method='extract_hidden_states', which does not perform "
            "speculative decoding."
        )
    elif isinstance(tokens, int) and tokens < 2:
        text = "FLy requires num_speculative_tokens to be at least 2."
    elif isinstance(tokens, int) and window is not None and window >= tokens:
        text = "FLy requires fly_window_size to be smaller than num_speculative_tokens."
    if text is not None:
        _refuse_key(record, "rejection_sample_method", "fly", text)
        return
    record.add(
        "launch.lossy-verification",
        Outcome.DEGRADES,
        Stage.SERVING,
        "`fly` accepts tokens that the target would not have chosen",
        text=(
            "FLy verification is a lossy speculative decoding method and may degrade model outputs."
        ),
        source=_VERIFY,
        values=(speculative_value("rejection_sample_method", "fly"),),
    )


def _check_target_type(
    record: Record, knowledge: Knowledge, found: Speculation, target: Model
) -> None:
    """Restate the list of target types for methods that read hidden states (gone in 0.22.0)."""
    if knowledge.since("0.22.0"):
        return
    methods = ["eagle3"]
    if knowledge.since("0.17.0"):
        methods.append("extract_hidden_states")
    if knowledge.since("0.20.0"):
        methods.append("dflash")
    model_type = str(target.text.get("model_type"))
    supported = list(knowledge.constant("aux_hidden_states_targets")) or ["llama"]
    if found.method not in methods or any(name in model_type for name in supported):
        return
    name = found.method if knowledge.since("0.17.0") else "Eagle3"
    words = f"{supported} models" if knowledge.since("0.10.1") else "Llama models"
    record.refuse(
        "architecture.target-unsupported",
        Stage.DRAFT_CONFIG,
        f"method `{found.method}` is not supported for a target of type `{model_type}`",
        text=(
            f"{name} is only supported for {words}. Got "
            f"self.target_model_config.hf_text_config.model_type={model_type!r}"
        ),
        source=_VERIFY,
        values=(
            target.value("model_type"),
            speculative_value("method", found.keys.given.get("method")),
        ),
        facts={"supported": supported},
    )


def _check_vocabulary(record: Record, found: Speculation, target: Model) -> None:
    """Restate `verify_equal_vocab_size_if_draft_model`."""
    draft = found.draft
    if found.method != "draft_model" or draft is None or not found.has_draft:
        return
    ours, theirs = draft.text.get("vocab_size", 0), target.text.get("vocab_size", 0)
    if ours != theirs:
        record.refuse(
            "vocabulary.draft-differs",
            Stage.DRAFT_CONFIG,
            f"the draft's vocabulary of {ours} tokens is not the target's {theirs}",
            text=(
                "Target and draft model should have the same vocabulary size. Target model "
                f"vocab_size={theirs}. Draft model vocab_size={ours}. Using models with different "
                "tokenizers can cause out-of-bounds errors during speculative decoding."
            ),
            source="config/speculative.py:verify_equal_vocab_size_if_draft_model",
            values=(draft.value("vocab_size"), target.value("vocab_size")),
        )


def _refuse_key(record: Record, key: str, value: Any, text: str) -> None:
    """Record the refusal of one key of the speculative config, with the engine's own words."""
    lowered = text[0].lower() + text[1:] if text[1:2].islower() else text
    record.refuse(
        "arguments.speculative-value-invalid",
        Stage.ARGUMENTS,
        lowered.rstrip(".")[:100],
        text=text,
        source=_VERIFY,
        values=(speculative_value(key, value),),
        facts={"key": key, "suggestion": None},
    )


def _recorded(record: Record, topic: str) -> bool:
    return any(event.topic == topic for event in record.events)


def _first(names: list[str]) -> str | None:
    return names[0] if names else None
