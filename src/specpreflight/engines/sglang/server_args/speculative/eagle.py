"""EAGLE, EAGLE-3, NEXTN and STANDALONE: steps, top-k, draft tokens, draft path, page size.

Restates `server_args.py:__post_init__` (to 0.5.2), `_handle_speculative_decoding` (0.5.3 to
0.5.12) and `arg_groups/speculative_hook.py:_handle_eagle_family` (0.5.13 and newer).
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.speculative.common import (
    attention_backends,
    keep_cpu_synchronous,
    limit_running_requests,
    turn_off_mixed_chunk,
    turn_off_overlap,
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.speculative.rejection_sampling import (
    check_rejection_sampling,
)
from specpreflight.engines.sglang.server_args.state import ServerArgs

#: Targets of the draft-path list that load a separate draft as a matter of course.
SEPARATE_DRAFTS: Final = ("MistralLarge3ForCausalLM", "PixtralForConditionalGeneration")


def algorithms(args: ServerArgs) -> tuple[str, ...]:
    """Return the algorithms that this release handles as the EAGLE family."""
    return ("EAGLE", "EAGLE3", "STANDALONE") if args.since("0.5.2") else ("EAGLE", "EAGLE3")


def handle_eagle_family(args: ServerArgs) -> None:
    """Resolve the settings of the EAGLE family."""
    if args.speculative_algorithm == "STANDALONE" and uses_attention_data_parallelism(args):
        args.stop(
            "parallelism.standalone-dp-attention",
            "STANDALONE does not support DP attention",
            "Currently standalone speculative decoding does not support dp attention.",
            "enable_dp_attention",
            exception="ValueError" if args.since("0.5.3") else "AssertionError",
        )
    limit_running_requests(args)
    _choose_scheduler(args)
    if args.since("0.4.7"):
        _drop_mixed_chunk(args)
    args.attempt(_default_draft_path, _force_fa3_for_llama4, _check_iquest_q1)
    if not _fill_parameters(args):
        return
    if not args.since("0.4.9") and args.page_size > 1 and args.speculative_eagle_topk > 1:
        args.set("speculative_eagle_topk", 1, "a page size above 1 allows only top-k 1")
        args.tell(
            "arguments.topk-paged",
            "top-k is adjusted to 1 because the page size is above 1",
            "speculative_eagle_topk is adjusted to 1 when page_size > 1",
            "speculative_eagle_topk",
            "page_size",
        )
    if args.since("0.5.1"):
        args.attempt(_check_trtllm_mha)
    if args.since("0.5.14"):
        check_rejection_sampling(args)
    _match_draft_tokens(args)
    args.attempt(_check_paged_tree)


def _choose_scheduler(args: ServerArgs) -> None:
    """Say whether the overlap scheduler (spec v2) is used."""
    if args.since("0.5.13"):
        _choose_synchronous_scheduler(args)
    elif args.since("0.5.11"):
        _choose_worker_version(args)
    elif args.since("0.5.3.post2"):
        _choose_opt_in_scheduler(args)
    else:
        turn_off_overlap(
            args,
            "EAGLE has no overlap scheduler in this release",
            "Overlap scheduler is disabled because of using eagle speculative decoding.",
        )


def _choose_synchronous_scheduler(args: ServerArgs) -> None:
    """0.5.13 and newer: only V2 workers exist; they run with or without overlap."""
    if args.since("0.5.14"):
        keep_cpu_synchronous(args)
    elif not args.variable_is_true("SGLANG_ENABLE_SPEC_V2") and not args.disable_overlap_schedule:
        args.set("disable_overlap_schedule", True, "SGLANG_ENABLE_SPEC_V2 is off")
    if args.disable_overlap_schedule:
        args.tell(
            "arguments.synchronous-spec-v2",
            "spec v2 runs without the overlap scheduler",
            "Non-overlap (synchronous) spec v2 is used for eagle/eagle3/standalone speculative "
            "decoding.",
            "disable_overlap_schedule",
        )


def _choose_worker_version(args: ServerArgs) -> None:
    """0.5.11 and 0.5.12: V2 is the default, V1 for trees and where overlap is off."""
    topk = args.speculative_eagle_topk
    why = "overlap schedule is disabled"
    if topk is not None and topk > 1 and not args.disable_overlap_schedule:
        why = "spec v2 currently only supports topk = 1"
        args.set("disable_overlap_schedule", True, "spec v2 only supports top-k 1")
    elif not args.variable_is_true("SGLANG_ENABLE_SPEC_V2") and not args.disable_overlap_schedule:
        why = "SGLANG_ENABLE_SPEC_V2=False"
        args.set("disable_overlap_schedule", True, "SGLANG_ENABLE_SPEC_V2 is off")
    if args.disable_overlap_schedule:
        args.tell(
            "arguments.spec-v1",
            f"the V1 worker is used: {why}",
            f"Spec v1 is used for eagle/eagle3/standalone speculative decoding because {why}.",
            "disable_overlap_schedule",
            "speculative_eagle_topk",
        )


def _choose_opt_in_scheduler(args: ServerArgs) -> None:
    """0.5.3.post2 to 0.5.10: V2 is asked for, by a flag first, by a variable from 0.5.4.post1."""
    if args.since("0.5.4.post1"):
        asked = args.variable_is_true("SGLANG_ENABLE_SPEC_V2")
    else:
        asked = bool(args.enable_beta_spec)
    offered: tuple[str, ...] = ("EAGLE",)
    if args.since("0.5.8"):
        offered = ("EAGLE", "EAGLE3", "STANDALONE")
    elif args.since("0.5.7"):
        offered = ("EAGLE", "EAGLE3")
    if asked and args.speculative_algorithm in offered:
        args.set("disable_overlap_schedule", False, "spec v2 is asked for")
        topk = args.speculative_eagle_topk
        if args.since("0.5.7") and topk is not None and topk > 1:
            args.stop(
                "arguments.spec-v2-topk",
                f"spec v2 only supports top-k 1, got {topk}",
                "Spec v2 currently only supports topk = 1 for speculative decoding.",
                "speculative_eagle_topk",
            )
        return
    if asked and not args.since("0.5.7"):
        return  # the engine asks only whether V2 is off, and leaves the scheduler on
    turn_off_overlap(
        args,
        "spec v2 is off" if args.since("0.5.7") else "it exists for EAGLE only, on request",
        "Overlap scheduler is disabled when spec v2 is off or using unsupported speculative "
        "algorithm. You can set env SGLANG_ENABLE_SPEC_V2=True to enable the experimental overlap "
        "scheduler. "
        if args.since("0.5.7")
        else "Overlap scheduler is disabled because of using eagle3 or standalone speculative "
        "decoding."
        if args.since("0.5.4.post1")
        else "Overlap scheduler is disabled because of using eagle3 and standalone speculative "
        "decoding.",
    )


def _drop_mixed_chunk(args: ServerArgs) -> None:
    if not args.since("0.5.19"):
        turn_off_mixed_chunk(
            args,
            "Mixed chunked prefill is disabled because of using eagle speculative decoding.",
        )
    elif args.speculative_algorithm == "STANDALONE":
        turn_off_mixed_chunk(
            args,
            "Mixed chunked prefill is disabled: STANDALONE speculative decoding does not support "
            "it.",
        )


def _default_draft_path(args: ServerArgs) -> None:
    """Take the target's own checkpoint as the draft where the target has MTP layers."""
    architecture = args.architecture
    if architecture not in args.release.draft_path_targets:
        return
    if args.speculative_draft_model_path is None:
        why = f"{architecture} carries its own draft layers"
        args.set("speculative_draft_model_path", args.model_path, why)
        if args.since("0.5.6"):
            args.set("speculative_draft_model_revision", args.revision, "the target's revision")
    elif architecture not in SEPARATE_DRAFTS:
        args.tell(
            "arguments.draft-path-not-needed",
            f"{architecture} carries its own draft layers; the given draft path is used",
            "DeepSeek MTP does not require setting speculative_draft_model_path.",
            "speculative_draft_model_path",
        )
    if (
        args.since("0.5.1")
        and not args.since("0.5.1.post2")
        and args.page_size != 1
        and args.attention_backend == "flashinfer"
    ):
        args.stop(
            "cache.paged-flashinfer",
            f"{architecture} with flashinfer needs page size 1, got {args.page_size}",
            "Speculative decoding with page_size != 1 is not supported. Please set page_size to 1.",
            "page_size",
            "attention_backend",
        )


