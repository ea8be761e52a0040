"""DSPARK: a block draft with a Markov head, of its own or bundled with the target.

Restates `arg_groups/speculative_hook.py:_handle_dspark` (0.5.16 and newer).
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.speculative.common import (
    fix_at_one,
    limit_running_requests,
    turn_off_mixed_chunk,
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.speculative.dflash import block_size
from specpreflight.engines.sglang.server_args.state import ServerArgs, Unknowable
from specpreflight.models.resolved import Event

DSPARK_GAMMA: Final = 7


#: Keys by which a target's config says that it carries its own DSpark draft.
BUNDLED_DSPARK_KEYS: Final = (
    "dspark_block_size",
    "dspark_markov_rank",
    "dspark_noise_token_id",
    "dspark_target_layer_ids",
)


RAGGED_VERIFY_MODES: Final = ("static", "cap-accept", "compact")


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
    allowed: tuple[str, ...]
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
    allowed: tuple[str, ...]
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
    if any(config.stated(key) is not None for key in BUNDLED_DSPARK_KEYS):
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
        if config is None:
            raise Unknowable("speculative_num_draft_tokens", "the draft's config is not at hand")
        gamma, why = None, "the draft's block size + 1"
        if not isinstance(config, Event):
            named = config.stated("dspark_block_size")
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
