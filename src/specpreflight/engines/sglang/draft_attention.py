"""The attention backend that the draft's worker builds: the target's, unless it has its own.

Restates `model_executor/model_runner.py:_get_attention_backend` (from 0.5.16 on
`model_runner_components/attention_backend_setup.py`), `layers/attention/attention_registry.py` and
the tables of `speculative/draft_utils.py:DraftBackendFactory` (in `eagle_worker.py` up to
0.5.3.post1), which are harvested.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from specpreflight.engines.sglang.pair import Pair
from specpreflight.models.finding import Outcome, Stage
from specpreflight.models.resolved import Event

#: Backends for latent attention only, with what they raise for a draft without it.
_MLA_ONLY: Final = {
    "trtllm_mla": ("ValueError", "trtllm_mla backend can only be used with MLA models."),
    "tokenspeed_mla": ("ValueError", "tokenspeed_mla backend can only be used with MLA models."),
    "cutedsl_mla": ("ValueError", "cutedsl_mla backend can only be used with MLA models."),
    "flashmla": ("AttributeError", "'ModelConfig' object has no attribute 'kv_lora_rank'"),
    "cutlass_mla": ("AttributeError", "'ModelConfig' object has no attribute 'kv_lora_rank'"),
    "nsa": ("AssertionError", "NSA backend only supports DeepSeek NSA"),
    "dsa": ("AssertionError", "DSA backend only supports DeepSeek DSA"),
}
_MHA_ONLY: Final = {
    "trtllm_mha": ("ValueError", "trtllm_mha backend can only be used with non-MLA models."),
}
_OWN: Final = "speculative_draft_attention_backend"

#: What to suggest for a draft, the first that its worker can run.
_SUGGESTED: Final = ("trtllm_mha", "fa3", "flashinfer", "triton")


def target_backend_events(pair: Pair) -> Iterator[Event]:
    """Yield what stops the target's runner when it builds its attention backends."""
    names = _target_backends(pair)
    if names is not None:
        yield from _split_refused(pair, *names)
        yield from _hpc_ops_refused(pair, *names)


def draft_backend_events(pair: Pair) -> Iterator[Event]:
    """Yield what stops the draft's worker when it builds its attention backends."""
    if pair.algorithm not in ("EAGLE", "EAGLE3", "STANDALONE"):
        return
    names = _backends(pair)
    if names is None:
        return
    wrong_kind = next(_wrong_kind(pair, names), None)
    if wrong_kind is not None:
        yield wrong_kind
        return
    yield from _not_in_table(pair, *names)


def _backends(pair: Pair) -> tuple[str, str] | None:
    """Return the backends for prefill and decoding, `None` where they cannot be predicted."""
    own = pair.setting(_OWN)
    return (str(own), str(own)) if own else _target_backends(pair)


def _target_backends(pair: Pair) -> tuple[str, str] | None:
    base = pair.setting("attention_backend")
    prefill = pair.setting("prefill_attention_backend") or base
    decode = pair.setting("decode_attention_backend") or base
    return (str(prefill), str(decode)) if prefill and decode else None


def _split_refused(pair: Pair, prefill: str, decode: str) -> Iterator[Event]:
    """0.4.9.post5 to 0.5.1.post3: two backends, one for each phase, do not speculate."""
    if prefill == decode or not pair.since("0.4.9.post5") or pair.since("0.5.2"):
        return
    yield Event(
        "attention.split-speculative",
        Outcome.CRASHES,
        Stage.WARMUP,
        f"prefill on {prefill} and decoding on {decode} do not go with speculation",
        engine_message="Currently HybridAttentionBackend does not support speculative decoding.",
        exception="AssertionError",
        source="model_executor/model_runner.py:ModelRunner._get_attention_backend",
        values=_flags(pair, "prefill_attention_backend", "decode_attention_backend"),
    )


