"""The entry of the speculative hook: names, aliases, windows, and which family handles the rest.

Restates `server_args.py:__post_init__` (to 0.5.2), `_handle_speculative_decoding` (0.5.3 to
0.5.12) and `arg_groups/speculative_hook.py:handle_speculative_decoding` (0.5.13 and newer).
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.server_args.speculative.adaptive import handle_adaptive
from specpreflight.engines.sglang.server_args.speculative.common import (
    limit_running_requests,
    turn_off_mixed_chunk,
    turn_off_overlap,
)
from specpreflight.engines.sglang.server_args.speculative.dflash import handle_dflash
from specpreflight.engines.sglang.server_args.speculative.dspark import (
    RAGGED_VERIFY_MODES,
    handle_dspark,
    ragged_verify_mode,
)
from specpreflight.engines.sglang.server_args.speculative.eagle import (
    algorithms,
    handle_eagle_family,
)
from specpreflight.engines.sglang.server_args.speculative.ngram import handle_ngram
from specpreflight.engines.sglang.server_args.speculative.uno import handle_uno
from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.models.resolved import Event

#: Drafts that share the target's KV cache; EAGLE means FROZEN_KV_MTP for them.
FROZEN_KV_DRAFTS: Final = ("Gemma4AssistantForCausalLM", "Gemma4UnifiedAssistantForCausalLM")


def handle_speculative_decoding(args: ServerArgs) -> None:
    """Resolve everything that touches speculation."""
    revision = args.release.probe("arguments.draft-revision-default")
    if isinstance(revision, str) and args.speculative_draft_model_path is not None:
        _fill_draft_revision(args, revision)
    if args.since("0.5.7"):
        _default_moe_runner(args)
    _resolve_name(args)
    if args.since("0.5.22"):
        _check_block_verification(args)
    if args.since("0.5.13"):
        _check_draft_window(args)
    if args.since("0.5.12") and not _is_known(args):
        return
    if args.since("0.5.11") and args.speculative_skip_dp_mlp_sync:
        args.require(
            args.speculative_algorithm == "EAGLE",
            "arguments.skip-dp-mlp-sync",
            f"`--speculative-skip-dp-mlp-sync` needs EAGLE, got {args.speculative_algorithm}",
            "--speculative-skip-dp-mlp-sync is only supported with speculative_algorithm == EAGLE, "
            f"got {args.speculative_algorithm}.",
            "speculative_skip_dp_mlp_sync",
            "speculative_algorithm",
        )
    if args.since("0.5.21"):
        _check_prefill_coordination(args)
    if args.since("0.5.14"):
        handle_adaptive(args)
        _handle_algorithm(args)
    else:
        _handle_algorithm(args)
        handle_adaptive(args)


def _fill_draft_revision(args: ServerArgs, revision: str) -> None:
    if args.speculative_draft_model_revision is None:
        why = "the default of a given draft path"
        args.set("speculative_draft_model_revision", revision, why)


def _handle_algorithm(args: ServerArgs) -> None:
    algorithm = args.speculative_algorithm
    if algorithm is None:
        return
    if args.since("0.5.16"):
        _check_ragged_verify_mode(args)
    if algorithm in algorithms(args):
        handle_eagle_family(args)
    elif algorithm == "NGRAM":
        handle_ngram(args)
    elif algorithm == "DFLASH":
        handle_dflash(args)
    elif algorithm == "DSPARK":
        handle_dspark(args)
    elif algorithm == "FROZEN_KV_MTP":
        _handle_frozen_kv_mtp(args)
    elif algorithm == "UNO":
        handle_uno(args)


def _handle_frozen_kv_mtp(args: ServerArgs) -> None:
    limit_running_requests(args)
    if not args.since("0.5.14"):
        turn_off_overlap(
            args,
            "FROZEN_KV_MTP has no overlap scheduler in this release",
            "Overlap scheduler is disabled when using Frozen-KV MTP speculative decoding (spec v2 "
            "is not supported yet).",
        )
    turn_off_mixed_chunk(
        args,
        "Mixed chunked prefill is disabled because of using Frozen-KV MTP speculative decoding.",
    )


def _default_moe_runner(args: ServerArgs) -> None:
    """Choose the draft's MoE runner: the target's, but not everything that the target may use."""
    given, target = args.speculative_moe_runner_backend, args.moe_runner_backend
    if given is not None:
        if not args.since("0.5.12") and given == "flashinfer_trtllm":
            args.require(
                False,
                "arguments.draft-moe-runner",
                "the draft's MoE runner cannot be flashinfer_trtllm in this release",
                "Currently speculative MoE runner backend doesn't support flashinfer_trtllm, "
                "please use triton or auto backend for speculative moe runner instead."
                if args.since("0.5.10")
                else "Currently speculative MoE runner backend cannot be flashinfer_trtllm for "
                "risk in some draft models.",
                "speculative_moe_runner_backend",
            )
        return
    chosen, why = target, "the target's MoE runner"
    avoided: tuple[str, ...] = ()
    if not args.since("0.5.10"):
        avoided = ("flashinfer_trtllm",)
    elif not args.since("0.5.12"):
        avoided = ("flashinfer_trtllm", "flashinfer_trtllm_routed")
    if target in avoided:
        chosen, why = "auto", f"drafts avoid the target's {target}"
    elif args.since("0.5.23") and target == "flashinfer_megamoe":
        chosen, why = "flashinfer_trtllm", "drafts avoid the target's flashinfer_megamoe"
    elif args.since("0.5.23") and str(target).startswith("lora_"):
        chosen, why = "auto", f"drafts avoid the target's {target}"
    args.set("speculative_moe_runner_backend", chosen, why)


def _resolve_name(args: ServerArgs) -> None:
    """Upper-case the algorithm (0.5.12 and newer) and replace aliases.

    From 0.5.12 on, a given draft path is read here to tell Gemma 4's drafts, even when no
    algorithm is named: a draft whose config cannot be read stops the launch at this point.
    """
    named = args.speculative_algorithm
    if not args.since("0.5.12"):
        if named == "NEXTN":
            args.set("speculative_algorithm", "EAGLE", "NEXTN is another name of EAGLE")
        return
    upper = None if named is None else named.upper()
    if upper != named:
        args.set("speculative_algorithm", upper, "algorithm names are upper-cased")
    if (
        args.since("0.5.14")
        and not args.since("0.5.21")
        and args.variable_is_set("SGLANG_ENABLE_SPEC_V2")
    ):
        args.tell(
            "arguments.spec-v2-variable-removed",
            "SGLANG_ENABLE_SPEC_V2 is set, but this release no longer reads it",
            "SGLANG_ENABLE_SPEC_V2 has been removed: speculative decoding always runs the V2 "
            "worker. Use --disable-overlap-schedule to select the non-overlap (synchronous) path.",
        )
    shares_cache = _is_frozen_kv_draft(args)
    if upper == "EAGLE3" and shares_cache:
        args.stop(
            "arguments.frozen-kv-eagle3",
            "Gemma 4's assistant draft needs NEXTN or EAGLE, not EAGLE3",
            "Gemma4AssistantForCausalLM draft requires --speculative-algorithm NEXTN or EAGLE; "
            "EAGLE3 is not supported for this draft architecture.",
            "speculative_algorithm",
            "speculative_draft_model_path",
        )
    if upper not in ("NEXTN", "EAGLE"):
        return
    if shares_cache:
        args.set("speculative_algorithm", "FROZEN_KV_MTP", "the draft shares the target's KV cache")
    elif upper == "NEXTN":
        args.set("speculative_algorithm", "EAGLE", "NEXTN is another name of EAGLE")


def _is_frozen_kv_draft(args: ServerArgs) -> bool:
    if not args.speculative_draft_model_path:
        return False
    config = args.draft_config()
    if isinstance(config, Event):
        args.events.append(config)
        return False
    if config is None:
        return False
    known = FROZEN_KV_DRAFTS if args.since("0.5.13") else FROZEN_KV_DRAFTS[:1]
    named = config.stated("architectures") or []
    return any(name in known for name in named)


def _is_known(args: ServerArgs) -> bool:
    """Check the algorithm's name; argparse does it up to 0.5.11."""
    name = args.speculative_algorithm
    known = args.release.probe("arguments.algorithms")
    if name in (None, "NONE") or known is UNKNOWN or name in known:
        return True
    args.stop(
        "arguments.unknown-algorithm",
        f"this release has no speculative algorithm {name}",
        f"Unknown speculative algorithm name: {name}",
        "speculative_algorithm",
    )
    return False


