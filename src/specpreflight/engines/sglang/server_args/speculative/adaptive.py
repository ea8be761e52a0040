"""`--speculative-adaptive`: steps that follow the acceptance (0.5.11 and newer).

Restates `speculative/adaptive_spec_params.py:adaptive_unsupported_reason`, and
`arg_groups/speculative_hook.py:_maybe_disable_adaptive`, `_init_adaptive_speculative_params`.
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.speculative.common import (
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.state import ServerArgs


def handle_adaptive(args: ServerArgs) -> None:
    """Turn the adaptive mode off where this release cannot do it, else resolve its steps."""
    if not args.speculative_adaptive:
        return
    reason = unsupported_reason(args)
    if reason is not None:
        args.set("speculative_adaptive", False, reason)
        args.tell(
            "arguments.adaptive-off",
            "adaptive speculation is turned off: static parameters are used",
            f"speculative_adaptive disabled: {reason}. Falling back to static speculative params.",
            "speculative_adaptive",
        )
        return
    if not args.since("0.5.13"):
        return
    if args.speculative_adaptive_config is not None:
        args.unknown.append(("num_steps", "the steps come from --speculative-adaptive-config"))
        return
    candidates = default_candidate_steps(args)
    if args.since("0.5.14"):
        _fill_steps(args, candidates)
    steps = args.speculative_num_steps
    if steps not in candidates:
        args.stop(
            "arguments.adaptive-steps",
            f"`--speculative-num-steps` {steps} is none of the adaptive steps {candidates}",
            f"--speculative-num-steps={steps} is not in the adaptive config candidate_steps "
            f"{candidates}. Pass one of those values.",
            "speculative_num_steps",
        )
    elif args.since("0.5.14"):
        args.set("speculative_num_draft_tokens", steps + 1, "steps+1, as adaptive needs top-k 1")


def _fill_steps(args: ServerArgs, candidates: list[int]) -> None:
    if args.speculative_eagle_topk is None:
        args.set("speculative_eagle_topk", 1, "adaptive speculation needs top-k 1")
    if args.speculative_num_steps is None:
        steps = candidates[len(candidates) // 2]
        args.set("speculative_num_steps", steps, f"the middle of the adaptive steps {candidates}")


def default_candidate_steps(args: ServerArgs) -> list[int]:
    """Return all steps of `DEFAULT_ADAPTIVE_CONFIG`."""
    if args.since("0.5.20"):
        return [0, 1, 3, 5, 7]
    return [0, 1, 3, 7] if args.since("0.5.14") else [1, 3, 7]


def unsupported_reason(args: ServerArgs) -> str | None:
    """Return why the adaptive mode cannot run, in the engine's words, or `None`."""
    algorithm, topk = args.speculative_algorithm, args.speculative_eagle_topk
    if algorithm not in ("EAGLE", "EAGLE3"):
        return f"speculative_algorithm={algorithm} (only EAGLE/EAGLE3 are supported)"
    if topk != 1 and not (topk is None and args.since("0.5.14")):
        return f"speculative_eagle_topk={topk} (only topk=1 is supported)"
    if uses_attention_data_parallelism(args):
        what = "attention DP" if args.since("0.5.22") else "enable_dp_attention=True"
        return (
            f"{what} is not supported (adaptive tier decisions are not synchronized across DP "
            "ranks)"
        )
    if not args.since("0.5.12") and not args.disable_overlap_schedule:
        return (
            "the overlap scheduler (spec v2) is enabled (adaptive is only implemented for "
            "EAGLEWorker v1)"
        )
    if args.enable_multi_layer_eagle:
        worker = "MultiLayerEagleWorkerV2" if args.since("0.5.13") else "MultiLayerEagleWorker"
        return (
            f"enable_multi_layer_eagle=True is not supported ({worker} does not implement adaptive)"
        )
    if args.enable_two_batch_overlap:
        return (
            "enable_two_batch_overlap=True is not supported (adaptive state swap would discard the "
            "TboAttnBackend wrapper)"
        )
    if args.enable_pdmux:
        return (
            "enable_pdmux=True is not supported (adaptive state swap does not update "
            "decode_attn_backend_group)"
        )
    return None
