"""One failure of every known shape, each as the releases word it, with what a reader must find."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from packaging.version import Version

S = "sglang/srt/"
V = "vllm/"
CONTEXT = (
    "context_length ({}) is greater than the derived context_length ({}). This may lead to "
    "incorrect model outputs or CUDA errors. Note that the derived context_length may differ from "
    "max_position_embeddings in the model's config. To allow overriding this maximum, set the env "
    "var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"
)
CAPTURE_ADVICE = (
    "\nPossible solutions:\n1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    "2. set --cuda-graph-max-bs to a smaller value (e.g., 16)\n"
    "3. disable torch compile by not using --enable-torch-compile\n"
    "4. disable CUDA graph by --disable-cuda-graph. (Not recommended. Huge performance loss)\n"
    "Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose "
)
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total "
    "capacity of 79.11 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process "
    "has 77.80 GiB memory in use."
)
OOM_VALUES = {"tried": "2.50 GiB", "gpu": 0, "capacity": "79.11 GiB", "free": "1.25 GiB"}


@dataclass(frozen=True)
class Failure:
    """A failure shape in some releases.

    Attributes:
        cause: its id.
        engine: `sglang` or `vllm`.
        releases: those that word it so.
        step: where the launch stops.
        final: the message that ends the traceback.
        frames: the frames before it (`file:function[:source]`), after those of the step.
        values: what must be captured.
        stage: what a reader should call the step, where it differs.
        process: the process that prints it: `main` for SGLang's, `APIServer` for vLLM's.
    """

    cause: str
    engine: str
    releases: tuple[str, ...]
    step: str
    final: str
    frames: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    stage: str | None = None
    process: str | None = None

    @property
    def cases(self) -> list[tuple[Failure, str]]:
        return [(self, release) for release in self.releases]


def target_frames(release: str) -> list[str]:
    """Return the frames above a failure in SGLang's target worker."""
    frames = [
        f"{S}managers/scheduler.py:run_scheduler_process",
        f"{S}managers/scheduler.py:__init__",
    ]
    if Version(release) >= Version("0.5.8"):
        frames += [
            f"{S}managers/scheduler.py:init_model_worker",
            f"{S}managers/scheduler.py:init_tp_model_worker",
            f"{S}managers/tp_worker.py:__init__",
            f"{S}managers/tp_worker.py:_init_model_runner",
        ]
    else:
        frames += [
            f"{S}managers/tp_worker_overlap_thread.py:__init__",
            f"{S}managers/tp_worker.py:__init__",
        ]
    return [*frames, f"{S}model_executor/model_runner.py:__init__"]


def draft_frames(release: str) -> list[str]:
    """Return the frames above a failure in SGLang's draft worker."""
    frames = [
        f"{S}managers/scheduler.py:run_scheduler_process",
        f"{S}managers/scheduler.py:__init__",
    ]
    worker = "eagle_worker.py"
    if Version(release) >= Version("0.5.13"):
        worker = "eagle_worker_v2.py"
    if Version(release) >= Version("0.5.8"):
        frames += [
            f"{S}managers/scheduler.py:init_model_worker",
            f"{S}managers/scheduler.py:maybe_init_draft_worker",
        ]
    elif Version(release) >= Version("0.5.5"):
        frames += [f"{S}speculative/spec_info.py:create_draft_worker"]
    return [*frames, f"{S}speculative/{worker}:__init__", f"{S}managers/tp_worker.py:__init__"]


def serving_frames(release: str) -> list[str]:
    return [
        f"{S}managers/scheduler.py:run_scheduler_process",
        f"{S}managers/scheduler.py:event_loop_overlap",
        f"{S}managers/scheduler.py:run_batch",
    ]


def argument_frames(release: str) -> list[str]:
    frames = [
        "sglang/launch_server.py:<module>",
        f"{S}server_args.py:prepare_server_args",
        f"{S}server_args.py:from_cli_args",
        "<string>:__init__",
        f"{S}server_args.py:__post_init__",
    ]
    if Version(release) >= Version("0.5.13"):
        return [*frames, f"{S}arg_groups/speculative_hook.py:handle_speculative_decoding"]
    return [*frames, f"{S}server_args.py:_handle_speculative_decoding"]


def sglang_frames(release: str, step: str) -> list[str]:
    if step in {"ARG", "CFG"}:
        return argument_frames(release)
    if step in {"DCFG", "DW", "DKV", "DGR"}:
        return draft_frames(release)
    return serving_frames(release) if step in {"WARM", "RUN"} else target_frames(release)


def vllm_frames(step: str) -> list[str]:
    """Return the frames above a failure in vLLM at a step."""
    worker = [f"{V}v1/executor/multiproc_executor.py:worker_main"]
    runner = f"{V}v1/worker/gpu_model_runner.py:"
    if step == "CFG":
        return [
            f"{V}entrypoints/openai/api_server.py:run_server_worker",
            f"{V}engine/arg_utils.py:create_engine_config",
        ]
    if step in {"TW", "DW"}:
        frames = [*worker, f"{V}v1/worker/gpu_worker.py:load_model", f"{runner}load_model"]
        return frames if step == "TW" else [*frames, f"{V}v1/spec_decode/eagle.py:load_model"]
    if step == "TKV":
        return [
            f"{V}v1/engine/core.py:run_engine_core",
            f"{V}v1/engine/core.py:_initialize_kv_caches",
        ]
    if step == "DGR":
        return [
            *worker,
            f"{V}v1/worker/gpu_worker.py:determine_available_memory",
            f"{runner}profile_run",
            f"{V}v1/spec_decode/eagle.py:dummy_run",
        ]
    if step == "RUN":
        return [*worker, f"{runner}execute_model"]
    return worker


PYDANTIC = (
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n"
)
SPECULATIVE = f"{V}engine/arg_utils.py:create_speculative_config"
EVERY = ("0.4.9.post6", "0.5.2", "0.5.6.post2", "0.5.9", "0.5.12", "0.5.16", "0.5.19", "0.5.23")
SG, VL = "sglang", "vllm"
MODEL_CONFIG = f"{S}configs/model_config.py:from_server_args"
DERIVE = f"{S}configs/model_config.py:_derive_context_length"
DRAFT_MODEL = f"{S}models/llama_eagle3.py:"