def _check_draft_window(args: ServerArgs) -> None:
    window = args.speculative_draft_window_size
    if window is not None:
        if int(window) <= 0:
            args.stop(
                "arguments.draft-window",
                f"the draft's attention window must be positive, got {window}",
                f"--speculative-draft-window-size must be positive, got {window}.",
                "speculative_draft_window_size",
            )
        honoured = ["EAGLE3", "DFLASH"]
        if args.since("0.5.21"):
            honoured.append("EAGLE")
        if args.speculative_algorithm not in honoured:
            args.tell(
                "arguments.draft-window-unused",
                f"the draft's attention window has no effect with {args.speculative_algorithm}",
                "--speculative-draft-window-size has no effect with "
                f"speculative_algorithm={args.speculative_algorithm}",
                "speculative_draft_window_size",
            )
    sink = args.speculative_draft_sink_size
    if sink is None:
        return
    if int(sink) < 0:
        args.stop(
            "arguments.draft-window",
            f"the draft's attention sink must not be negative, got {sink}",
            f"--speculative-draft-sink-size must be non-negative, got {sink}.",
            "speculative_draft_sink_size",
        )
    if window is None:
        args.stop(
            "arguments.draft-window",
            "`--speculative-draft-sink-size` needs `--speculative-draft-window-size`",
            "--speculative-draft-sink-size requires --speculative-draft-window-size.",
            "speculative_draft_sink_size",
        )


