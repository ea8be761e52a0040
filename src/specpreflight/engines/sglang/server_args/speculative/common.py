"""What the algorithms' hooks have in common."""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.state import ServerArgs

#: `--max-running-requests` that every algorithm falls back to.
RUNNING_REQUESTS = 48


def limit_running_requests(args: ServerArgs) -> None:
    """Fill `max_running_requests`; releases before 0.5.4 do it without a word."""
    if args.max_running_requests is not None:
        return
    args.set("max_running_requests", RUNNING_REQUESTS, "speculative decoding resets it to 48")
    hint = " You can override this by explicitly setting --max-running-requests."
    args.tell(
        "arguments.running-requests",
        "`--max-running-requests` is reset to 48 for speculative decoding",
        "Max running requests is reset to 48 for speculative decoding."
        + (hint if args.since("0.5.4.post1") else "")
        if args.since("0.5.4")
        else None,
        "max_running_requests",
    )


def turn_off_mixed_chunk(args: ServerArgs, engine_message: str) -> None:
    """Turn off mixed chunked prefill where it is on."""
    if not args.enable_mixed_chunk:
        return
    args.set("enable_mixed_chunk", False, f"{args.speculative_algorithm} does not support it")
    args.tell(
        "arguments.mixed-chunk-off",
        "mixed chunked prefill is turned off for speculative decoding",
        engine_message,
        "enable_mixed_chunk",
    )


def turn_off_overlap(args: ServerArgs, reason: str, engine_message: str) -> None:
    """Turn off the overlap scheduler."""
    was_on = not args.disable_overlap_schedule
    args.set("disable_overlap_schedule", True, reason)
    if was_on:
        args.tell(
            "arguments.overlap-off",
            "the overlap scheduler is turned off for speculative decoding",
            engine_message,
            "disable_overlap_schedule",
        )


def keep_cpu_synchronous(args: ServerArgs) -> None:
    """Turn off the overlap scheduler on a CPU (0.5.16 and newer)."""
    if args.since("0.5.16") and args.device == "cpu" and not args.disable_overlap_schedule:
        turn_off_overlap(
            args,
            "the overlap schedule does not exist for speculative decoding on a CPU",
            "Overlap schedule is not implemented for speculative decoding on CPU.",
        )


def uses_attention_data_parallelism(args: ServerArgs) -> bool:
    """Return whether DP attention is on: a flag up to 0.5.21, `attn_dp_size > 1` from 0.5.22."""
    if args.since("0.5.22"):
        return bool(args.attn_dp_size > 1)
    return bool(args.enable_dp_attention)


def attention_backends(args: ServerArgs) -> tuple[str | None, str | None]:
    """Return the prefill and the decode backend in effect."""
    return (
        args.prefill_attention_backend or args.attention_backend,
        args.decode_attention_backend or args.attention_backend,
    )


def fix_at_one(args: ServerArgs, field: str, algorithm: str) -> None:
    """Set the steps or the top-k of a block algorithm to 1, with a warning where 1 was not it."""
    value = getattr(args, field)
    if value is None:
        args.set(field, 1, f"{algorithm} drafts a whole block in one step")
    elif int(value) != 1:
        args.set(field, 1, f"{algorithm} only supports 1")
        args.tell(
            "arguments.block-draft-steps",
            f"`--{field.replace('_', '-')}` {value} is overridden to 1 for {algorithm}",
            f"{algorithm} only supports {field} == 1; overriding {field}={value} to 1.",
            field,
        )