CONTEXTS = (
    Failure(
        "L-CTX-DRAFT", SG, EVERY[1:], "DCFG",
        f"ValueError: Warning: Target model's {CONTEXT.format(262144, 131072)}",
        (MODEL_CONFIG, DERIVE), {"target_context": 262144, "draft_context": 131072},
    ),
    Failure(
        "L-CTX-DRAFT-EARLY", SG, ("0.5.9", "0.5.12"), "DIST+",
        f"ValueError: Warning: Target model's {CONTEXT.format(8192, 4096)}",
        (MODEL_CONFIG, DERIVE), {"target_context": 8192, "draft_context": 4096}, "DIST",
    ),
    Failure(
        "L-CTX-DRAFT-EARLY", SG, ("0.5.2", "0.5.6"), "DCFG",
        f"ValueError: Warning: Target model's {CONTEXT.format(8192, 4096)}",
        (), {"target_context": 8192, "draft_context": 4096}, "TGR", "target",
    ),
    Failure(
        "L-CTX-DRAFT-EARLY", SG, ("0.5.16", "0.5.23"), "DIST+",
        f"ValueError: Warning: Target model's {CONTEXT.format(8192, 4096)}",
        (f"{S}model_executor/model_runner_components/spec_aux_hidden_state.py:resolve", DERIVE),
        {"target_context": 8192, "draft_context": 4096}, "DIST",
    ),
    Failure(
        "L-CTX-TARGET", SG, EVERY[1:], "ARG",
        f"ValueError: Warning: User-specified {CONTEXT.format(262144, 40960)}",
        (f"{S}server_args.py:get_model_config", MODEL_CONFIG, DERIVE),
        {"asked_context": 262144, "target_context": 40960}, None, "main",
    ),
    Failure(
        "L-CTX-RUN", SG, EVERY, "RUN",
        "torch.AcceleratorError: CUDA error: device-side assert triggered\n"
        "CUDA kernel errors might be asynchronously reported at some other API call.",
        (f"{S}speculative/eagle_worker.py:forward_batch_generation",
         f"{S}speculative/eagle_worker.py:verify"),
    ),
    Failure(
        "L-CTX-RUN", SG, ("0.5.2",), "RUN",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        (f"{S}speculative/eagle_worker.py:forward_batch_generation",),
    ),
    Failure(
        "L-VL-ROPE", VL, ("0.9.2", "0.16.0", "0.24.0"), "RUN",
        "RuntimeError: CUDA error: device-side assert triggered",
        (f"{V}v1/spec_decode/eagle.py:propose",),
    ),
    Failure(
        "L-VL-NUMEL", VL, ("0.8.5",), "RUN",
        "AttributeError: 'NoneType' object has no attribute 'numel'",
        (f"{V}spec_decode/multi_step_worker.py:execute_model",),
    ),
    Failure(
        "L-VL-MAXLEN", VL, ("0.8.5", "0.16.0", "0.33.0"), "CFG",
        "ValueError: User-specified max_model_len (200000) is greater than the derived "
        "max_model_len (max_position_embeddings=40960 or model_max_length=None in model's "
        "config.json). This may lead to incorrect model outputs or CUDA errors.",
        (f"{V}engine/arg_utils.py:create_model_config",),
        {"asked_context": 200000, "target_context": 40960, "key": "max_position_embeddings"},
        None, "APIServer",
    ),
    Failure(
        "L-VL-SPECLEN", VL, ("0.16.0", "0.33.0"), "CFG",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n"
        "  Value error, speculative_max_model_len=9000 cannot be larger than "
        "draft_max_model_len=2048 [type=value_error, input_value={}, input_type=dict]",
        (SPECULATIVE,),
        {"speculative_max_model_len": 9000, "draft_max_model_len": 2048}, None, "APIServer",
    ),
    Failure(
        "L-CFG-MODELTYPE", SG, ("0.5.6", "0.5.11"), "DCFG",
        "KeyError: 'kimi_k2_eagle'\n\nDuring handling of the above exception, another exception "
        "occurred:\n\nTraceback (most recent call last):\n"
        '  File "/opt/venv/lib/python3.12/site-packages/transformers/models/auto/'
        'configuration_auto.py", line 9, in from_pretrained\n    raise ValueError(\n'
        "ValueError: The checkpoint you are trying to load has model type `kimi_k2_eagle` but "
        "Transformers does not recognize this architecture. This could be because of an issue.\n\n"
        "You can update Transformers with the command `pip install --upgrade transformers`.",
        (MODEL_CONFIG, "transformers/models/auto/configuration_auto.py:__getitem__"),
        {"model_type": "kimi_k2_eagle", "which": "draft"},
    ),
    Failure(
        "L-CFG-MODELTYPE", VL, ("0.16.0",), "CFG",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        "  Value error, The checkpoint you are trying to load has model type `newmodel` but "
        "Transformers does not recognize this architecture.",
        (f"{V}engine/arg_utils.py:create_model_config",),
        {"model_type": "newmodel", "which": "target"}, None, "APIServer",
    ),
    Failure(
        "L-CFG-TRUST", SG, ("0.5.9", "0.5.16"), "DCFG",
        "ValueError: The repository /models/draft contains custom code which must be executed to "
        "correctly load the model. You can inspect the repository content at /models/draft .",
        (MODEL_CONFIG, "transformers/dynamic_module_utils.py:resolve_trust_remote_code"),
        {"repository": "/models/draft"},
    ),
    Failure(
        "L-CFG-TRUST", VL, ("0.8.5",), "CFG",
        "ValueError: Loading org/model requires you to execute the configuration file in that repo "
        "on your local machine. Make sure you have read the code there.",
        (f"{V}engine/arg_utils.py:create_model_config",),
        {"repository": "org/model"}, None, "APIServer",
    ),
    Failure(
        "L-CFG-NOFILE", SG, ("0.5.9",), "DCFG",
        "OSError: /models/draft does not appear to have a file named config.json. Checkout "
        "'https://huggingface.co//models/draft/tree/main' for available files.",
        (MODEL_CONFIG, "transformers/utils/hub.py:cached_file"),
        {"checkpoint": "/models/draft", "file": "config.json"},
    ),
    Failure(
        "L-CFG-NOFILE", SG, ("0.5.9",), "DCFG",
        "OSError: org/k25 does not appear to have a file named configuration_deepseek.py. Checkout "
        "'https://huggingface.co/org/k25/tree/main' for available files.",
        (MODEL_CONFIG, "transformers/utils/hub.py:cached_file"),
        {"checkpoint": "org/k25", "file": "configuration_deepseek.py"},
    ),
    Failure(
        "L-CFG-NOTVALIDJSON", SG, ("0.5.9",), "DCFG",
        "OSError: It looks like the config file at '/models/draft/config.json' is not a valid JSON "
        "file.",
        (MODEL_CONFIG, "transformers/configuration_utils.py:_get_config_dict"),
        {"path": "/models/draft/config.json"},
    ),
    Failure(
        "L-CFG-NOTVALIDJSON", SG, ("0.5.16",), "DCFG",
        "json.decoder.JSONDecodeError: Expecting ',' delimiter: line 3 column 20 (char 61)",
        (MODEL_CONFIG, "json/decoder.py:raw_decode"),
        {"line": 3, "column": 20},
    ),
    Failure(
        "L-CFG-NOTVALIDJSON", SG, ("0.5.16",), "DCFG",
        "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80 in position 0: invalid "
        "start byte",
        (MODEL_CONFIG,), {"byte": "0x80", "position": 0},
    ),
    Failure(
        "L-CFG-STRICT", SG, ("0.5.12", "0.5.23"), "DCFG",
        "huggingface_hub.errors.StrictDataclassFieldValidationError: Validation error for field "
        "'rope_theta':\n    TypeError: Field 'rope_theta' expected float, got str (value: '1e7')",
        (MODEL_CONFIG, "huggingface_hub/dataclasses.py:validate"),
        {"key": "rope_theta", "expected": "float", "got": "str"},
    ),
    Failure(
        "L-CFG-STRICT", SG, ("0.5.12",), "DCFG",
        "huggingface_hub.errors.StrictDataclassClassValidationError: Class validation error for "
        "validator 'validate_layer_type':\n    ValueError: the number of layers differs",
        (MODEL_CONFIG,), {"validator": "validate_layer_type"},
    ),
    Failure(
        "L-CFG-ARCH", SG, ("0.4.9.post6", "0.5.9"), "DW",
        "ValueError: Model architectures ['LlamaForCausalLMEagle3X'] are not supported for now. "
        "Supported architectures: dict_keys(['A', 'B'])",
        (f"{S}model_loader/utils.py:get_model_architecture",
         f"{S}models/registry.py:_raise_for_unsupported"),
        {"architectures": ["LlamaForCausalLMEagle3X"], "which": "draft"},
    ),
    Failure(
        "L-CFG-ARCH", SG, ("0.5.9",), "TW",
        "ValueError: Model architectures ['FooForCausalLM'] failed to be inspected. Please check "
        "the logs for more details.",
        (f"{S}model_executor/model_runner.py:load_model",
         f"{S}models/registry.py:_raise_for_unsupported"),
        {"architectures": ["FooForCausalLM"], "which": "target"},
    ),
    Failure(
        "L-CFG-ARCH-HF", SG, ("0.5.2", "0.5.16"), "DW",
        "ValueError: Cannot find model module. 'EagleLlamaForCausalLMEagle3' is not a registered "
        "model in the Transformers library (only relevant if the model is meant to be in "
        "Transformers) and 'AutoModel' is not present in the model config's 'auto_map'.",
        (f"{S}model_loader/utils.py:resolve_transformers_arch",),
        {"architecture": "EagleLlamaForCausalLMEagle3"},
    ),
    Failure(
        "L-CFG-ARCH-HF", SG, ("0.5.9",), "TW",
        "ValueError: FooForCausalLM has no SGlang implementation and the Transformers "
        "implementation is not compatible with SGLang.",
        (f"{S}model_executor/model_runner.py:load_model",
         f"{S}model_loader/utils.py:resolve_transformers_arch"),
        {"architecture": "FooForCausalLM"},
    ),
    Failure(
        "L-CFG-ARCH-VL", VL, ("0.16.0", "0.33.0"), "CFG",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n"
        "  Value error, Model architectures ['EagleQwen2ForCausalLM'] are not supported for now. "
        "Supported architectures: dict_keys(['A']) [type=value_error, input_value={}]",
        (SPECULATIVE,), {"architectures": ["EagleQwen2ForCausalLM"], "which": "draft"}, None,
        "APIServer",
    ),
    Failure(
        "L-CFG-E3TYPE", VL, ("0.8.5",), "CFG",
        "ValueError: Eagle3 is only supported for Llama models. Got "
        "self.target_model_config.hf_text_config.model_type='qwen3'",
        (SPECULATIVE, f"{V}config.py:_verify_args"), {"model_type": "qwen3"}, None, "APIServer",
    ),
    Failure(
        "L-CFG-E3TYPE", VL, ("0.16.0",), "CFG",
        PYDANTIC + "  Value error, Eagle3 is only supported for ['llama', 'qwen'] models. Got "
        "self.target_model_config.hf_text_config.model_type='minimax_m2' [type=value_error]",
        (SPECULATIVE,), {"model_type": "minimax_m2"}, None, "APIServer",
    ),
    Failure(
        "L-CFG-VOCAB", VL, ("0.16.0",), "CFG",
        "ValueError: Target and draft model should have the same vocabulary size. Target model "
        "vocab_size=152064. Draft model vocab_size=151936. Using models with different tokenizers.",
        (SPECULATIVE, f"{V}config/speculative.py:verify_equal_vocab_size_if_draft_model"),
        {"target_vocab": 152064, "draft_vocab": 151936}, None, "APIServer",
    ),
    Failure(
        "L-CFG-VOCAB", VL, ("0.8.5",), "CFG", "AssertionError",
        (f"{V}spec_decode/spec_decode_worker.py:_vocab_size:assert all(vocab_sizes[0] == "
         "vocab_size for vocab_size in vocab_sizes)",), {}, None, "APIServer",
    ),
    Failure(
        "L-CFG-SG-VOCAB", SG, ("0.5.16",), "DW",
        "ValueError: STANDALONE speculative decoding requires the draft model to share the same "
        "vocabulary as the target model, but got target vocab size 152064 and draft 151936.",
        (f"{S}speculative/standalone_worker_v2.py:__init__",), {},
    ),
    Failure(
        "L-CFG-DRAFTARCHNULL", SG, ("0.5.9",), "DCFG",
        "TypeError: 'NoneType' object is not subscriptable",
        (f"{S}configs/model_config.py:__init__",),
    ),
    Failure(
        "L-CFG-DRAFTARCHNULL", SG, ("0.5.9",), "DCFG", "IndexError: list index out of range",
        (f"{S}configs/model_config.py:_config_draft_model",),
    ),
    Failure(
        "L-CFG-DVS", SG, ("0.5.9", "0.5.19"), "DW",
        "AttributeError: 'LlamaConfig' object has no attribute 'draft_vocab_size'",
        (f"{DRAFT_MODEL}__init__",), {"config_class": "LlamaConfig"},
    ),
    Failure(
        "L-CFG-ROPEKEY", SG, ("0.5.9",), "DW", "KeyError: 'factor'",
        (f"{DRAFT_MODEL}__init__", f"{S}layers/rotary_embedding.py:get_rope"), {"key": "factor"},
    ),
    Failure(
        "L-CFG-ROPEKEY", VL, ("0.31.0",), "DW", "ValueError: Unknown RoPE scaling type yarn2",
        (f"{V}model_executor/layers/rotary_embedding/__init__.py:get_rope",),
        {"rope_type": "yarn2"},
    ),
    Failure(
        "L-CFG-TP", VL, ("0.16.0",), "CFG",
        "ValueError: Total number of attention heads (64) must be divisible by tensor parallel "
        "size (3).",
        (f"{V}config/model.py:verify_with_parallel_config",), {"heads": 64, "tp": 3}, None,
        "APIServer",
    ),
    Failure(
        "L-CFG-TP", SG, ("0.5.9",), "DW", "AssertionError",
        (f"{DRAFT_MODEL}__init__:assert self.total_num_heads % tp_size == 0",),
    ),
    Failure(
        "L-CFG-TP", SG, ("0.5.9",), "TW", "AssertionError: 5 is not divisible by 2",
        (f"{S}model_executor/model_runner.py:load_model", f"{S}distributed/utils.py:divide"),
        {"heads": 5, "tp": 2},
    ),
)  # fmt: skip

