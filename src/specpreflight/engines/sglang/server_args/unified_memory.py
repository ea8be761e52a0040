"""`--enable-unified-memory`: which attention backends and algorithms it goes with.

Restates `server_args.py:_handle_page_major_kv_layout`, `_handle_unified_memory_pool` (0.5.15 to
0.5.18) and `arg_groups/kv_cache_hook.py` (0.5.19 and newer), as far as attention backends and
speculation go; its rules for disaggregation, DCP and CUDA graphs are left out.
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.speculative.common import attention_backends
from specpreflight.engines.sglang.server_args.state import ServerArgs


def handle_page_major_layout(args: ServerArgs) -> None:
    """Check the attention backends of pages that hold whole layers."""
    if not (args.enable_unified_memory or args.enable_page_major_kv_layout):
        return
    allowed = _layout_backends(args)
    used = sorted({backend for backend in attention_backends(args) if backend is not None})
    args.require(
        set(used) <= allowed,
        "cache.unified-memory",
        f"unified memory does not run on {', '.join(used)}",
        _layout_message(args, used, sorted(allowed)),
        "enable_unified_memory",
        "attention_backend",
    )


def _layout_backends(args: ServerArgs) -> set[str]:
    if not args.since("0.5.17") or not args.enable_unified_memory:
        return {"triton"}
    if args.target.attention == "MLA":
        allowed = {"triton", "fa3", "trtllm_mla", "flashinfer", "cutedsl_mla"}
        if not args.since("0.5.23"):
            allowed.add("tokenspeed_mla")
        if args.since("0.5.19"):
            allowed.add("flashmla")
        return allowed
    if args.since("0.5.19"):
        return {"triton", "fa3", "fa4", "flashinfer", "trtllm_mha"}
    return {"triton"}


def _layout_message(args: ServerArgs, used: list[str], allowed: list[str]) -> str:
    flag = "--enable-page-major-kv-layout"
    if not args.since("0.5.17"):
        return (
            f"{flag} requires the Triton attention backend for the full-attention layers; got "
            f"{used}. Pass --attention-backend triton."
        )
    if not args.since("0.5.19"):
        return (
            f"{flag} requires the Triton attention backend for the full-attention layers "
            f"(unified-memory MLA also allows the paged MLA backends); got {used}, allowed "
            f"{allowed}. Pass a compatible --attention-backend."
        )
    why = ""
    if not args.since("0.5.22"):
        why = (
            " (unified memory allows the per-layer-view families; plain page-major keeps the "
            "envelope-strided views only Triton reads)"
        )
    elif not args.since("0.5.23"):
        why = " (unified memory allows the stride-aware per-layer-view families)"
    return (
        f"{flag}: the resolved attention backends {used} are not in the allowed set {allowed} for "
        f"this configuration{why}. Pass a compatible --attention-backend."
    )


def handle_unified_memory(args: ServerArgs) -> None:
    """Check the algorithm and the top-k of a unified pool."""
    algorithm, topk = args.speculative_algorithm, args.speculative_eagle_topk
    if not args.enable_unified_memory or algorithm is None:
        return
    flag = "--enable-unified-memory"
    allowed: tuple[str, ...] = ()
    said = f"{flag} is not yet compatible with speculative decoding."
    if args.since("0.5.18"):
        allowed = ("DSPARK",)
        space = "kernel-facing" if args.since("0.5.19") else "dense"
        said = (
            f"{flag} only supports --speculative-algorithm DSPARK (chain draft); other speculative "
            f"algorithms are not yet audited for the unified pool's virtual/{space} loc "
            f"translation. Got --speculative-algorithm={algorithm!r}."
        )
    if args.since("0.5.22"):
        allowed = ("DSPARK", "EAGLE", "EAGLE3", "DFLASH")
        said = (
            f"{flag} only supports --speculative-algorithm DSPARK, DFLASH, EAGLE and EAGLE3; other "
            "speculative algorithms are not yet audited for the unified pool's virtual-to-physical "
            f"loc translation. Got --speculative-algorithm={algorithm!r}."
        )
    args.require(
        algorithm in allowed,
        "cache.unified-memory-speculative",
        f"unified memory does not support {algorithm} in this release",
        said,
        "enable_unified_memory",
        "speculative_algorithm",
    )
    if args.since("0.5.22"):
        args.require(
            topk in (None, 1),
            "cache.unified-memory-speculative",
            f"unified memory only supports top-k 1, got {topk}",
            f"{flag} supports a linear draft chain only (--speculative-eagle-topk in {{None, 1}}); "
            "tree verify relocates accepted tokens one at a time inside the target pool, which the "
            "unified pool's page-granular move_kv_cache cannot express. Got "
            f"--speculative-eagle-topk={topk!r}.",
            "enable_unified_memory",
            "speculative_eagle_topk",
        )
