"""Values that the parser takes and a config class of vLLM refuses: bounds and combinations.

pydantic checks the fields of `ParallelConfig`, `SchedulerConfig`, `CacheConfig` … when
`EngineArgs.create_engine_config` builds them; the bounds are harvested with the flags.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model
from specpreflight.engines.vllm.model_runner import is_moe
from specpreflight.engines.vllm.options import Options
from specpreflight.engines.vllm.quantization_class import activation_dtype
from specpreflight.engines.vllm.record import Record, engine_value, flag_value
from specpreflight.models.finding import Origin, Stage, Value

_BOUNDS = (
    ("gt", operator.gt, "greater than"),
    ("ge", operator.ge, "greater than or equal to"),
    ("lt", operator.lt, "less than"),
    ("le", operator.le, "less than or equal to"),
)

#: Checked where the length is settled, and with the speculative config.
_ELSEWHERE = ("max_model_len", "spec_tokens")
_VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"


def check_bounds(record: Record, knowledge: Knowledge, parsed: Mapping[str, Any]) -> None:
    """Refuse a flag's value outside the bounds of the field that it sets."""
    for flag in knowledge.bounded_flags:
        value = parsed.get(flag.dest)
        given = isinstance(value, int | float) and not isinstance(value, bool)
        if not given or flag.dest in _ELSEWHERE:
            continue
        text = next(_objections(value, dict(flag.bounds)), None)
        if text is not None:
            record.refuse(
                "arguments.value-out-of-range",
                Stage.ARGUMENTS,
                f"`{flag.names[0]}` is {value}; it {text.replace('Input should', 'should')}",
                text=text,
                source="config/utils.py:config",
                values=(flag_value(flag.dest, value, flag.names[0]),),
            )


def _objections(value: Any, bounds: Mapping[str, Any]) -> Iterator[str]:
    for name, holds, words in _BOUNDS:
        if name in bounds and not holds(value, bounds[name]):
            yield f"Input should be {words} {bounds[name]:g}"


def check_parallel_arguments(
    record: Record, knowledge: Knowledge, options: Options, target: Model
) -> None:
    """Restate what `ParallelConfig` and the target say of GPUs, experts and context parallelism."""
    _check_world(record, knowledge, options)
    if options.enable_expert_parallel and not is_moe(target):
        record.refuse(
            "parallelism.experts-missing",
            Stage.ARGUMENTS,
            "`--enable-expert-parallel` needs a target with experts",
            text=(
                "Number of experts in the model must be greater than 0 when expert parallelism is "
                "enabled."
            ),
            source="config/model.py:_verify_with_expert_parallelism",
            values=(
                flag_value("enable_expert_parallel", True, "--enable-expert-parallel"),
                target.value("architectures"),
            ),
        )
    if options.enable_elastic_ep and not options.enable_eplb:
        record.refuse(
            "parallelism.elastic-experts",
            Stage.ARGUMENTS,
            "`--enable-elastic-ep` works with `--enable-eplb` only",
            text="Elastic EP is only supported with enable_eplb=True.",
            source="config/parallel.py:ParallelConfig",
            values=(flag_value("enable_elastic_ep", True, "--enable-elastic-ep"),),
        )
    text = next(_decode_context_objections(knowledge, options, target), None)
    if text is not None:
        record.refuse(
            "parallelism.decode-context",
            Stage.ARGUMENTS,
            f"decode context parallel size {options.decode_context_parallel_size} does not fit",
            text=text,
            source="config/model.py:verify_with_parallel_config",
            values=(
                flag_value(
                    "decode context parallel size",
                    options.decode_context_parallel_size,
                    "--decode-context-parallel-size",
                ),
                engine_value(
                    "tensor parallel size", options.tensor_parallel_size, "--tensor-parallel-size"
                ),
            ),
        )


def _check_world(record: Record, knowledge: Knowledge, options: Options) -> None:
    """Refuse more ranks than the node has GPUs, where nothing says that others join it."""
    world = (
        options.tensor_parallel_size
        * options.pipeline_parallel_size
        * options.prefill_context_parallel_size
    )
    alone = options.distributed_executor_backend is None and options.nnodes == 1
    if options.gpus is None or world <= options.gpus or not alone or not knowledge.since("0.11.1"):
        return
    record.refuse(
        "parallelism.world",
        Stage.ARGUMENTS,
        f"{world} ranks do not fit on the node's {options.gpus} GPUs",
        text=(
            f"World size ({world}) is larger than the number of available GPUs "
            f"({options.gpus}) in this node. If this is intentional and you are using:\n- ray, set "
            "'--distributed-executor-backend ray'.\n- multiprocessing, set '--nnodes' "
            "appropriately."
        ),
        source="config/parallel.py:ParallelConfig.__post_init__",
        values=(
            engine_value("world size", world, "tensor × pipeline × prefill context parallel size"),
            engine_value("GPUs", options.gpus, "the hardware of the launch"),
        ),
    )


