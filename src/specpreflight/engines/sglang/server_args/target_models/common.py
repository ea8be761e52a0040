"""What the families ask about a target and its settings."""

from __future__ import annotations

from collections.abc import Mapping

from specpreflight.engines.sglang.server_args.speculative.common import attention_backends
from specpreflight.engines.sglang.server_args.state import ServerArgs


def is_backend_unset(args: ServerArgs) -> bool:
    """Return whether the user left all three attention backends to the engine."""
    return (args.attention_backend, *attention_backends(args)) == (None, None, None)


def choose_backend(args: ServerArgs, backend: str, why: str) -> None:
    """Set the attention backend of a family, and say that it was chosen."""
    args.set("attention_backend", backend, why)


def quantization_method(args: ServerArgs) -> str | None:
    """Return `quantization_config["quant_method"]` of the checkpoint."""
    config = args.target.config.get("quantization_config")
    method = config.get("quant_method") if isinstance(config, Mapping) else None
    return method if isinstance(method, str) else None


def take_checkpoint_quantization(args: ServerArgs) -> None:
    """Fill `--quantization` with the checkpoint's own method, as several families do on SM100."""
    method = quantization_method(args)
    if args.quantization is None and method is not None and not is_unquantized_by_request(args):
        args.set("quantization", method, "the checkpoint's own quantisation")


def is_unquantized_by_request(args: ServerArgs) -> bool:
    """Return whether `--quantization unquant` was given (0.5.11 and newer)."""
    return args.since("0.5.11") and args.was_given("quantization") and args.quantization is None


def requires_backends(
    args: ServerArgs, accepted: tuple[str, ...], who: str, engine_message: str
) -> None:
    """Record that the engine asserts a family's attention backends."""
    used = attention_backends(args)
    args.require(
        all(backend in accepted for backend in used),
        "attention.model-backend",
        f"{who} needs one of {', '.join(accepted)}, got {' and '.join(map(str, used))}",
        engine_message,
        "attention_backend",
        "prefill_attention_backend",
        "decode_attention_backend",
    )