def _force_fa3_for_llama4(args: ServerArgs) -> None:
    """0.4.9.post3 alone: Llama 4 is moved to FA3 here; later releases ask for it in the checks."""
    if not args.since("0.4.9.post3") or args.since("0.4.9.post4"):
        return
    if "Llama4" not in args.architecture or args.attention_backend == "fa3":
        return
    args.set("attention_backend", "fa3", "Llama 4 speculates on FA3 only")
    args.tell(
        "attention.llama4-fa3",
        "the attention backend becomes fa3: Llama 4 speculates on nothing else",
        "Llama4 requires using fa3 attention backend. Attention backend is automatically set to "
        "fa3.",
        "attention_backend",
    )


def _fill_parameters(args: ServerArgs) -> bool:
    """Choose steps, top-k and draft tokens where none is given; return whether they are usable."""
    adaptive = args.since("0.5.14") and bool(args.speculative_adaptive)
    if args.speculative_num_steps is None and not adaptive:
        given = args.speculative_eagle_topk, args.speculative_num_draft_tokens
        if given != (None, None):
            args.stop(
                "arguments.parameters-without-steps",
                "top-k or draft tokens are given without `--speculative-num-steps`",
                "",
                "speculative_num_steps",
                "speculative_eagle_topk",
                "speculative_num_draft_tokens",
                exception="AssertionError",
            )
            return False
        steps, topk, tokens = _automatic_parameters(args)
        why = f"chosen for {args.architecture}"
        if args.speculative_algorithm == "STANDALONE":
            why = "chosen for STANDALONE"
        args.set("speculative_num_steps", steps, why)
        args.set("speculative_eagle_topk", topk, why)
        args.set("speculative_num_draft_tokens", tokens, why)
    if args.speculative_eagle_topk is None and (
        args.since("0.5.2") or (not args.since("0.4.9") and args.page_size > 1)
    ):
        args.stop(
            "arguments.steps-without-topk",
            "`--speculative-num-steps` is given without `--speculative-eagle-topk`",
            "'>' not supported between instances of 'NoneType' and 'int'",
            "speculative_num_steps",
            "speculative_eagle_topk",
            exception="TypeError",
        )
        return False
    return True