LOADER = f"{S}model_loader/loader.py:load_model"
WEIGHTS = (
    Failure(
        "L-E3-IFACE", SG, ("0.5.2", "0.5.9"), "TGR",
        "AttributeError: 'GraniteForCausalLM' object has no attribute "
        "'set_eagle3_layers_to_capture'",
        (f"{S}model_executor/model_runner.py:initialize",
         f"{S}model_executor/cuda_graph_runner.py:__init__"),
        {"target_class": "GraniteForCausalLM", "attribute": "set_eagle3_layers_to_capture"}, "TKV",
    ),
    Failure(
        "L-E3-IFACE", SG, ("0.5.16", "0.5.19"), "TKV",
        "AttributeError: 'GraniteForCausalLM' object has no attribute "
        "'set_eagle3_layers_to_capture'",
        (f"{S}model_executor/model_runner_components/attention_backend_setup.py:"
         "configure_aux_hidden_state_capture",),
        {"target_class": "GraniteForCausalLM"}, "TW|TKV",
    ),
    Failure(
        "L-E3-IFACE23", SG, ("0.5.23",), "TKV",
        "ValueError: Model GraniteForCausalLM does not implement set_eagle3_layers_to_capture, "
        "which EAGLE3 aux hidden-state capture requires.",
        (f"{S}model_executor/model_runner_components/attention_backend_setup.py:"
         "configure_aux_hidden_state_capture",),
        {"target_class": "GraniteForCausalLM"}, "TW",
    ),
    Failure(
        "L-E3-IFACE-VL", VL, ("0.10.2", "0.16.0"), "DW",
        "RuntimeError: Model does not support EAGLE3 interface but aux_hidden_state_outputs was "
        "requested",
    ),
    Failure(
        "L-E3-IFACE-VL", VL, ("0.31.0",), "DW",
        "RuntimeError: Model does not support EAGLE3 interface",
        (f"{V}v1/worker/gpu/model_runner.py:load_model",),
    ),
    Failure(
        "L-E3-EMBED", SG, ("0.5.9", "0.5.23"), "DW",
        "AttributeError: 'Qwen2ForCausalLM' object has no attribute 'set_embed'",
        (), {"class": "Qwen2ForCausalLM", "attribute": "set_embed"},
    ),
    Failure(
        "L-E3-EMBED", SG, ("0.5.2",), "DW",
        "AttributeError: 'LlamaForCausalLM' object has no attribute 'hot_token_id'",
        (), {"class": "LlamaForCausalLM", "attribute": "hot_token_id"},
    ),
    Failure(
        "L-E3-NULLCFG", SG, ("0.5.8", "0.5.12"), "DW",
        "AttributeError: 'NoneType' object has no attribute 'get'",
        (f"{S}speculative/eagle_worker.py:_set_hot_token",),
    ),
    Failure(
        "L-E3-LAYERS", SG, ("0.5.9",), "DW",
        "ValueError: EAGLE3 currently only supports 1 layer", (f"{DRAFT_MODEL}__init__",),
    ),
    Failure(
        "L-W-SIZE", SG, ("0.4.9.post6", "0.5.16"), "DW",
        "AssertionError: Attempted to load weight (torch.Size([32000, 4096])) into parameter "
        "(torch.Size([128256, 4096]))",
        (LOADER, f"{DRAFT_MODEL}load_weights",
         f"{S}model_loader/weight_utils.py:default_weight_loader"),
        {"loaded": [32000, 4096], "expected": [128256, 4096], "which": "draft",
         "model_file": "llama_eagle3.py"},
    ),
    Failure(
        "L-W-SIZE", VL, ("0.16.0",), "TW",
        "AssertionError: Attempted to load weight (torch.Size([5])) into parameter "
        "(torch.Size([6]))",
        (f"{V}model_executor/models/qwen3.py:load_weights",), {"loaded": [5], "which": "target"},
    ),
    Failure(
        "L-W-EMPTY", SG, ("0.5.9",), "DW", "AssertionError",
        (LOADER, f"{DRAFT_MODEL}load_weights",
         f"{S}layers/linear.py:weight_loader:assert param_data.shape == loaded_weight.shape"),
        {"assertion": "param_data.shape == loaded_weight.shape"},
    ),
    Failure(
        "L-W-EMPTY", VL, ("0.10.2",), "DW", "AssertionError",
        (f"{V}model_executor/layers/vocab_parallel_embedding.py:weight_loader:"
         "assert loaded_weight.shape[output_dim] == self.org_vocab_size",),
        {"assertion": "loaded_weight.shape[output_dim] == self.org_vocab_size"},
    ),
    Failure(
        "L-W-EMPTY", SG, ("0.5.9",), "DW", "AssertionError",
        (f"{S}layers/parameter.py:load_merged_column_weight:assert self.data.shape == w.shape",),
    ),
    Failure(
        "L-W-KEY", SG, ("0.5.9",), "DW", "KeyError: 'lm_head.weight'",
        (LOADER, f"{DRAFT_MODEL}load_weights"), {"key": "lm_head.weight"},
    ),
    Failure(
        "L-W-KEY", VL, ("0.9.2", "0.33.0"), "DW", "KeyError: 'embed_tokens.weight'",
        (f"{V}model_executor/models/llama_eagle3.py:load_weights",), {"key": "embed_tokens.weight"},
    ),
    Failure(
        "L-W-KIMI", SG, ("0.5.9",), "TW",
        "ValueError: Weight vision_tower.x not found in params_dict",
        (LOADER, f"{S}models/kimi_k25.py:load_weights"), {"key": "vision_tower.x"},
    ),
    Failure(
        "L-W-NOINIT", VL, ("0.16.0",), "DW",
        "ValueError: Following weights were not initialized from checkpoint: {'model.norm.weight'}",
        (f"{V}model_executor/model_loader/default_loader.py:load_weights",),
        {"names": ["model.norm.weight"]},
    ),
    Failure(
        "L-W-NOINIT", VL, ("0.10.2",), "DW",
        "ValueError: There is no module or parameter named 'midlayer' in LlamaForCausalLM",
        (f"{V}model_executor/models/utils.py:_load_module",),
        {"key": "midlayer", "class": "LlamaForCausalLM"},
    ),
    Failure(
        "L-W-NOINIT", VL, ("0.31.0",), "DW",
        "ValueError: MTP speculative decoding layer 61 weights missing from checkpoint.",
        (), {"layer": 61},
    ),
    Failure(
        "L-W-MOE", SG, ("0.5.9", "0.5.19"), "DW",
        "RuntimeError: The size of tensor a (4096) must match the size of tensor b (2048) at "
        "non-singleton dimension 1",
        (LOADER, f"{S}layers/moe/fused_moe_triton/layer.py:_load_w13"), {"a": 4096, "b": 2048},
    ),
    Failure(
        "L-W-SHARD", SG, ("0.5.9",), "TW",
        "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
        (LOADER, f"{S}model_loader/weight_utils.py:safetensors_weights_iterator"),
        {"error": "HeaderTooLarge"},
    ),
    Failure(
        "L-W-SHARD", VL, ("0.16.0",), "DW",
        "RuntimeError: Cannot find any model weights with `/models/draft`",
        (f"{V}model_executor/model_loader/default_loader.py:_prepare_weights",),
        {"path": "/models/draft"},
    ),
    Failure(
        "L-W-SHARD", SG, ("0.5.9",), "TW",
        "FileNotFoundError: [Errno 2] No such file or directory: "
        "'/models/t/model-00007-of-00064.safetensors'",
        (LOADER,), {"path": "/models/t/model-00007-of-00064.safetensors"},
    ),
    Failure(
        "L-W-QUANT", SG, ("0.4.9.post6", "0.5.5"), "DCFG",
        "ValueError: Quantization method specified in the model config (fp8) does not match the "
        "quantization method specified in the `quantization` argument (modelopt_fp4).",
        (f"{S}configs/model_config.py:_verify_quantization",),
        {"config_method": "fp8", "argument_method": "modelopt_fp4"},
    ),
    Failure(
        "L-W-QUANT-MARLIN", VL, ("0.8.5",), "DW",
        "ValueError: Marlin does not support weight_bits = uint4b8. Only types = [] are supported "
        "(for group_size = 128, min_capability = 70, zp = False).",
        (), {"type": "uint4b8"},
    ),
    Failure(
        "L-SHAPE-FC", SG, ("0.5.2", "0.5.23"), "DGR",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x14336 and 21504x7168)",
        (f"{S}speculative/eagle_draft_extend_cuda_graph_runner.py:capture_one_batch_size",
         f"{DRAFT_MODEL}forward"), {"given": 14336, "expected": 21504},
    ),
    Failure(
        "L-SHAPE-FC", VL, ("0.31.0",), "RUN",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x10240 and 12800x2560)",
        (f"{V}v1/spec_decode/eagle.py:propose",
         f"{V}model_executor/models/llama_eagle3.py:combine_hidden_states"),
        {"given": 10240, "expected": 12800},
    ),
    Failure(
        "L-SHAPE-AUX", SG, ("0.5.9",), "DGR",
        "RuntimeError: The size of tensor a (8640) must match the size of tensor b (5760) at "
        "non-singleton dimension 1",
        (f"{S}speculative/eagle_draft_cuda_graph_runner.py:run_once", f"{DRAFT_MODEL}forward"),
        {"a": 8640, "b": 5760},
    ),
    Failure(
        "L-SHAPE-DTYPE", SG, ("0.5.9",), "DGR",
        "RuntimeError: expected mat1 and mat2 to have the same dtype, but got: float != c10::Half",
        (f"{S}speculative/eagle_draft_cuda_graph_runner.py:run_once",),
        {"a": "float", "b": "c10::Half"},
    ),
    Failure(
        "L-SHAPE-DTYPE", SG, ("0.5.9",), "RUN",
        "RuntimeError: mat1 and mat2 must have the same dtype, but got BFloat16 and Half",
        (f"{DRAFT_MODEL}forward",), {"a": "BFloat16", "b": "Half"},
    ),
    Failure(
        "L-SHAPE-DTYPE", VL, ("0.9.2",), "RUN",
        "RuntimeError: query and key must have the same dtype",
        (f"{V}v1/attention/backends/flash_attn.py:forward",),
    ),
    Failure(
        "L-SHAPE-HID", SG, ("0.5.9",), "RUN",
        "RuntimeError: Sizes of tensors must match except in dimension 0. Expected size 4096 but "
        "got size 2048 for tensor number 1 in the list.",
        (f"{S}speculative/eagle_info.py:merge_batch",), {"expected": 4096, "got": 2048},
    ),
    Failure(
        "L-SHAPE-VLASSERT", VL, ("0.9.2",), "DGR", "AssertionError",
        (f"{V}model_executor/models/llama_eagle3.py:forward:assert hidden_states.shape[-1] == "
         "input_embeds.shape[-1]",),
    ),
    Failure(
        "L-SHAPE-VLASSERT", VL, ("0.31.0",), "DGR",
        "AssertionError: All layers in one attention group must share num_heads; got {8, 4}",
        (), {"heads": "{8, 4}"},
    ),
    Failure(
        "L-HOTTOK", SG, ("0.4.9.post2",), "DGR",
        "RuntimeError: CUDA error: device-side assert triggered",
        (f"{S}speculative/eagle_draft_cuda_graph_runner.py:capture_one_batch_size",
         f"{S}speculative/eagle_worker.py:draft_forward:topk_index = "
         "self.hot_token_id[topk_index]"),
    ),
    Failure(
        "L-TOPK-OOR", SG, ("0.4.9.post6",), "DGR", "RuntimeError: selected index k out of range",
        (f"{S}speculative/eagle_draft_cuda_graph_runner.py:run_once",
         f"{S}speculative/eagle_utils.py:select_top_k_tokens"),
    ),
    Failure(
        "L-TOPK-OOR", SG, ("0.4.9.post6",), "RUN",
        "triton.compiler.errors.CompilationError: at 3:14:\n    x = tl.arange(0, n)\n"
        "              ^\nValueError: arange's range must be a power of 2",
        (f"{S}speculative/eagle_worker.py:draft",),
    ),
)  # fmt: skip

