"""DFLASH and DSPARK: drafts that propose a whole block in one step.

Restates `server_args.py:_handle_speculative_decoding` (0.5.11, 0.5.12) and
`arg_groups/speculative_hook.py:_handle_dflash`, `_handle_dspark`,
`_resolve_dflash_draft_attention_backend` (0.5.13 and newer).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specpreflight.engines.sglang.model_facts import ConfigObject
from specpreflight.engines.sglang.server_args.speculative.common import (
    attention_backends,
    fix_at_one,
    limit_running_requests,
    turn_off_mixed_chunk,
    turn_off_overlap,
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.models.resolved import Event

DFLASH_BLOCK_SIZE: Final = 16
DSPARK_GAMMA: Final = 7
#: Keys by which a target's config says that it carries its own DSpark draft.
BUNDLED_DSPARK_KEYS: Final = (
    "dspark_block_size",
    "dspark_markov_rank",
    "dspark_noise_token_id",
    "dspark_target_layer_ids",
)
RAGGED_VERIFY_MODES: Final = ("static", "cap-accept", "compact")


def handle_dflash(args: ServerArgs) -> None:
    """Resolve the settings of DFLASH."""
    _check_dflash_device(args)
    _check_dflash_parallelism(args)
    if args.speculative_draft_model_path is None:
        args.stop(
            "arguments.draft-path-missing",
            "DFLASH needs `--speculative-draft-model-path`",
            "DFLASH speculative decoding requires setting --speculative-draft-model-path.",
            "speculative_draft_model_path",
        )
        return
    fix_at_one(args, "speculative_num_steps", "DFLASH")
    fix_at_one(args, "speculative_eagle_topk", "DFLASH")
    window = _check_block_size(args)
    _fill_block_size(args)
    if window is not None and window < int(args.speculative_num_draft_tokens):
        flag = "--speculative-draft-window-size"
        if not args.since("0.5.12"):
            flag = "DFLASH --speculative-dflash-draft-window-size"
        tokens = int(args.speculative_num_draft_tokens)
        args.stop(
            "arguments.draft-window-small",
            f"the draft window {window} is smaller than a block of {tokens}",
            f"{flag} must be >= --speculative-num-draft-tokens (block_size). "
            f"window_size={window}, block_size={tokens}.",
            "speculative_draft_window_size",
            "speculative_num_draft_tokens",
        )
    if args.since("0.5.15"):
        _resolve_draft_backend(args)
    limit_running_requests(args)
    if not args.since("0.5.14"):
        turn_off_overlap(
            args,
            "DFLASH has no overlap scheduler in this release",
            "Overlap scheduler is disabled when using DFLASH speculative decoding (spec v2 is not "
            "supported yet).",
        )
    if not args.since("0.5.19"):
        turn_off_mixed_chunk(
            args,
            "Mixed chunked prefill is disabled because of using dflash speculative decoding.",
        )


def _check_dflash_device(args: ServerArgs) -> None:
    device = str(args.device)
    if not args.since("0.5.16") or device.startswith("cuda"):
        return
    if device == "npu" and args.since("0.5.17"):
        return
    if device == "xpu" and args.since("0.5.20"):
        return
    if args.since("0.5.21"):
        said = "DFLASH speculative decoding is not supported by "
    elif args.since("0.5.20"):
        said = "DFLASH speculative decoding only supports CUDA, NPU and XPU devices."
    elif args.since("0.5.17"):
        said = "DFLASH speculative decoding only supports CUDA and NPU devices."
    else:
        said = "DFLASH speculative decoding only supports CUDA device."
    args.stop(
        "arguments.algorithm-device",
        f"DFLASH does not run on device {device} in this release",
        said,
        "device",
    )


def _check_dflash_parallelism(args: ServerArgs) -> None:
    if uses_attention_data_parallelism(args) and args.device != "npu":
        if not args.since("0.5.23"):
            where = " on non-NPU devices" if args.since("0.5.20") else ""
            args.stop(
                "parallelism.dflash-dp-attention",
                "DFLASH does not support DP attention in this release",
                f"Currently DFLASH speculative decoding does not support dp attention{where}.",
                "enable_dp_attention",
            )
        elif not args.enable_dp_lm_head:
            args.stop(
                "parallelism.dflash-dp-attention",
                "DFLASH with DP attention needs `--enable-dp-lm-head`",
                "DFLASH with dp attention requires --enable-dp-lm-head.",
                "enable_dp_lm_head",
            )
        elif args.attn_cp_size != 1:
            args.stop(
                "parallelism.dflash-dp-attention",
                "DFLASH with DP attention does not support context parallelism",
                "DFLASH with dp attention does not support context parallel.",
                "attn_cp_size",
            )
        elif args.variable_is_true("SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION"):
            args.stop(
                "parallelism.dflash-dp-attention",
                "DFLASH with DP attention needs SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION=0",
                "DFLASH with dp attention requires SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION=0.",
                "enable_dp_attention",
            )
    if args.pp_size != 1:
        args.stop(
            "parallelism.pipeline-speculative",
            f"DFLASH does not support pipeline parallelism, got pp_size {args.pp_size}",
            "Currently DFLASH speculative decoding only supports pp_size == 1.",
            "pp_size",
        )


def _check_block_size(args: ServerArgs) -> int | None:
    """Check the block and window flags; return the window of the draft's attention, if any."""
    block, tokens = args.speculative_dflash_block_size, args.speculative_num_draft_tokens
    if block is not None:
        if int(block) <= 0:
            args.stop(
                "arguments.block-size",
                f"`--speculative-dflash-block-size` must be positive, got {block}",
                f"DFLASH requires --speculative-dflash-block-size to be positive, got {block}.",
                "speculative_dflash_block_size",
            )
        if tokens is not None and int(tokens) != int(block):
            args.stop(
                "arguments.block-size",
                f"draft tokens {tokens} and block size {block} differ; DFLASH wants them equal",
                "Both --speculative-num-draft-tokens and --speculative-dflash-block-size are set "
                "but they differ. For DFLASH they must match. "
                f"speculative_num_draft_tokens={tokens}, speculative_dflash_block_size={block}.",
                "speculative_num_draft_tokens",
                "speculative_dflash_block_size",
            )
        args.set(
            "speculative_num_draft_tokens",
            int(block),
            "the given `--speculative-dflash-block-size`",
        )
    if args.since("0.5.12"):
        window, flag = args.speculative_draft_window_size, "--speculative-draft-window-size must be"
        said = f"{flag} positive, got {window}."
    else:
        window = args.speculative_dflash_draft_window_size
        said = (
            f"DFLASH requires --speculative-dflash-draft-window-size to be positive, got {window}."
        )
    if window is not None and int(window) <= 0 and not args.since("0.5.13"):
        args.stop(
            "arguments.draft-window",
            f"the draft's attention window must be positive, got {window}",
            said,
            "speculative_draft_window_size",
        )
    return None if window is None else int(window)