def _automatic_parameters(args: ServerArgs) -> tuple[int, int, int]:
    """Restate `auto_choose_speculative_params`: steps, top-k, draft tokens."""
    if args.speculative_algorithm == "STANDALONE":
        return 3, 1, 4
    known = args.release.automatic_parameters
    return known.get(args.architecture, known["*"])


def _match_draft_tokens(args: ServerArgs) -> None:
    """With top-k 1 the tree is a chain: draft tokens are steps + 1, whatever was asked for."""
    if args.speculative_eagle_topk != 1:
        return
    steps = args.speculative_num_steps
    asked = args.speculative_num_draft_tokens
    if asked == steps + 1:
        return
    args.set("speculative_num_draft_tokens", steps + 1, "steps+1 because top-k is 1")
    args.tell(
        "arguments.draft-tokens-adjusted",
        f"draft tokens become {steps + 1}: with top-k 1 they are steps + 1"
        + ("" if asked is None else f", not {asked}"),
        "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when "
        "speculative_eagle_topk == 1",
        "speculative_num_draft_tokens",
        "speculative_num_steps",
        "speculative_eagle_topk",
    )


def _check_trtllm_mha(args: ServerArgs) -> None:
    if args.since("0.5.15"):
        used = "trtllm_mha" in attention_backends(args)
    else:
        used = "trtllm_mha" in (
            args.attention_backend,
            args.decode_attention_backend,
            args.prefill_attention_backend,
        )
    topk = args.speculative_eagle_topk
    if used and topk is not None and topk > 1:
        args.stop(
            "attention.trtllm-mha-topk",
            f"trtllm_mha only supports top-k 1, got {topk}",
            "trtllm_mha backend only supports topk = 1 for speculative decoding.",
            "attention_backend",
            "speculative_eagle_topk",
        )


def _check_paged_tree(args: ServerArgs) -> None:
    """Refuse a tree (top-k above 1) over a paged cache, except on audited backends."""
    topk, page_size, backend = (
        args.speculative_eagle_topk,
        args.page_size,
        args.attention_backend,
    )
    allowed = args.release.probe("arguments.topk-with-pages")
    if not isinstance(allowed, tuple) or topk <= 1 or page_size <= 1 or backend in allowed:
        return
    if args.since("0.5.13"):
        said = (
            f"speculative_eagle_topk > 1 with page_size > 1 is only supported on {allowed}; got "
            f"attention_backend={backend!r}. Use page_size == 1 or one of those backends."
        )
    else:
        said = (
            "speculative_eagle_topk > 1 with page_size > 1 is unstable and produces incorrect "
            "results for paged attention backends. This combination is only supported for the "
            "'flashinfer' backend."
        )
    args.stop(
        "cache.topk-paged",
        f"top-k {topk} with page size {page_size} needs {' or '.join(allowed)}, got {backend}",
        said,
        "speculative_eagle_topk",
        "page_size",
        "attention_backend",
    )


def _check_iquest_q1(args: ServerArgs) -> None:
    """IQuest-Q1 takes nothing but an MTP checkpoint of its own (0.5.21 and newer)."""
    if not args.since("0.5.21") or args.architecture != "IQuestQ1ForCausalLM":
        return
    if args.speculative_draft_model_path in (None, args.model_path):
        args.stop(
            "arguments.draft-path-missing",
            "IQuest-Q1 needs a draft checkpoint of its own",
            "IQuest Q1 requires an independent draft model path.",
            "speculative_draft_model_path",
        )
    if args.speculative_token_map is not None:
        args.stop(
            "arguments.token-map-mtp",
            "IQuest-Q1's MTP draft has its own head: no token map",
            "MTP uses its own full-vocabulary embedding and head.",
            "speculative_token_map",
        )
    if args.speculative_eagle_topk not in (None, 1):
        args.stop(
            "arguments.mtp-topk",
            f"IQuest-Q1 needs top-k 1, got {args.speculative_eagle_topk}",
            "MTP requires --speculative-eagle-topk 1.",
            "speculative_eagle_topk",
        )