ARGUMENT_FAILURES = (
    Failure(
        "L-ARG-BARE", SG, ("0.4.9.post6", "0.5.9", "0.5.16"), "ARG", "AssertionError",
        (f"{S}server_args.py:_handle_speculative_decoding:assert "
         "(self.speculative_eagle_topk is None and self.speculative_num_draft_tokens is None)",),
        {"missing_flag": "--speculative-num-steps"}, None, "main",
    ),
    Failure(
        "L-ARG-NONE", SG, ("0.5.2", "0.5.23"), "ARG",
        "TypeError: '>' not supported between instances of 'NoneType' and 'int'", (),
        {"missing_flag": "--speculative-eagle-topk"}, None, "main",
    ),
    Failure(
        "L-ARG-NONE", VL, ("0.16.0",), "CFG",
        "TypeError: '>' not supported between instances of 'NoneType' and 'int'", (SPECULATIVE,),
        {"missing_flag": "num_speculative_tokens"}, None, "APIServer",
    ),
    Failure(
        "L-ARG-PAGE", SG, ("0.5.9",), "ARG",
        "ValueError: speculative_eagle_topk > 1 with page_size > 1 is unstable and produces "
        "incorrect results for paged attention backends.", (), {}, None, "main",
    ),
    Failure(
        "L-ARG-PAGE", SG, ("0.5.16",), "ARG",
        "ValueError: speculative_eagle_topk > 1 with page_size > 1 is only supported on "
        "['fa3', 'flashinfer']; got attention_backend=triton", (), {"backend": "triton"}, None,
        "main",
    ),
    Failure(
        "L-ARG-PAGE", SG, ("0.5.16",), "ARG",
        "ValueError: speculative_eagle_topk(4) > 1 with page_size(64) > 1 is unstable",
        (), {"topk": 4, "page_size": 64}, None, "main",
    ),
    Failure(
        "L-ARG-TRTLLM", SG, ("0.5.9",), "ARG",
        "ValueError: trtllm_mha backend only supports topk = 1 for speculative decoding.", (),
        {}, None, "main",
    ),
    Failure(
        "L-ARG-SPECV2", SG, ("0.5.9",), "ARG",
        "ValueError: Spec v2 currently only supports topk = 1 for speculative decoding.", (),
        {}, None, "main",
    ),
    Failure(
        "L-ARG-ALG", SG, ("0.5.16",), "ARG",
        "ValueError: Unknown speculative algorithm name: EAGLE4. Known: EAGLE, EAGLE3",
        (f"{S}speculative/spec_info.py:from_string",), {"algorithm": "EAGLE4"}, None, "main",
    ),
    Failure(
        "L-ARG-NODRAFT", SG, ("0.5.16",), "ARG",
        "ValueError: DFLASH speculative decoding requires setting "
        "--speculative-draft-model-path.", (), {"algorithm": "DFLASH"}, None, "main",
    ),
    Failure(
        "L-ARG-PP", SG, ("0.5.2", "0.5.9"), "ARG",
        "AssertionError: Pipeline parallelism is not compatible with overlap schedule, speculative "
        "decoding, mixed chunked prefill.", (f"{S}server_args.py:check_server_args",), {}, None,
        "main",
    ),
    Failure(
        "L-ARG-PP", SG, ("0.5.9",), "TW",
        "AssertionError: PP is not compatible with MTP models.", (), {}, "TW",
    ),
    Failure(
        "L-ARG-VLKEY", VL, ("0.16.0",), "CFG",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n"
        "num_tokens\n  Unexpected keyword argument [type=unexpected_keyword_argument, "
        "input_value=3, input_type=int]", (SPECULATIVE,), {"key": "num_tokens"}, None, "APIServer",
    ),
    Failure(
        "L-ARG-VLKEY", VL, ("0.8.5",), "CFG",
        "TypeError: SpeculativeConfig.__init__() got an unexpected keyword argument 'num_tokens'",
        (SPECULATIVE,), {"key": "num_tokens"}, None, "APIServer",
    ),
    Failure(
        "L-ARG-VLNUM", VL, ("0.9.2",), "CFG",
        "ValueError: num_speculative_tokens:5 must be divisible by n_predict=2", (SPECULATIVE,),
        {"num_spec_tokens": 5, "n_predict": 2}, None, "APIServer",
    ),
    Failure(
        "L-ARG-VLNUM", VL, ("0.24.0",), "CFG",
        PYDANTIC + "  Value error, A speculative model was provided, but "
        "`num_speculative_tokens` was not provided [type=value_error]",
        (SPECULATIVE,), {}, None, "APIServer",
    ),
    Failure(
        "L-ARG-VLNUM", VL, ("0.9.2",), "CFG",
        "ValueError: Expected num_speculative_tokens to be greater than zero (0).", (SPECULATIVE,),
        {"num_spec_tokens": 0}, None, "APIServer",
    ),
    Failure(
        "L-ARG-VLTP", VL, ("0.9.2",), "CFG",
        "ValueError: speculative_draft_tensor_parallel_size=2 cannot be other value than 1 or "
        "target model tensor_parallel_size", (SPECULATIVE,), {"draft_tp": 2}, None, "APIServer",
    ),
    Failure(
        "L-ARG-VLTP", VL, ("0.31.0",), "DW",
        "ValueError: Currently, 'draft_tensor_parallel_size' and 'tensor_parallel_size' must be "
        "the same. Got 1 and 8. Please pass 'draft_tensor_parallel_size' in speculative_config.",
        (f"{V}v1/spec_decode/draft_model.py:_raise_if_draft_tp_mismatch",),
        {"draft_tp": 1, "tp": 8},
    ),
    Failure(
        "L-ARG-VLMETHOD", VL, ("0.16.0",), "CFG",
        "NotImplementedError: Unsupported speculative method: 'lookahead'", (SPECULATIVE,),
        {"method": "lookahead"}, None, "APIServer",
    ),
    Failure(
        "L-ARG-VLMETHOD", VL, ("0.10.2",), "CFG",
        "NotImplementedError: Speculative decoding with draft model is not supported yet. Please "
        "consider using other speculative decoding methods such as ngram, medusa, eagle, or "
        "deepseek_mtp.", (SPECULATIVE,), {"method": "draft model"}, None, "APIServer",
    ),
)  # fmt: skip