def _decode_context_objections(
    knowledge: Knowledge, options: Options, target: Model
) -> Iterator[str]:
    size, tensor = options.decode_context_parallel_size, options.tensor_parallel_size
    if size <= 1:
        return
    if tensor % size != 0:
        yield (
            f"tp_size={tensor} must be divisible by dcp_size={size}."
            if knowledge.since("0.26.0")
            else f"tp_size={tensor} must be divisible bydcp_size={size}."
        )
    heads = target.text.get("num_attention_heads")
    groups = target.text.get("num_key_value_heads") or heads
    grouped = target.text.get("kv_lora_rank") is None and knowledge.since("0.11.1")
    if not (grouped and isinstance(heads, int) and isinstance(groups, int) and groups > 0):
        return
    newer = knowledge.since("0.27.0")
    most, shared = tensor // groups, heads // groups
    if tensor <= groups:
        yield (
            "Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` "
            f"({tensor}) to be greater than the model's total number of KV heads ({groups}). "
            "Increase `--tensor-parallel-size` or set `--decode-context-parallel-size 1`."
            if newer
            else f"tensor parallel size {tensor} must be greater than total num kv heads {groups} "
            "when enable decode context parallel for GQA/MQA"
        )
    elif size > most:
        yield (
            f"`--decode-context-parallel-size` ({size}) exceeds the maximum supported value "
            f"({most}) for `--tensor-parallel-size` ({tensor}) and {groups} model KV heads."
            if newer
            else "decode context parallel size must less than or equal to (tensor parallel size "
            f"{tensor} // total num kv heads {groups}) = {most}, but got {size}"
        )
    elif shared % size != 0:
        yield (
            f"The model's number of query heads per KV head ({shared}) must be divisible by "
            f"`--decode-context-parallel-size` ({size}) for GQA/MQA."
            if newer
            else f"Total number of q per kv attn heads ({shared}) must be divisible by dcp world "
            "size when enable decode context parallel for GQA "
        )


def check_cache_dtype(
    record: Record, knowledge: Knowledge, options: Options, target: Model
) -> None:
    """Restate what `VllmConfig` says of the type of cached keys and values."""
    cached = options.kv_cache_dtype or "auto"
    latent = target.text.get("kv_lora_rank") is not None and knowledge.since("0.21.0")
    dtype = activation_dtype(options, target)
    if cached.startswith("nvfp4") and not cached.endswith("_ds_mla") and latent:
        text = (
            "nvfp4 KV cache is not supported with MLA (Multi-head Latent Attention) backends. "
            "Please use a different --kv-cache-dtype"
        )
    elif (
        cached in ("float16", "bfloat16")
        and dtype not in (None, cached)
        and knowledge.since("0.33.0")
    ):
        allowed = f"`auto` or `{dtype}`" if dtype in ("float16", "bfloat16") else "`auto`"
        text = (
            f'kv_cache_dtype="{cached}" is incompatible with dtype="{dtype}". '
            f"Please set `--kv-cache-dtype` to {allowed}."
        )
    else:
        return
    record.refuse(
        "cache.dtype",
        Stage.ARGUMENTS,
        f"a cache of type `{cached}` does not go with this target",
        text=text,
        source="config/vllm.py:VllmConfig",
        values=(
            flag_value("kv_cache_dtype", cached, "--kv-cache-dtype"),
            target.value("architectures"),
        ),
    )


def check_backend_name(record: Record, knowledge: Knowledge, parsed: Mapping[str, Any]) -> None:
    """Refuse an attention back end that the release does not have (the flag, from 0.11.1)."""
    name = parsed.get("attention_backend")
    known = knowledge.constant("attention_backends")
    if not isinstance(name, str) or not known or name.upper() in (*known, "AUTO"):
        return
    listed = ", ".join(known)
    record.refuse(
        "attention.unknown",
        Stage.ARGUMENTS,
        f"vLLM {knowledge.version} has no attention back end `{name}`",
        text=f"Unknown attention backend: '{name.upper()}'. Valid options are: {listed}",
        exception="ValueError",
        source="v1/attention/backends/registry.py:AttentionBackendEnum",
        values=(flag_value("attention backend", name, "--attention-backend"),),
    )


def check_runner_variable(record: Record, knowledge: Knowledge, options: Options) -> None:
    """Refuse a text in the runner's variable that is no number (`envs.py`, asked from 0.20.0)."""
    given = options.runner_text
    if given is None or not knowledge.since("0.20.0"):
        return
    try:
        int(given)
    except ValueError as error:
        record.refuse(
            "arguments.variable-not-a-number",
            Stage.ARGUMENTS,
            f"`{_VARIABLE}` is {given!r}; vLLM reads it as a number",
            text=str(error),
            exception="ValueError",
            source="envs.py",
            values=(Value(_VARIABLE, given, Origin("environment", name=_VARIABLE)),),
        )