def _check_block_verification(args: ServerArgs) -> None:
    if args.since("0.5.23") and (
        args.disaggregation_mode == "decode"
        and args.disaggregation_decode_enable_radix_cache
        and args.speculative_algorithm not in (None, "DSPARK", "EAGLE", "EAGLE3")
    ):
        args.stop(
            "cache.decode-radix-speculative",
            f"the decode server's radix cache does not go with {args.speculative_algorithm}",
            "--disaggregation-decode-enable-radix-cache is incompatible with speculative decoding "
            f"(--speculative-algorithm {args.speculative_algorithm})",
            "disaggregation_decode_enable_radix_cache",
            "speculative_algorithm",
        )
    if not args.speculative_use_block_verification:
        return
    flag = "--speculative-use-block-verification only supports"
    if args.speculative_algorithm not in ("EAGLE", "EAGLE3", "DFLASH", "DSPARK"):
        args.stop(
            "arguments.block-verification",
            f"block verification does not go with {args.speculative_algorithm}",
            f"{flag} EAGLE / EAGLE3 / NEXTN / DFLASH / DSPARK.",
            "speculative_use_block_verification",
            "speculative_algorithm",
        )
    if args.device != "cuda":
        args.stop(
            "arguments.block-verification",
            f"block verification needs CUDA or ROCm, got {args.device}",
            f"{flag} CUDA or ROCm.",
            "speculative_use_block_verification",
            "device",
        )
    if args.speculative_algorithm in ("EAGLE", "EAGLE3"):
        args.set("speculative_use_rejection_sampling", True, "block verification needs it")


def _check_prefill_coordination(args: ServerArgs) -> None:
    if not args.variable_is_true("SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION"):
        return
    offered: tuple[str, ...] = ("EAGLE", "EAGLE3")
    named = "EAGLE or EAGLE3"
    if args.since("0.5.22"):
        offered, named = ("EAGLE", "EAGLE3", "DSPARK"), "EAGLE, EAGLE3 or DSPARK"
    if args.speculative_algorithm not in offered or args.enable_multi_layer_eagle:
        args.stop(
            "parallelism.prefill-coordination",
            f"SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION needs single-layer {named}",
            f"DP spec/prefill coordination requires single-layer {named}",
            "speculative_algorithm",
        )


def _check_ragged_verify_mode(args: ServerArgs) -> None:
    mode = ragged_verify_mode(args)
    if mode not in RAGGED_VERIFY_MODES:
        expected = ", ".join(repr(known) for known in RAGGED_VERIFY_MODES)
        args.stop(
            "arguments.ragged-verify-mode",
            f"SGLANG_RAGGED_VERIFY_MODE has no mode {mode!r}",
            f"invalid SGLANG_RAGGED_VERIFY_MODE={mode!r}; expected one of {expected}",
        )
