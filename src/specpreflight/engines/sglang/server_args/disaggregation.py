"""Prefill/decode disaggregation.

Restates `server_args.py:__post_init__` (to 0.5.2), `_handle_disaggregation` (0.5.3 to 0.5.6.post2),
`_handle_pd_disaggregation` (0.5.7 to 0.5.14), and
`arg_groups/pd_disaggregation_hook.py:handle_pd_disaggregation` (0.5.15 and newer).
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.state import ServerArgs


def handle_pd_disaggregation(args: ServerArgs) -> None:
    """Resolve the settings of a prefill or a decode server."""
    if args.disaggregation_mode == "decode":
        _handle_decode(args)
    elif args.disaggregation_mode == "prefill":
        _handle_prefill(args)
    if args.disaggregation_mode != "null" and args.since("0.5.21") and args.enable_pd_role_switch:
        _check_role_switch(args)


def _handle_decode(args: ServerArgs) -> None:
    if args.since("0.4.7.post1") and not args.since("0.5.10"):
        for flag, field in (
            ("--disaggregation-decode-tp", "disaggregation_decode_tp"),
            ("--disaggregation-decode-dp", "disaggregation_decode_dp"),
        ):
            args.require(
                getattr(args, field) is None,
                "parallelism.disaggregation",
                f"`{flag}` is for the prefill server",
                f"Cannot set {flag} for the decode engine.",
                field,
            )
    if args.since("0.5.11") and args.disaggregation_decode_enable_radix_cache:
        _check_decode_radix_cache(args)
        args.set("disable_radix_cache", False, "the decode server keeps its radix cache")
        return
    args.set("disable_radix_cache", True, "a decode server uses the chunk cache")
    args.tell(
        "cache.radix-off",
        "the radix cache is turned off on a decode server",
        "Radix cache is disabled for decode server"
        if args.since("0.5.22")
        else "KV cache is forced as chunk cache for decode server",
        "disable_radix_cache",
        "disaggregation_mode",
    )
    strategy = args.mamba_scheduler_strategy
    if args.since("0.5.11") and not args.since("0.5.14") and strategy == "extra_buffer":
        args.set("mamba_scheduler_strategy", "no_buffer", "a decode server uses the chunk cache")
    if args.since("0.5.2") and not args.since("0.5.8"):
        _check_round_robin(args)


def _check_round_robin(args: ServerArgs) -> None:
    if args.dp_size > 1 and not args.variable_is_true("SGLANG_IS_IN_CI"):
        args.require(
            bool(args.prefill_round_robin_balance),
            "parallelism.disaggregation",
            "a decode server with dp_size > 1 needs `--prefill-round-robin-balance`",
            "Prefill round robin balance is required when dp size > 1. Please make sure that the "
            "prefill instance is launched with `--load-balance-method round_robin` and "
            "`--prefill-round-robin-balance` is set for decode server.",
            "dp_size",
            "prefill_round_robin_balance",
        )


def _check_decode_radix_cache(args: ServerArgs) -> None:
    flag, topic = "--disaggregation-decode-enable-radix-cache", "cache.decode-radix"
    backend, algorithm = args.disaggregation_transfer_backend, args.speculative_algorithm
    said = None
    if not args.since("0.5.12"):
        if backend != "nixl":
            said = f"{flag} currently requires --disaggregation-transfer-backend nixl"
    elif not args.since("0.5.13"):
        if backend not in ("nixl", "mooncake"):
            said = (
                f"{flag} currently requires --disaggregation-transfer-backend in ('nixl', "
                f"'mooncake'), but got {backend!r}"
            )
    elif backend == "fake":
        said = f"{flag} is incompatible with --disaggregation-transfer-backend fake"
    if said is not None:
        args.stop(topic, said, said, "disaggregation_transfer_backend")
    if args.since("0.5.23") or algorithm is None:
        return
    if algorithm == "DSPARK" and args.since("0.5.21"):
        return
    args.stop(
        "cache.decode-radix-speculative",
        "the decode server's radix cache does not support speculation in this release",
        f"{flag} is incompatible with speculative decoding (--speculative-algorithm {algorithm})",
        "disaggregation_decode_enable_radix_cache",
        "speculative_algorithm",
    )


def _handle_prefill(args: ServerArgs) -> None:
    if args.since("0.4.7.post1") and not args.since("0.5.10"):
        if args.disaggregation_decode_tp is None:
            args.set("disaggregation_decode_tp", args.tp_size, "the prefill server's tp_size")
        if args.disaggregation_decode_dp is None:
            args.set("disaggregation_decode_dp", args.dp_size, "the prefill server's dp_size")
        args.set("disaggregation_prefill_pp", args.pp_size, "the prefill server's pp_size")
        prefill, decode = args.tp_size, args.disaggregation_decode_tp
        args.require(
            max(prefill, decode) % min(prefill, decode) == 0,
            "parallelism.disaggregation",
            f"tp {prefill} of prefill and tp {decode} of decode: one must be a multiple",
            "Different tp size is supported only when one tp is multiple of the other. "
            f"decode_tp={decode}, prefill_tp={prefill}",
            "tp_size",
            "disaggregation_decode_tp",
        )
    if args.since("0.5.10"):
        args.require(
            args.disaggregation_transfer_backend != "fake",
            "parallelism.disaggregation",
            "a prefill server cannot use the fake transfer backend",
            "Prefill server does not support 'fake' as the transfer backend",
            "disaggregation_transfer_backend",
        )
    if args.since("0.5.16"):
        return
    keeps_graphs = args.since("0.5.6") and bool(args.enable_piecewise_cuda_graph)
    if args.since("0.5.10"):
        keeps_graphs = not args.since("0.5.14") and not args.disable_piecewise_cuda_graph
    if not keeps_graphs:
        args.set("disable_cuda_graph", True, "a prefill server runs no decode graphs")


def _check_role_switch(args: ServerArgs) -> None:
    if args.speculative_algorithm is None:
        return
    args.stop(
        "parallelism.role-switch-speculative",
        "`--enable-pd-role-switch` does not support speculation",
        "--enable-pd-role-switch does not rebuild role-specific state for the following features: "
        f"speculative decoding (--speculative-algorithm {args.speculative_algorithm}). Remove "
        "these options or drop --enable-pd-role-switch.",
        "enable_pd_role_switch",
        "speculative_algorithm",
    )
