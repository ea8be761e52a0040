"""Causes in the weights: what the target cannot give, tensors that do not fit, shapes at work."""

from __future__ import annotations

from typing import Final

from specpreflight.engines.logs.causes.shape import Cause, cause

WEIGHTS: Final[tuple[Cause, ...]] = (
    cause(
        "L-E3-IFACE",
        r"'(?P<target_class>\w+)' object has no attribute "
        r"'(?P<attribute>set_\w*layers_to_capture)'",
        "TKV",
        "target-cannot-capture",
        "sglang",
    ),
    cause(
        "L-E3-IFACE23",
        r"Model (?P<target_class>\w+) does not implement (?P<attribute>set_\w*layers_to_capture)",
        "TW",
        "target-cannot-capture",
        "sglang",
    ),
    cause(
        "L-E3-IFACE-VL",
        r"Model does not support EAGLE3 interface",
        "DW",
        "vllm-target-unfit-for-drafts",
        "vllm",
    ),
    cause(
        "L-E3-EMBED",
        r"(?P<class>\w+)'?(?: object has no attribute| lacks) "
        r"'(?P<attribute>get_embed_and_head|set_embed|set_embed_and_head|hot_token_id)'",
        "DW",
        "algorithm-draft-mismatch",
        "sglang",
    ),
    cause(
        "L-E3-NULLCFG",
        r"'NoneType' object has no attribute 'get'",
        "DW",
        "config-inconsistent",
        "sglang",
        r"speculative/eagle_worker",
    ),
    cause("L-E3-LAYERS", r"EAGLE3 currently only supports 1 layer", "DW", "loader-refuses"),
    cause(
        "L-W-SIZE",
        r"Attempted to load weight \(torch\.Size\((?P<loaded>\[[^\]]*\])\)\) into parameter "
        r"\(torch\.Size\((?P<expected>\[[^\]]*\])\)\)",
        "TW|DW",
        "tensors-do-not-fit",
    ),
    cause(
        "L-W-EMPTY",
        r"AssertionError",
        "TW|DW",
        "tensors-do-not-fit",
        None,
        r"(?:linear|parameter|vocab_parallel_embedding)\.py:(?:\w*weight_loader\w*|load_\w*weight)|"
        r"param_data\.shape == loaded_weight\.shape|loaded_weight\.shape\[output_dim\] ==",
    ),
    cause(
        "L-W-KEY", r"KeyError: '(?P<key>[^']+)'", "TW|DW", "loader-refuses", None, r":load_weights"
    ),
    cause(
        "L-W-KEY",
        r"KeyError(?::| on)? '(?P<key>[\w.]+\.(?:weight|bias|\w*scale\w*|qweight|qzeros))'",
        "TW|DW",
        "loader-refuses",
    ),
    cause(
        "L-W-KIMI",
        r"Weight (?P<key>\S+) not found in params_dict",
        "TW|DW",
        "loader-refuses",
        "sglang",
    ),
    cause(
        "L-W-NOINIT",
        r"Following weights were not initialized from checkpoint: (?P<names>\{[^}]*\})|"
        r"There is no module or parameter named '(?P<key>[^']+)' in (?P<class>\w+)|"
        r"MTP speculative decoding layer (?P<layer>\d+) weights missing from checkpoint",
        "TW|DW",
        "parameters-without-weights",
    ),
    cause(
        "L-W-MOE",
        r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\)",
        "TW|DW",
        "quantization-contradicts",
        None,
        r"fused_moe\S*layer\.py|_load_w13|_load_w2",
    ),
    cause(
        "L-W-SHARD",
        r"Error while deserializing header: (?P<error>\w+)|Cannot find any model weights with "
        r"`(?P<path>[^`]+)`|No such file or directory: '(?P<path_>[^']+\.(?:safetensors|bin))'",
        "TW|DW",
        "weight-file-broken",
    ),
    cause(
        "L-W-QUANT",
        r"Quantization method specified in the model config \((?P<config_method>[^)]+)\) does not "
        r"match the quantization method specified in the `quantization` argument "
        r"\((?P<argument_method>[^)]+)\)",
        "CFG|DCFG",
        "quantization-unfit",
    ),
    cause(
        "L-W-QUANT-MARLIN",
        r"Marlin does not support weight_bits = (?P<type>\S+?)\. ",
        "DW",
        "quantization-inherited",
    ),
    cause(
        "L-SHAPE-FC",
        r"mat1 and mat2 shapes cannot be multiplied \((?P<rows>\w+)x(?P<given>\d+) and "
        r"(?P<expected>\d+)x(?P<columns>\d+)\)",
        "",
        "hidden-size-differs",
    ),
    cause(
        "L-SHAPE-AUX",
        r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\)",
        "",
        "hidden-size-differs",
    ),
    cause(
        "L-SHAPE-DTYPE",
        r"have the same dtype, but got:? (?P<a>\S+) (?:and|!=) (?P<b>[\w:]+)|"
        r"query and key must have the same dtype|rmsnorm\w*.*mixed dtypes",
        "",
        "dtype-differs",
    ),
    cause(
        "L-SHAPE-HID",
        r"Expected size (?P<expected>\d+) but got size (?P<got>\d+)",
        "RUN",
        "hidden-size-differs",
    ),
    cause(
        "L-SHAPE-VLASSERT",
        r"assert|AssertionError",
        "DGR",
        "hidden-size-differs",
        "vllm",
        r"hidden_states\.shape\[-1\] == input_embeds\.shape\[-1\]",
    ),
    cause(
        "L-SHAPE-VLASSERT",
        r"All layers in one attention group must share num_heads; got (?P<heads>\{[^}]*\})",
        "DGR",
        "heads-inconsistent",
        "vllm",
    ),
    cause(
        "L-HOTTOK",
        r"device-side assert",
        "DGR",
        "vocabulary-map-broken",
        "sglang",
        r"hot[-_]token|d2t|eagle_draft\w*graph_runner",
    ),
    cause(
        "L-TOPK-OOR",
        r"selected index k out of range|arange's range must be a power of 2",
        "",
        "step-counts-contradict",
    ),
)
