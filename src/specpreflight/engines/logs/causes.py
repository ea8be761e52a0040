"""The failure shapes: which final message of a traceback means what.

Restated from every raise and assert of the wheels that a launch with a draft can meet, and from
public reports. A shape is recognised by its message, and where the message says too little, by the
frames above it. The order counts: the first shape that fits is the cause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Cause:
    """A failure shape.

    Attributes:
        name: its id.
        message: pattern of the final message, its continuation lines included; named groups become
            the diagnosis' values.
        stage: where it stops; `T|D` is the one for the target and the one for the draft; empty:
            decided by the frames.
        rule: the rule that reports it before a launch.
        engine: the engine that can say so, or `None`.
        frames: pattern that the frames and source lines must hold.
    """

    name: str
    message: re.Pattern[str]
    stage: str = ""
    rule: str | None = None
    engine: str | None = None
    frames: re.Pattern[str] | None = None


def _cause(
    name: str,
    message: str,
    stage: str = "",
    rule: str | None = None,
    engine: str | None = None,
    frames: str | None = None,
) -> Cause:
    flags = re.MULTILINE | re.DOTALL
    found = re.compile(frames, flags) if frames else None
    return Cause(name, re.compile(message, flags), stage, rule, engine, found)


_ARGPARSE: Final = r"^[\w. -]+: error: (?:argument (?P<flag>[^:\n]+): )?"

CAUSES: Final = (
    # context length and config
    _cause(
        "L-CTX-DRAFT",
        r"(?:Target model's|User-specified) context_length \((?P<target_context>\d+)\) is greater "
        r"than the derived context_length \((?P<draft_context>\d+)\)",
        "DCFG",
        "draft-context-shorter",
        "sglang",
        r"speculative/\w*worker\w*\.py:__init__",
    ),
    _cause(
        "L-CTX-DRAFT-EARLY",
        r"Target model's context_length \((?P<target_context>\d+)\) is greater than the derived "
        r"context_length \((?P<draft_context>\d+)\)",
        "",
        "draft-context-shorter",
        "sglang",
        r"model_runner\.py:|spec_aux_hidden_state\.py:",
    ),
    _cause(
        "L-CTX-DRAFT",
        r"Target model's context_length \((?P<target_context>\d+)\) is greater than the derived "
        r"context_length \((?P<draft_context>\d+)\)",
        "DCFG",
        "draft-context-shorter",
        "sglang",
    ),
    _cause(
        "L-CTX-TARGET",
        r"User-specified context_length \((?P<asked_context>\d+)\) is greater than the derived "
        r"context_length \((?P<target_context>\d+)\)",
        "ARG",
        "target-context-exceeded",
        "sglang",
    ),
    _cause(
        "L-VL-MAXLEN",
        r"User-specified max_model_len \((?P<asked_context>\d+)\) is greater than the derived "
        r"max_model_len \((?P<key>\w+)=(?P<target_context>[\d.]+)",
        "CFG",
        "vllm-length-refused",
        "vllm",
    ),
    _cause(
        "L-VL-SPECLEN",
        r"speculative_max_model_len=(?P<speculative_max_model_len>\d+) cannot be larger than "
        r"(?P<limited_by>\w+)=(?P<limit>\d+)",
        "CFG",
        "vllm-length-refused",
        "vllm",
    ),
    _cause(
        "L-CFG-MODELTYPE",
        r"has model type `(?P<model_type>[^`]+)` but Transformers does not recognize",
        "CFG|DCFG",
        "model-type-unknown",
    ),
    _cause(
        "L-CFG-TRUST",
        r"The repository (?P<repository>\S+) contains custom code which must be executed|"
        r"Loading (?P<repository_>\S+) requires you to execute the configuration file|"
        r"Do you wish to run the custom code\?",
        "CFG|DCFG",
        "remote-code-needed",
    ),
    _cause(
        "L-CFG-NOFILE",
        r"(?P<checkpoint>\S+) does not appear to have a file named (?P<file>\S+?)\.(?:\s|$)",
        "CFG|DCFG",
        "config-unreadable",
    ),
    _cause(
        "L-CFG-NOTVALIDJSON",
        r"the config file at '(?P<path>[^']+)' is not a valid JSON file|"
        r"JSONDecodeError: .*line (?P<line>\d+) column (?P<column>\d+)|"
        r"UnicodeDecodeError: 'utf-8' codec can't decode byte",
        "CFG|DCFG",
        "config-unreadable",
    ),
    _cause(
        "L-CFG-STRICT",
        r"Validation error for field '(?P<key>\w+)':(?:.*expected (?P<expected>.+?), got "
        r"(?P<got>[^\n]+))?|StrictDataclassClassValidationError: Class validation error for "
        r"validator '(?P<validator>[^']+)'",
        "CFG|DCFG",
        "config-value-refused",
    ),
    _cause(
        "L-CFG-ARCH",
        r"Model architectures (?P<architectures>\[[^\]]*\]) (?:are not supported for now|"
        r"failed to be inspected)",
        "TW|DW",
        "architecture-unknown",
        "sglang",
    ),
    _cause(
        "L-CFG-ARCH-VL",
        r"Model architectures (?P<architectures>\[[^\]]*\]) (?:are not supported for now|"
        r"failed to be inspected)",
        "CFG",
        "architecture-unknown",
        "vllm",
    ),
    _cause(
        "L-CFG-ARCH-HF",
        r"Cannot find model module\. '(?P<architecture>\w+)' is not a registered model|"
        r"(?P<architecture_>\w+) has no SGlang implementation",
        "TW|DW",
        "architecture-unknown",
        "sglang",
    ),
    _cause(
        "L-CFG-E3TYPE",
        r"Eagle3 is only supported for .* models\. Got "
        r"self\.target_model_config\.hf_text_config\.model_type='(?P<model_type>[^']+)'",
        "CFG",
        "vllm-target-unfit-for-drafts",
        "vllm",
    ),
    _cause(
        "L-CFG-VOCAB",
        r"should have the same vocabulary size\. Target model vocab_size=(?P<target_vocab>\d+)\. "
        r"Draft model vocab_size=(?P<draft_vocab>\d+)",
        "CFG",
        "vllm-vocabulary-differs",
        "vllm",
    ),
    _cause("L-CFG-VOCAB", r"AssertionError", "CFG", "vllm-vocabulary-differs", "vllm",
           r"all\(vocab_sizes\[0\] == vocab_size"),
    _cause(
        "L-CFG-SG-VOCAB",
        r"requires the draft model to share the same vocabulary as the target model, but got",
        "DW",
        "standalone-vocabulary-differs",
        "sglang",
    ),
    _cause(
        "L-CFG-DVS",
        r"'(?P<config_class>\w+)' object has no attribute 'draft_vocab_size'",
        "DW",
        "config-inconsistent",
        "sglang",
    ),
    _cause(
        "L-CFG-ROPEKEY",
        r"KeyError: '(?P<key>factor|rope_type|type)'|Unknown RoPE scaling type (?P<rope_type>\S+)",
        "TW|DW",
        "rope-key-layout",
        None,
        r"rotary_embedding|get_rope",
    ),
    _cause(
        "L-CFG-TP",
        r"Total number of attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel "
        r"size \((?P<tp>\d+)\)",
        "CFG",
        "heads-inconsistent",
    ),
    _cause("L-CFG-TP", r"AssertionError", "TW|DW", "heads-inconsistent", None,
           r"num_heads % (?:self\.)?\w*tp_size == 0"),
    # EAGLE interface, weights, shapes
    _cause(
        "L-E3-IFACE",
        r"'(?P<target_class>\w+)' object has no attribute "
        r"'(?P<attribute>set_\w*layers_to_capture)'",
        "TKV",
        "target-cannot-capture",
        "sglang",
    ),
    _cause(
        "L-E3-IFACE23",
        r"Model (?P<target_class>\w+) does not implement (?P<attribute>set_\w*layers_to_capture)",
        "TW",
        "target-cannot-capture",
        "sglang",
    ),
    _cause(
        "L-E3-IFACE-VL",
        r"Model does not support EAGLE3 interface",
        "DW",
        "vllm-target-unfit-for-drafts",
        "vllm",
    ),
    _cause(
        "L-E3-EMBED",
        r"'(?P<class>\w+)' object has no attribute "
        r"'(?P<attribute>get_embed_and_head|set_embed|set_embed_and_head|hot_token_id)'",
        "DW",
        "algorithm-draft-mismatch",
        "sglang",
    ),
    _cause(
        "L-E3-NULLCFG",
        r"'NoneType' object has no attribute 'get'",
        "DW",
        "config-inconsistent",
        "sglang",
        r"speculative/eagle_worker",
    ),
    _cause("L-E3-LAYERS", r"EAGLE3 currently only supports 1 layer", "DW", "loader-refuses"),
    _cause(
        "L-W-SIZE",
        r"Attempted to load weight \(torch\.Size\((?P<loaded>\[[^\]]*\])\)\) into parameter "
        r"\(torch\.Size\((?P<expected>\[[^\]]*\])\)\)",
        "TW|DW",
        "tensors-do-not-fit",
    ),
    _cause(
        "L-W-EMPTY",
        r"AssertionError",
        "TW|DW",
        "tensors-do-not-fit",
        None,
        r"param_data\.shape == loaded_weight\.shape|loaded_weight\.shape\[output_dim\] ==",
    ),
    _cause("L-W-KEY", r"KeyError: '(?P<key>[^']+)'", "TW|DW", "loader-refuses", None,
           r":load_weights"),
    _cause(
        "L-W-KIMI",
        r"Weight (?P<key>\S+) not found in params_dict",
        "TW|DW",
        "loader-refuses",
        "sglang",
    ),
    _cause(
        "L-W-NOINIT",
        r"Following weights were not initialized from checkpoint: (?P<names>\{.*\})|"
        r"There is no module or parameter named '(?P<key>[^']+)' in (?P<class>\w+)|"
        r"MTP speculative decoding layer (?P<layer>\d+) weights missing from checkpoint",
        "TW|DW",
        "parameters-without-weights",
    ),
    _cause(
        "L-W-MOE",
        r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\)",
        "TW|DW",
        "quantization-contradicts",
        None,
        r"fused_moe\S*layer\.py|_load_w13|_load_w2",
    ),
    _cause(
        "L-W-SHARD",
        r"Error while deserializing header: (?P<error>\w+)|Cannot find any model weights with "
        r"`(?P<path>[^`]+)`|No such file or directory: '(?P<path_>[^']+\.(?:safetensors|bin))'",
        "TW|DW",
        "weight-file-broken",
    ),
    _cause(
        "L-W-QUANT",
        r"Quantization method specified in the model config \((?P<config_method>[^)]+)\) does not "
        r"match the quantization method specified in the `quantization` argument "
        r"\((?P<argument_method>[^)]+)\)",
        "CFG|DCFG",
        "quantization-unfit",
    ),
    _cause(
        "L-W-QUANT-MARLIN",
        r"Marlin does not support weight_bits = (?P<type>\S+?)\. ",
        "DW",
        "quantization-inherited",
    ),
    _cause(
        "L-SHAPE-FC",
        r"mat1 and mat2 shapes cannot be multiplied \((?P<rows>\d+)x(?P<given>\d+) and "
        r"(?P<expected>\d+)x(?P<columns>\d+)\)",
        "",
        "hidden-size-differs",
    ),
    _cause(
        "L-SHAPE-AUX",
        r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\)",
        "",
        "hidden-size-differs",
    ),
    _cause(
        "L-SHAPE-DTYPE",
        r"must have the same dtype, but got:? (?P<a>\S+) (?:and|!=) (?P<b>\S+)|"
        r"query and key must have the same dtype",
        "",
        "dtype-differs",
    ),
    _cause(
        "L-SHAPE-HID",
        r"Expected size (?P<expected>\d+) but got size (?P<got>\d+) for tensor number",
        "RUN",
        "hidden-size-differs",
    ),
    _cause("L-SHAPE-VLASSERT", r"AssertionError", "DGR", "hidden-size-differs", "vllm",
           r"hidden_states\.shape\[-1\] == input_embeds\.shape\[-1\]"),
    _cause("L-SHAPE-VLASSERT", r"All layers in one attention group must share num_heads", "DGR",
           "heads-inconsistent", "vllm"),
    _cause("L-HOTTOK", r"device-side assert triggered", "DGR", "vocabulary-map-broken", "sglang",
           r"hot_token_id|d2t"),
    _cause(
        "L-TOPK-OOR",
        r"selected index k out of range|arange's range must be a power of 2",
        "",
        "step-counts-contradict",
    ),
    # arguments
    _cause("L-ARG-UNREC", _ARGPARSE + r"unrecognized arguments: (?P<arguments>[^\n]+)", "ARG",
           "arguments-not-understood"),
    _cause("L-ARG-CHOICE", _ARGPARSE + r"invalid choice: '?(?P<value>[^'\n]*?)'? \(choose from"
           r" (?P<choices>[^\n]*)\)", "ARG", "arguments-not-understood"),
    _cause("L-ARG-VLJSON", _ARGPARSE + r"Value (?P<value>.+?) cannot be converted to", "ARG",
           "vllm-speculative-config-invalid"),
    _cause(
        "L-ARG-TYPE",
        _ARGPARSE + r"(?:invalid \w+ value: '(?P<value>[^']*)'|expected |ambiguous option|.*)",
        "ARG",
        "arguments-not-understood",
    ),
    _cause("L-ARG-BARE", r"AssertionError", "ARG", "step-counts-contradict", "sglang",
           r"speculative_eagle_topk is None|speculative_num_draft_tokens is None"),
    _cause("L-ARG-NONE", r"'>' not supported between instances of 'NoneType' and 'int'", "ARG",
           "step-counts-contradict", "sglang"),
    _cause("L-ARG-NONE", r"'>' not supported between instances of 'NoneType' and 'int'", "CFG",
           "vllm-token-count-unfit", "vllm"),
    _cause(
        "L-ARG-PAGE",
        r"speculative_eagle_topk(?: ?\((?P<topk>\d+)\))? > 1 with page_size"
        r"(?: ?\((?P<page_size>\d+)\))? > 1",
        "ARG",
        "topk-needs-other-backend",
        "sglang",
    ),
    _cause("L-ARG-TRTLLM", r"trtllm_mha backend only supports topk = 1", "ARG",
           "topk-needs-other-backend"),
    _cause("L-ARG-SPECV2", r"Spec v2 currently only supports topk = 1", "ARG",
           "topk-needs-other-backend"),
    _cause("L-ARG-ALG", r"Unknown speculative algorithm(?: name:)? '?(?P<algorithm>[\w-]+)", "ARG",
           "algorithm-unknown", "sglang"),
    _cause(
        "L-ARG-NODRAFT",
        r"(?P<algorithm>\w+) speculative decoding requires setting "
        r"--speculative-draft-model-path",
        "ARG",
        "draft-path-missing",
    ),
    _cause(
        "L-ARG-PP",
        r"Pipeline parallelism is not compatible with overlap schedule|PP is not compatible with "
        r"MTP models",
        "ARG",
        "parallelism-unfit",
    ),
    _cause("L-ARG-VLKEY", r"for SpeculativeConfig\s+(?P<key>\w+)\s+Unexpected keyword argument",
           "CFG", "vllm-speculative-config-invalid", "vllm"),
    _cause(
        "L-ARG-VLNUM",
        r"num_speculative_tokens must be provided with speculative model|"
        r"but `num_speculative_tokens` was not provided|"
        r"num_speculative_tokens:(?P<num_spec_tokens>\d+) must be divisible by "
        r"n_predict=(?P<n_predict>\d+)|Expected num_speculative_tokens to be greater than zero",
        "CFG",
        "vllm-token-count-unfit",
        "vllm",
    ),
    _cause(
        "L-ARG-VLTP",
        r"speculative_draft_tensor_parallel_size=(?P<draft_tp>\d+) cannot be other value|"
        r"'tensor_parallel_size' is not a valid argument in the speculative_config|"
        r"'tensor_parallel_size' must be the same\. Got (?P<draft_tp_>\d+) and (?P<tp>\d+)",
        "CFG",
        "vllm-speculative-config-invalid",
        "vllm",
    ),
    _cause(
        "L-ARG-VLMETHOD",
        r"Unsupported speculative method: '?(?P<method>[\w-]+)|Unknown speculative decoding "
        r"method: (?P<method_>[\w-]+)|Speculative decoding with draft model is not supported yet",
        "CFG",
        "vllm-method-unfit",
        "vllm",
    ),
    # backends, memory, graphs
    _cause(
        "L-BK-MLA",
        r"(?P<backend>\w+_mla) backend can only be used with MLA models",
        "TKV|DKV",
        "attention-backend-unfit",
        "sglang",
    ),
    _cause(
        "L-BK-EAGLE",
        r"EAGLE is not supported in (?:\w+ )?attention backend (?P<backend>\w+)",
        "DKV",
        "attention-backend-unfit",
        "sglang",
    ),
    _cause("L-BK-FLASHMLA", r"Currently (?P<backend>Flash\w+(?: MLA)?) only supports topk ?= ?1",
           "DKV", "topk-needs-other-backend", "sglang"),
    _cause("L-BK-FLEX", r"currently not supported with Flex Attention backend", "ARG",
           "attention-backend-unfit"),
    _cause("L-BK-INVALID", r"Invalid attention backend: (?P<backend>\w+)", "TKV",
           "attention-backend-unfit", "sglang"),
    _cause(
        "L-BK-VL",
        r"Selected backend (?P<backend>\S+) is not valid for this configuration\. Reason: "
        r"(?P<reasons>\[[^\n]*\])|No valid attention backend found for \w+",
        "TW|DW",
        "attention-backend-unfit",
        "vllm",
    ),
    _cause("L-BK-VLMETA", r"Unsupported attention metadata type for speculative decoding", "RUN",
           "vllm-runner-unfit", "vllm"),
    _cause(
        "L-MEM-TKV",
        r"Not enough memory\. Please try to increase --mem-fraction-static"
        r"(?:.*mem_fraction_static=(?P<mem_fraction_static>[\d.]+\d))?|Loaded weights leave no GPU "
        r"memory for the KV cache under --mem-fraction-static=(?P<mem_fraction_static_>[\d.]+\d)",
        "TKV",
        None,
        "sglang",
    ),
    _cause(
        "L-MEM-VLKV",
        r"To serve at least one request with the models?'s max seq len \((?P<max_seq_len>\d+)\), "
        r"\((?P<needed_gib>[\d.]+) GiB KV cache is needed, which is larger than the available KV "
        r"cache memory \((?P<available_gib>[\d.]+) GiB\)"
        r"(?:.*estimated maximum model length is (?P<estimated_max>\d+))?|"
        r"No available memory for the cache blocks",
        "TKV",
        None,
        "vllm",
    ),
    _cause(
        "L-MEM-VLFREE",
        r"Free memory on device(?: \S+)? \((?P<free_gib>[\d.]+)/(?P<total_gib>[\d.]+) GiB\) on "
        r"startup is less than desired GPU memory utilization \((?P<utilization>[\d.]+)",
        "DIST",
        None,
        "vllm",
    ),
    _cause("L-MEM-UNBAL", r"The memory capacity is unbalanced", "DIST", None, "sglang"),
    _cause(
        "L-MEM-GRAPH",
        r"Capture \w+(?: \w+)? graph failed: (?P<error>[^\n]*?OutOfMemoryError|CUDA out of memory)?"
        r"(?:.*?Tried to allocate (?P<tried>[\d.]+ \w+)\. .*?total capacity of "
        r"(?P<capacity>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free)?",
        "TGR|DGR",
        None,
        "sglang",
    ),
    _cause(
        "L-MEM-OOM",
        r"(?:OutOfMemoryError|CUDA out of memory)(?:.*?Tried to allocate (?P<tried>[\d.]+ \w+)\. "
        r"GPU (?P<gpu>\d+) has a total capacity of (?P<capacity>[\d.]+ \w+) of which "
        r"(?P<free>[\d.]+ \w+) is free)?",
    ),
    _cause(
        "L-MEM-RUN",
        r"(?:Prefill|Decode) out of memory\. Try to lower your batch size|alloc_req_slots runs out",
        "RUN",
        None,
        "sglang",
    ),
    _cause("L-VL-PAGESIZE", r"page size of the layer is not divisible by the maximum page size",
           "TKV", "vllm-cache-pages-differ", "vllm"),
    # distributed
    _cause(
        "L-NCCL-USAGE",
        r"ncclInvalidUsage|NCCL error: invalid usage|No algorithm/protocol available for function "
        r"(?P<function>\w+) with datatype (?P<datatype>\w+)|Duplicate GPU detected",
        "DIST",
        "nccl-collective-without-algorithm",
    ),
    _cause("L-NCCL-CUDA", r"unhandled cuda error|Last error:\s*Cuda failure (?P<number>\d+)",
           "DIST"),
    _cause("L-NCCL-SYS", r"unhandled system error|ncclSystemError", "DIST"),
    _cause(
        "L-DIST-STORE",
        r"Timed out after (?P<seconds>\d+) seconds waiting for clients\. (?P<joined>\d+)/"
        r"(?P<expected>\d+) clients joined|failed to listen on any local network address",
        "DIST",
    ),
    # Hub, files, environment
    _cause("L-HUB-GATED", r"GatedRepoError|You are trying to access a gated repo", "CFG|DCFG"),
    _cause("L-HUB-REV", r"RevisionNotFoundError|is not a valid git identifier", "CFG|DCFG"),
    _cause(
        "L-HUB-404",
        r"RepositoryNotFoundError|(?P<checkpoint>\S+) is not a local folder and is not a valid "
        r"model identifier|HFValidationError: Repo id must be in the form.*?: "
        r"'(?P<checkpoint_>[^']+)'",
        "CFG|DCFG",
    ),
    _cause(
        "L-HUB-OFFLINE",
        r"OfflineModeIsEnabled|LocalEntryNotFoundError|We couldn't connect to "
        r"'(?P<endpoint>[^']+)'",
        "CFG|DCFG",
    ),
    _cause("L-OS-SPACE", r"No space left on device(?: \(os error 28\))?(?:: '(?P<path>[^']+)')?"),
    _cause("L-OS-PERM", r"PermissionError.*?(?:Permission denied: '(?P<path>[^']+)')?"),
    _cause(
        "L-OS-PORT",
        r"[Aa]ddress already in use|error while attempting to bind on address "
        r"\('(?P<host>[^']+)', (?P<port>\d+)\)",
        "ARG",
    ),
    _cause(
        "L-ENV-CUDA",
        r"No CUDA GPUs are available|invalid device ordinal|no kernel image is available|"
        r"The NVIDIA driver on your system is too old \(found version (?P<driver>\d+)\)",
    ),
    _cause(
        "L-ENV-IMPORT",
        r"ImportError: .*undefined symbol: (?P<symbol>\w+)|ModuleNotFoundError: No module named "
        r"'(?P<module>[^']+)'|(?P<package>[\w-]+) is installed with version (?P<installed>\S+), "
        r"which is less than the minimum required version (?P<required>\S+)",
    ),
    _cause("L-RUN-LEAK", r"memory leak detected|Mem Leak Detected", "RUN", None, "sglang"),
    _cause("L-VL-NUMEL", r"'NoneType' object has no attribute 'numel'", "RUN",
           "vllm-length-changed", "vllm"),
    _cause("L-CFG-DRAFTARCHNULL", r"'NoneType' object is not subscriptable|list index out of range",
           "DCFG", "config-inconsistent", "sglang", r"speculative/.*model_config\.py:"),
    _cause("L-VL-ROPE", r"device-side assert triggered", "RUN", "vllm-length-changed", "vllm"),
    _cause("L-CTX-RUN", r"device-side assert triggered|illegal memory access", "RUN",
           "draft-context-shorter", "sglang"),
)  # fmt: skip

#: What survivors print, and what wraps a cause: never the cause itself.
NOISE: Final = re.compile(
    r"Connection reset by peer|Connection closed by peer|Broken ?pipe|recvValue failed|"
    r"sendBytes failed|EOFError|ncclRemoteError|could finish the model loading, but there are "
    r"other ranks|Initialization failed\.|scheduler died during initialization|"
    r"Engine core initialization failed|WorkerProc initialization failed|died unexpectedly|"
    r"EngineDeadError|CancelledError|KeyboardInterrupt|SystemExit|See stack trace"
)
