"""DFLASH: a draft that proposes a whole block in one step.

Restates `server_args.py:_handle_speculative_decoding` (0.5.11, 0.5.12) and
`arg_groups/speculative_hook.py:_handle_dflash`, `_resolve_dflash_draft_attention_backend` (0.5.13
and newer).
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
from specpreflight.engines.sglang.server_args.state import ServerArgs, Unknowable
from specpreflight.models.resolved import Event

DFLASH_BLOCK_SIZE: Final = 16


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
    if config is None:
        raise Unknowable("speculative_num_draft_tokens", "the draft's config is not at hand")
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
    nested = config.stated("dflash_config")
    nested = nested if isinstance(nested, Mapping) else {}
    if not _is_dflash_config_readable(config, nested):
        return None
    size = nested.get("block_size", config.stated("block_size"))
    try:
        parsed = None if size is None else int(size)
    except (TypeError, ValueError):
        return None
    return parsed if parsed is None or parsed >= 1 else None


def _is_dflash_config_readable(config: ConfigObject, nested: Mapping[str, Any]) -> bool:
    """Return whether `parse_dflash_draft_config` gets through the keys beside the block size."""
    layers = config.stated("num_hidden_layers")
    targets = nested.get("num_target_layers", config.stated("num_target_layers"))
    try:
        if any(count is not None and int(count) < 1 for count in (layers, targets)):
            return False
    except (TypeError, ValueError):
        return False
    ids = nested.get("target_layer_ids", config.stated("target_layer_ids"))
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
    if config is None:
        raise Unknowable("speculative_draft_attention_backend", "the draft's config is not at hand")
    if isinstance(config, Event):
        return False
    kinds, layers = config.stated("layer_types"), config.stated("num_hidden_layers")
    sliding = (
        isinstance(kinds, (list, tuple))
        and len(kinds) == layers
        and set(kinds) == {"sliding_attention"}
    )
    return sliding or config.stated("is_causal") is True