def _fill_block_size(args: ServerArgs) -> None:
    """Fill the draft tokens from the draft's config, or with 16; any failure is only a warning."""
    if args.speculative_num_draft_tokens is not None:
        return
    config = args.draft_config(args.speculative_draft_model_revision)
    block: int | None = None
    why = "the draft's block size"
    if isinstance(config, Event):
        args.tell(
            "arguments.block-size-unread",
            "the draft's config cannot be read; a block of 16 is assumed",
            "Failed to infer DFLASH block_size from draft model config; defaulting "
            "speculative_num_draft_tokens to 16.",
            "speculative_draft_model_path",
        )
    else:
        block = block_size(config)
    if block is None:
        block, why = DFLASH_BLOCK_SIZE, "DFLASH's default"
        args.tell(
            "arguments.block-size-default",
            "the draft names no block size; 16 draft tokens are assumed",
            "speculative_num_draft_tokens is not set; defaulting to 16 for DFLASH.",
            "speculative_draft_model_path",
        )
    args.set("speculative_num_draft_tokens", block, why)


def block_size(config: ConfigObject) -> int | None:
    """Return the block size that a DFLASH draft's config names, `None` for none or a bad one.

    Restates `speculative/dflash_utils.py:parse_dflash_draft_config`; every error in there ends in
    the default block size.
    """
    nested = config.get("dflash_config")
    nested = nested if isinstance(nested, Mapping) else {}
    if not _is_dflash_config_readable(config, nested):
        return None
    size = nested.get("block_size", config.get("block_size"))
    try:
        parsed = None if size is None else int(size)
    except (TypeError, ValueError):
        return None
    return parsed if parsed is None or parsed >= 1 else None


def _is_dflash_config_readable(config: ConfigObject, nested: Mapping[str, Any]) -> bool:
    """Return whether `parse_dflash_draft_config` gets through the keys beside the block size."""
    layers = config.get("num_hidden_layers")
    targets = nested.get("num_target_layers", config.get("num_target_layers"))
    for count in (layers, targets):
        try:
            if count is not None and int(count) < 1:
                return False
        except (TypeError, ValueError):
            return False
    ids = nested.get("target_layer_ids", config.get("target_layer_ids"))
    if ids is not None and not (isinstance(ids, (list, tuple)) and ids):
        return False
    mask = nested.get("mask_token")
    if mask is not None and not (isinstance(mask, str) and mask):
        return False
    mask_id = nested.get("mask_token_id")
    if mask_id is None:
        return True
    return isinstance(mask_id, int) and not isinstance(mask_id, bool) and mask_id >= 0