CAPTURE = "Exception: Capture cuda graph failed: "
RESOURCE_FAILURES = (
    Failure(
        "L-BK-MLA", SG, ("0.5.2", "0.5.12", "0.5.16"), "DKV",
        "ValueError: trtllm_mla backend can only be used with MLA models.",
        (f"{S}layers/attention/attention_registry.py:create_trtllm_mla_backend",),
        {"backend": "trtllm_mla"},
    ),
    Failure(
        "L-BK-EAGLE", SG, ("0.4.9.post6",), "DKV",
        "ValueError: EAGLE is not supported in attention backend flex_attention", (),
        {"backend": "flex_attention"},
    ),
    Failure(
        "L-BK-EAGLE", SG, ("0.5.9",), "DKV",
        "ValueError: EAGLE is not supported in decode attention backend aiter",
        (f"{S}speculative/draft_utils.py:_create_backend",), {"backend": "aiter"},
    ),
    Failure(
        "L-BK-FLASHMLA", SG, ("0.5.9",), "DKV",
        "ValueError: Currently Flashinfer MLA only supports topk=1 for speculative decoding", (),
        {"backend": "Flashinfer MLA"},
    ),
    Failure(
        "L-BK-FLASHMLA", SG, ("0.5.9",), "DKV",
        "ValueError: Currently FlashMLA only supports topk=1 for speculative decoding", (),
        {"backend": "FlashMLA"},
    ),
    Failure(
        "L-BK-FLEX", SG, ("0.5.9",), "ARG",
        "AssertionError: Speculative decoding is currently not supported with Flex Attention "
        "backend", (), {}, None, "main",
    ),
    Failure(
        "L-BK-INVALID", SG, ("0.5.9",), "TKV", "ValueError: Invalid attention backend: fa9",
        (f"{S}model_executor/model_runner.py:init_attention_backend",), {"backend": "fa9"},
    ),
    Failure(
        "L-BK-VL", VL, ("0.16.0",), "DW",
        "ValueError: Selected backend AttentionBackendEnum.FLASHMLA is not valid for this "
        "configuration. Reason: ['non-MLA not supported']",
        (f"{V}platforms/cuda.py:get_attn_backend_cls",), {"reasons": ["non-MLA not supported"]},
    ),
    Failure(
        "L-BK-VL", VL, ("0.24.0",), "TW",
        "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig("
        "head_size=80). Reasons: {FLASH_ATTN: [head_size not supported]}.",
        (f"{V}platforms/cuda.py:get_attn_backend_cls",),
    ),
    Failure(
        "L-BK-VLMETA", VL, ("0.16.0",), "RUN",
        "ValueError: Unsupported attention metadata type for speculative decoding with "
        "num_speculative_tokens > 1: <class 'x.MlaMetadata'>. Supported types are: (A, B)",
        (f"{V}v1/spec_decode/eagle.py:propose",), {"metadata_type": "<class 'x.MlaMetadata'>"},
    ),
    Failure(
        "L-MEM-TKV", SG, ("0.5.2",), "TKV",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        (f"{S}model_executor/model_runner.py:init_memory_pool",),
    ),
    Failure(
        "L-MEM-TKV", SG, ("0.5.9",), "TKV",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current "
        "value: self.server_args.mem_fraction_static=0.62",
        (f"{S}model_executor/model_runner.py:init_memory_pool",), {"mem_fraction_static": 0.62},
    ),
    Failure(
        "L-MEM-TKV", SG, ("0.5.16", "0.5.23"), "TKV",
        "ValueError: Loaded weights leave no GPU memory for the KV cache under "
        "--mem-fraction-static=0.50. Raise --mem-fraction-static above 0.71 (minimum viable = 1 - "
        "available/pre = 0.705). If using speculative decoding, draft weights are now counted.",
        (f"{S}mem_cache/kv_cache_configurator.py:_profile_available_bytes",),
        {"mem_fraction_static": 0.5, "needed_fraction": 0.71, "minimum_fraction": 0.705},
    ),
    Failure(
        "L-MEM-GRAPH", SG, ("0.5.2", "0.5.9"), "TGR", f"{CAPTURE}{OOM}{CAPTURE_ADVICE}",
        (f"{S}model_executor/cuda_graph_runner.py:__init__",),
        {"tried": "2.50 GiB", "capacity": "79.11 GiB", "free": "1.25 GiB", "where": "target"},
    ),
    Failure(
        "L-MEM-GRAPH", SG, ("0.5.19",), "DGR",
        f"RuntimeError: Capture prefill CUDA graph failed: {OOM}{CAPTURE_ADVICE}",
        (f"{S}speculative/eagle_draft_cuda_graph_runner.py:__init__",), {"where": "draft"},
    ),
    Failure(
        "L-MEM-OOM", SG, ("0.5.9",), "TW", OOM, (f"{S}model_executor/model_runner.py:load_model",),
        OOM_VALUES,
    ),
    Failure(
        "L-MEM-OOM", SG, ("0.5.9",), "DW", OOM.replace("torch.Out", "torch.cuda.Out"),
        (f"{S}model_executor/model_runner.py:load_model",), OOM_VALUES,
    ),
    Failure("L-MEM-OOM", VL, ("0.16.0",), "DW", OOM, (), OOM_VALUES),
    Failure("L-MEM-OOM", SG, ("0.5.9",), "RUN", OOM, (), OOM_VALUES),
    Failure(
        "L-MEM-UNBAL", SG, ("0.5.2",), "DIST",
        "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other "
        "processes. pre_model_load_memory=40.1, local_gpu_memory=78.2, local_gpu_memory * 0.9=70.4",
        (f"{S}model_executor/model_runner.py:init_torch_distributed",),
    ),
    Failure(
        "L-MEM-RUN", SG, ("0.5.9",), "RUN",
        "RuntimeError: Decode out of memory. Try to lower your batch size.\nTry to allocate 48 "
        "tokens.",
    ),
    Failure(
        "L-MEM-RUN", SG, ("0.5.9",), "RUN",
        "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for "
        "`--max-running-requests`.",
    ),
    Failure(
        "L-MEM-VLKV", VL, ("0.24.0",), "TKV",
        "ValueError: To serve at least one request with the model's max seq len (131072), (33.00 "
        "GiB KV cache is needed, which is larger than the available KV cache memory (3.10 GiB). "
        "Based on the available memory, the estimated maximum model length is 12304.",
        (f"{V}v1/core/kv_cache_utils.py:check_enough_kv_cache_memory",),
        {"max_seq_len": 131072, "needed_gib": 33.0, "available_gib": 3.1, "estimated_max": 12304},
        None, "EngineCore",
    ),
    Failure(
        "L-MEM-VLKV", VL, ("0.33.0",), "TKV",
        "ValueError: No available memory for the cache blocks. Try increasing "
        "`gpu_memory_utilization` when initializing the engine.",
        (f"{V}v1/core/kv_cache_planning.py:check_enough_kv_cache_memory",), {}, None, "EngineCore",
    ),
    Failure(
        "L-MEM-VLFREE", VL, ("0.16.0",), "DIST",
        "ValueError: Free memory on device cuda:1 (10.20/79.11 GiB) on startup is less than "
        "desired GPU memory utilization (0.9, 71.20 GiB). Decrease GPU memory utilization.",
        (f"{V}v1/worker/gpu_worker.py:init_device",),
        {"free_gib": 10.2, "total_gib": 79.11, "utilization": 0.9},
    ),
    Failure(
        "L-VL-PAGESIZE", VL, ("0.10.2",), "TKV",
        "NotImplementedError: The page size of the layer is not divisible by the maximum page "
        "size. Cannot unify by adjusting block_size.",
        (f"{V}v1/core/kv_cache_utils.py:unify_kv_cache_spec_page_size",), {}, None, "EngineCore",
    ),
)  # fmt: skip