def _hpc_ops_refused(pair: Pair, prefill: str, decode: str) -> Iterator[Event]:
    """0.5.17 and newer have the backend, without speculation."""
    if "hpc_ops" in (prefill, decode):
        yield Event(
            "attention.hpc-ops-speculative",
            Outcome.CRASHES,
            Stage.WARMUP,
            "hpc_ops does not support speculative decoding",
            engine_message="hpc_ops backend does not support speculative decoding for now.",
            exception="ValueError",
            source="layers/attention/attention_registry.py",
            values=_flags(pair, "attention_backend"),
        )


def _wrong_kind(pair: Pair, names: tuple[str, str]) -> Iterator[Event]:
    kind = pair.draft.attention
    refused = {"MHA": _MLA_ONLY, "MLA": _MHA_ONLY}.get(str(kind), {})
    for name in reversed(names):  # decoding is built first where the two differ
        if name not in refused:
            continue
        exception, said = refused[name]
        yield Event(
            "draft.attention-kind",
            Outcome.CRASHES,
            Stage.WARMUP,
            f"the draft has {kind} attention and would run on the target's {name}"
            if pair.setting(_OWN) is None
            else f"the draft has {kind} attention and cannot run on {name}",
            engine_message=said,
            exception=exception,
            source="layers/attention/attention_registry.py"
            if pair.since("0.5.3")
            else "model_executor/model_runner.py:ModelRunner._get_attention_backend_from_str",
            values=(*_flags(pair, "attention_backend"), *pair.draft_value("/architectures/0")),
            facts=_way_out(pair),
        )


def _not_in_table(pair: Pair, prefill: str, decode: str) -> Iterator[Event]:
    """Yield the event for a backend on which an EAGLE draft cannot decode or extend."""
    steps = pair.setting("speculative_num_steps")
    decodes = pair.knowledge.probe("backends.draft-decode")
    extends = pair.knowledge.probe("backends.draft-extend")
    skips = pair.knowledge.probe("backends.one-step-needs-no-decode") is True and steps == 1
    extending = decode if pair.setting("speculative_attention_mode") == "decode" else prefill
    if isinstance(decodes, tuple) and decode not in decodes and not skips:
        phase = "decode attention backend" if pair.since("0.5.1") else "attention backend"
        said = f"EAGLE is not supported in {phase} {decode}"
        yield _unsupported(pair, decode, said, "probes.backends.draft-decode")
    elif isinstance(extends, tuple) and extending not in extends and pair.since("0.5.1"):
        said = f"EAGLE is not supported in attention backend {extending}"
        yield _unsupported(pair, extending, said, "probes.backends.draft-extend")


def _unsupported(pair: Pair, name: str, said: str, read: str) -> Event:
    factory = pair.since("0.5.3.post2")
    return Event(
        "draft.attention-unsupported",
        Outcome.CRASHES,
        Stage.WARMUP,
        f"this release has no draft on the attention backend {name}",
        engine_message=said,
        exception="ValueError",
        source="speculative/draft_utils.py:DraftBackendFactory"
        if factory
        else "speculative/eagle_worker.py:EAGLEWorker.init_attention_backend",
        values=_flags(pair, "attention_backend"),
        facts={**_way_out(pair), "read": read},
    )


def _flags(pair: Pair, *fields: str) -> tuple[Any, ...]:
    return tuple(pair.args.value(field) for field in fields)


def _way_out(pair: Pair) -> dict[str, Any]:
    """Return the flag of this release that gives the draft a backend, and one that it can run."""
    flag = "--speculative-draft-attention-backend"
    refused = {"MHA": _MLA_ONLY, "MLA": _MHA_ONLY}.get(str(pair.draft.attention), {})
    decodes = pair.knowledge.probe("backends.draft-decode")
    fits = (name for name in _suggested(pair) if name not in refused)
    backend = next((name for name in fits if isinstance(decodes, tuple) and name in decodes), None)
    return {"flag": flag if flag in pair.knowledge.flags else None, "backend": backend}


def _suggested(pair: Pair) -> Iterator[str]:
    machine = pair.args.machine
    topk = pair.setting("speculative_eagle_topk")
    for name in _SUGGESTED:
        fits = {
            "trtllm_mha": machine.is_sm100 and topk == 1,
            "fa3": machine.is_sm90,
        }.get(name, True)
        if fits:
            yield name