def _resolve_draft_backend(args: ServerArgs) -> None:
    """Choose the draft's attention backend among those that can run DFLASH layers."""
    supported = ["flashinfer", "fa3", "fa4", "triton", "ascend"]
    if args.since("0.5.17"):
        supported.append("trtllm_mha")
    if args.since("0.5.20"):
        supported.append("intel_xpu")
    fallback = "triton" if args.machine.is_rocm else "flashinfer"
    asked = args.speculative_draft_attention_backend or attention_backends(args)[0]
    chosen, why = asked, "the target's prefill backend"
    if args.speculative_draft_attention_backend is not None:
        why = "--speculative-draft-attention-backend given"
    if asked is None:
        chosen, why = fallback, "no backend is named"
    elif asked not in supported:
        chosen, why = fallback, f"DFLASH layers do not run on {asked}"
    elif asked == "trtllm_mha" and not _is_sliding_or_causal(args):
        chosen, why = fallback, "trtllm_mha needs all-sliding or causal draft layers"
        if args.since("0.5.23") and args.machine.is_sm100:
            chosen = "fa4"
    args.set("speculative_draft_attention_backend", chosen, why)
    if asked is not None and chosen != asked:
        args.tell(
            "attention.dflash-draft-backend",
            f"the draft's attention backend becomes {chosen}: {why}",
            None,
            "speculative_draft_attention_backend",
        )


def _is_sliding_or_causal(args: ServerArgs) -> bool:
    config = args.draft_config(args.speculative_draft_model_revision)
    if isinstance(config, Event):
        return False
    kinds, layers = config.get("layer_types"), config.get("num_hidden_layers")
    sliding = (
        isinstance(kinds, (list, tuple))
        and len(kinds) == layers
        and set(kinds) == {"sliding_attention"}
    )
    return sliding or config.get("is_causal") is True


def handle_dspark(args: ServerArgs) -> None:
    """Resolve the settings of DSPARK (0.5.16 and newer)."""
    _check_dspark_device(args)
    _check_dspark_parallelism(args)
    if not _default_dspark_path(args):
        return
    fix_at_one(args, "speculative_num_steps", "DSpark")
    fix_at_one(args, "speculative_eagle_topk", "DSpark")
    _fill_gamma(args)
    limit_running_requests(args)
    if not args.since("0.5.19"):
        turn_off_mixed_chunk(
            args,
            "Mixed chunked prefill is disabled because of using dspark speculative decoding.",
        )


def _check_dspark_device(args: ServerArgs) -> None:
    device = str(args.device)
    if args.since("0.5.23"):
        allowed, named = ("cuda", "npu", "xpu"), "CUDA, NPU or XPU"
    elif args.since("0.5.18"):
        allowed, named = ("cuda", "npu"), "CUDA or NPU"
    else:
        allowed, named = ("cuda",), "CUDA"
    if not device.startswith(allowed):
        args.stop(
            "arguments.algorithm-device",
            f"DSPARK does not run on device {device} in this release",
            f"DSpark speculative decoding only supports {named} device.",
            "device",
        )


def _check_dspark_parallelism(args: ServerArgs) -> None:
    several = args.dp_size > 1 or args.since("0.5.22") or not args.since("0.5.18")
    if uses_attention_data_parallelism(args) and several:
        _check_dspark_dp_attention(args)
    if args.pp_size == 1:
        return
    if not args.since("0.5.21"):
        args.stop(
            "parallelism.pipeline-speculative",
            f"DSPARK does not support pipeline parallelism, got pp_size {args.pp_size}",
            "Currently DSpark speculative decoding only supports pp_size == 1.",
            "pp_size",
        )
    elif args.disaggregation_mode != "prefill":
        args.stop(
            "parallelism.pipeline-speculative",
            "DSPARK with pipeline parallelism runs only on PD prefill servers",
            "DSpark pipeline parallelism requires PD prefill; decode and non-disaggregated serving "
            "require pp_size == 1.",
            "pp_size",
            "disaggregation_mode",
        )