PYNCCL = f"{S}distributed/device_communicators/pynccl.py:__init__"
PARALLEL = f"{S}distributed/parallel_state.py:initialize_model_parallel"
SURROUNDING_FAILURES = (
    Failure(
        "L-NCCL-SYS", SG, ("0.5.9",), "DIST",
        "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
        (PARALLEL, PYNCCL),
    ),
    Failure(
        "L-NCCL-SYS", SG, ("0.5.9",), "DIST",
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/x.cpp:77, unhandled system "
        "error (run with NCCL_DEBUG=INFO for details), NCCL version 2.27.5\n"
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or "
        "device error. \nLast error:\nError while creating shared memory segment "
        "/dev/shm/nccl-AbCd (size 33030528), error: No space left on device (28)",
        (PARALLEL,),
        {"last_error": "No space left on device (28)", "segment_size": 33030528,
         "nccl_version": "2.27.5"},
    ),
    Failure(
        "L-NCCL-CUDA", SG, ("0.5.16",), "DIST",
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/x.cpp:77, unhandled cuda "
        "error (run with NCCL_DEBUG=INFO for details), NCCL version 2.29.2\n"
        "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n"
        "Cuda failure 401 'the operation cannot be performed in the present state'",
        (PARALLEL,),
        {"number": 401, "text": "the operation cannot be performed in the present state"},
    ),
    Failure(
        "L-NCCL-USAGE", SG, ("0.5.9",), "DIST",
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/x.cpp:77, invalid usage (run "
        "with NCCL_DEBUG=WARN for details), NCCL version 2.27.5\n"
        "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n"
        "No algorithm/protocol available for function AllGather with datatype ncclInt8. NCCL_ALGO "
        "was set to Tree.",
        (PARALLEL,),
        {"function": "AllGather", "datatype": "ncclInt8", "nccl_algo": "Tree"},
    ),
    Failure(
        "L-NCCL-USAGE", VL, ("0.16.0",), "DIST",
        "torch.distributed.DistBackendError: NCCL error in: x, invalid usage\n"
        "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n"
        "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 3b000",
        (f"{V}distributed/parallel_state.py:init_distributed_environment",),
        {"last_error": "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 3b000"},
    ),
    Failure(
        "L-DIST-STORE", SG, ("0.5.9",), "DIST",
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 "
        "clients joined.", (PARALLEL,), {"seconds": 601, "joined": 7, "expected": 8},
    ),
    Failure(
        "L-DIST-STORE", SG, ("0.5.9",), "DIST",
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
        "network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: "
        "address already in use", (PARALLEL,), {"port": 29500},
    ),
    Failure(
        "L-HUB-404", SG, ("0.5.9",), "DCFG",
        "OSError: /models/no-draft is not a local folder and is not a valid model identifier "
        "listed on 'https://huggingface.co/models'\nIf this is a private repository, log in.",
        (MODEL_CONFIG,), {"checkpoint": "/models/no-draft"},
    ),
    Failure(
        "L-HUB-404", SG, ("0.5.16",), "ARG",
        "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error. (Request ID: Root=1)\n\n"
        "Repository Not Found for url: https://huggingface.co/org/nothing/resolve/main/config.json."
        "\nPlease make sure you specified the correct `repo_id` and `repo_type`.",
        (), {"checkpoint": "org/nothing"}, "ARG", "main",
    ),
    Failure(
        "L-HUB-404", SG, ("0.5.9",), "DCFG",
        "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or "
        "'namespace/repo_name': '/models/a/b/c'. Use `repo_type` argument if needed.",
        (MODEL_CONFIG,), {"checkpoint": "/models/a/b/c"},
    ),
    Failure(
        "L-HUB-GATED", SG, ("0.5.9",), "DCFG",
        "OSError: You are trying to access a gated repo.\nMake sure to have access to it at "
        "https://huggingface.co/org/gated.\n401 Client Error. (Request ID: Root=1)",
        (MODEL_CONFIG,), {"checkpoint": "org/gated"},
    ),
    Failure(
        "L-HUB-REV", SG, ("0.5.9",), "DCFG",
        "OSError: v9 is not a valid git identifier (branch name, tag name or commit id) that "
        "exists for this model name.", (MODEL_CONFIG,), {"revision": "v9"},
    ),
    Failure(
        "L-HUB-OFFLINE", SG, ("0.5.9",), "DCFG",
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't "
        "find them in the cached files.", (MODEL_CONFIG,), {"endpoint": "https://huggingface.co"},
    ),
    Failure(
        "L-HUB-OFFLINE", VL, ("0.16.0",), "CFG",
        "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/api: "
        "offline mode is enabled. To disable it, please unset the `HF_HUB_OFFLINE` variable.",
        (), {"endpoint": "https://huggingface.co/api"}, None, "APIServer",
    ),
    Failure(
        "L-OS-SPACE", SG, ("0.5.9",), "TW",
        "OSError: [Errno 28] No space left on device: '/root/.cache/huggingface/x'",
        (f"{S}model_executor/model_runner.py:load_model",),
        {"path": "/root/.cache/huggingface/x"},
    ),
    Failure(
        "L-OS-PERM", SG, ("0.5.9",), "DW",
        "PermissionError: [Errno 13] Permission denied: '/models/draft/model.safetensors'",
        (LOADER,), {"path": "/models/draft/model.safetensors"},
    ),
    Failure(
        "L-OS-PERM", SG, ("0.5.9",), "DCFG",
        "OSError: PermissionError at /root/.cache/hub when downloading org/draft. Check cache "
        "directory permissions.", (MODEL_CONFIG,), {"path": "/root/.cache/hub"},
    ),
    Failure(
        "L-OS-PORT", VL, ("0.16.0",), "ARG",
        "OSError: [Errno 98] Address already in use", (
            f"{V}entrypoints/openai/api_server.py:create_server_socket",), {}, None, "APIServer",
    ),
    Failure(
        "L-ENV-CUDA", SG, ("0.5.9",), "DIST", "RuntimeError: No CUDA GPUs are available",
        (f"{S}model_executor/model_runner.py:init_torch_distributed",),
    ),
    Failure(
        "L-ENV-CUDA", SG, ("0.5.9",), "DIST",
        "torch.AcceleratorError: CUDA error: invalid device ordinal\nGPU device may be out of "
        "range",
        (f"{S}model_executor/model_runner.py:init_torch_distributed",),
    ),
    Failure(
        "L-ENV-CUDA", SG, ("0.5.9",), "DIST",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please "
        "update your GPU driver.", (f"{S}model_executor/model_runner.py:init_torch_distributed",),
        {"driver": 12020},
    ),
    Failure(
        "L-ENV-IMPORT", SG, ("0.5.9",), "ARG",
        "ImportError: /x/sgl_kernel/common_ops.abi3.so: undefined symbol: _ZN3c104cuda",
        ("sglang/launch_server.py:<module>",), {"symbol": "_ZN3c104cuda"}, "ARG", "main",
    ),
    Failure(
        "L-ENV-IMPORT", VL, ("0.16.0",), "ARG", "ModuleNotFoundError: No module named 'flashinfer'",
        ("vllm/entrypoints/cli/main.py:main",), {"module": "flashinfer"}, None, "APIServer",
    ),
    Failure(
        "L-ENV-IMPORT", SG, ("0.5.9",), "ARG",
        "Exception: sgl-kernel is installed with version 0.3.1, which is less than the minimum "
        "required version 0.3.21. Please reinstall the latest version with pip.",
        (f"{S}utils/common.py:assert_pkg_version",),
        {"package": "sgl-kernel", "installed": "0.3.1", "required": "0.3.21"}, "ARG", "main",
    ),
    Failure(
        "L-RUN-LEAK", SG, ("0.5.2",), "RUN",
        "ValueError: token_to_kv_pool_allocator memory leak detected! available_size=299000, "
        "protected_size=0, self.max_total_num_tokens=300160",
        (), {"available_size": 299000},
    ),
    Failure(
        "L-RUN-LEAK", SG, ("0.5.9",), "RUN", "AssertionError: Mem Leak Detected! available=3", (),
    ),
    Failure(
        "L-UNKNOWN", SG, ("0.5.9",), "TKV", "ValueError: nothing of the kind is known",
        (f"{S}model_executor/model_runner.py:init_memory_pool",),
    ),
    Failure(
        "L-UNKNOWN", VL, ("0.16.0",), "DW", "ValueError: nothing of the kind is known",
    ),
)  # fmt: skip

FAILURES = (
    *CONTEXTS,
    *WEIGHTS,
    *ARGUMENT_FAILURES,
    *RESOURCE_FAILURES,
    *SURROUNDING_FAILURES,
)