def _check_dspark_dp_attention(args: ServerArgs) -> None:
    topic, backend = "parallelism.dspark-dp-attention", args.moe_a2a_backend
    on_npu = args.since("0.5.18") and str(args.device).startswith("npu")
    if not args.enable_dp_lm_head:
        args.stop(
            topic,
            "DSPARK with DP attention needs `--enable-dp-lm-head`",
            "DSpark with dp attention requires --enable-dp-lm-head.",
            "enable_dp_lm_head",
        )
    if args.since("0.5.21"):
        allowed = ("none", "megamoe", "mori")
        said = "supports moe_a2a_backend 'none' (built-in TP MoE), 'megamoe', or 'mori'"
    elif args.since("0.5.18"):
        allowed, said = (
            ("none", "megamoe"),
            "supports moe_a2a_backend 'none' (built-in TP MoE) or 'megamoe'",
        )
    else:
        allowed, said = (
            ("none",),
            "only supports the built-in TP MoE (moe_a2a_backend='none')",
        )
    if not on_npu and backend not in allowed:
        args.stop(
            topic,
            f"DSPARK with DP attention allows --moe-a2a-backend {' or '.join(allowed)}",
            f"DSpark with dp attention {said}, got {backend!r}.",
            "moe_a2a_backend",
        )
    coordinated = args.since("0.5.22") and args.variable_is_true(
        "SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION"
    )
    needs_static = args.since("0.5.18") and not on_npu and (backend != "none" or coordinated)
    if needs_static and ragged_verify_mode(args) != "static":
        args.stop(
            topic,
            "DSPARK with this DP setup needs SGLANG_RAGGED_VERIFY_MODE=static",
            "DSpark DP MoE or prefill coordination requires SGLANG_RAGGED_VERIFY_MODE=static."
            if args.since("0.5.22")
            else f"DSpark with dp attention + moe_a2a_backend={backend!r} requires "
            "SGLANG_RAGGED_VERIFY_MODE=static.",
            "moe_a2a_backend",
        )
    if args.attn_cp_size > 1:
        args.stop(
            topic,
            "DSPARK with DP attention does not support context parallelism",
            "DSpark with dp attention does not support context parallel "
            f"(attn_cp_size={args.attn_cp_size}).",
            "attn_cp_size",
        )
    asked = args.speculative_moe_a2a_backend
    if not on_npu and asked is not None and asked != backend:
        args.stop(
            topic,
            f"the draft's a2a backend {asked} differs from the target's, {backend}",
            "DSpark ignores --speculative-moe-a2a-backend; with dp attention it must match the "
            f"target moe_a2a_backend={backend!r} (got {asked!r}).",
            "speculative_moe_a2a_backend",
            "moe_a2a_backend",
        )


def _default_dspark_path(args: ServerArgs) -> bool:
    """Take the draft that the target carries, where none is given; return whether there is one."""
    if args.speculative_draft_model_path is not None:
        return True
    config = args.target.config
    if any(config.get(key) is not None for key in BUNDLED_DSPARK_KEYS):
        args.set(
            "speculative_draft_model_path", args.model_path, "the target carries a DSpark draft"
        )
        args.set("speculative_draft_model_revision", args.revision, "the target's revision")
        return True
    args.stop(
        "arguments.draft-path-missing",
        "DSPARK needs `--speculative-draft-model-path`: the target carries no draft",
        "DSpark dense speculative decoding requires setting --speculative-draft-model-path.",
        "speculative_draft_model_path",
    )
    return False


def _fill_gamma(args: ServerArgs) -> None:
    """Resolve gamma (drafted tokens); the verify window is gamma + 1."""
    given, tokens = args.speculative_dspark_block_size, args.speculative_num_draft_tokens
    gamma: int | None
    if given is not None:
        if int(given) <= 0:
            args.stop(
                "arguments.block-size",
                f"`--speculative-dspark-block-size` must be positive, got {given}",
                f"DSpark requires --speculative-dspark-block-size to be positive, got {given}.",
                "speculative_dspark_block_size",
            )
            return
        gamma, why = int(given), "block size + 1"
    else:
        config = args.draft_config(args.speculative_draft_model_revision)
        gamma, why = None, "the draft's block size + 1"
        if not isinstance(config, Event):
            named = config.get("dspark_block_size")
            gamma = int(named) if isinstance(named, int) else block_size(config)
        if gamma is None and tokens is None:
            gamma, why = DSPARK_GAMMA, "DSpark's default gamma 7, + 1"
    if gamma is not None:
        window = gamma + 1
        if tokens is not None and int(tokens) != window:
            args.stop(
                "arguments.block-size",
                f"draft tokens must be gamma + 1 = {window} for DSPARK, got {tokens}",
                f"DSpark speculative_num_draft_tokens must equal gamma + 1 (= {window} for "
                f"gamma={gamma}), but got speculative_num_draft_tokens={tokens}.",
                "speculative_num_draft_tokens",
                "speculative_dspark_block_size",
            )
            return
        args.set("speculative_num_draft_tokens", window, why)
    if int(args.speculative_num_draft_tokens) < 2:
        args.stop(
            "arguments.block-size",
            f"DSPARK needs at least 2 draft tokens, got {args.speculative_num_draft_tokens}",
            "DSpark speculative_num_draft_tokens must be >= 2 (= gamma + 1), got "
            f"{args.speculative_num_draft_tokens}.",
            "speculative_num_draft_tokens",
        )


def ragged_verify_mode(args: ServerArgs) -> str:
    """Return `SGLANG_RAGGED_VERIFY_MODE` as this release reads it."""
    return args.environment.get("SGLANG_RAGGED_VERIFY_MODE", "static")
