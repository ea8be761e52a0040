"""The draft's tensors are quantised otherwise than its config says.

## What it checks
The dtypes and names of the draft's tensors against its `quantization_config`: quantised tensors
without one, one whose scales are missing or are named otherwise, one beside plain tensors.

## What the engine does
Without a `quantization_config` values are cast: fp8, int8 and uint8 bytes are copied into bf16
parameters as if they were numbers of full scale, and their scales are dropped. With one, scales
that don't arrive stay at the smallest float32. With an awq or gptq config the packed parameters
stay uninitialised if the file holds plain weights. None of these is an error in the loader.

## Example
An fp8 export of a draft whose `quantization_config` was written to `hf_quant_config.json` only.

## Fix
Copy the exporter's `quantization_config` into the draft's config.json, or use the unquantised
draft: it is small.

## Fix safety
Nothing is edited: only the exporter knows the scheme.

## How sure
Proven by the headers; that the draft then proposes noise is inferred.

## References
SGLang `srt/layers/quantization/fp8.py`, `awq.py`, `gptq.py`, all releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import Tensor, loader_of, tensor_value, weights_of
from specpreflight.rules.rule import Rule

if TYPE_CHECKING:
    from specpreflight.models.loader_report import LoaderReport

_NARROW = ("F8_", "F4", "F6_", "I8", "U8", "I4")
_PLAIN = ("BF16", "F16", "F32")
_KEYS = ("quantization_config", "compression_config")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the config's scheme with the tensors'."""
    report, draft = loader_of(resolved), launch.draft
    table = weights_of(draft)
    if report is None or draft is None or table is None or report.error is not None:
        return
    weights = {n: t for n, t in table.tensors.items() if len(t.shape) >= 2 and "d2t" not in n}
    narrow = [t for t in weights.values() if t.dtype.startswith(_NARROW)]
    key = next((key for key in _KEYS if isinstance(draft.config.get(f"/{key}"), dict)), None)
    if key is None:
        if narrow and "hf_quant_config.json" not in draft.files:
            yield _unannounced(draft, narrow)
        return
    method = draft.config.get(f"/{key}/quant_method")
    scales = [u.parameter for u in report.lost if u.parameter.endswith(("_scale", "_scale_inv"))]
    packed = [u.parameter for u in report.lost if u.parameter.endswith((".qweight", ".qzeros"))]
    if scales or packed:
        yield _without(draft, key, method, (packed or scales)[0], report, weights)


def _unannounced(draft: Checkpoint, narrow: list[Tensor]) -> Finding:
    return Finding(
        RULE.name,
        Outcome.ACCEPTS_NOTHING,
        f"{len(narrow)} tensors are {narrow[0].dtype}, and config.json has no quantization_config",
        stage=Stage.SERVING,
        detail="Their values are cast as they are and their scales dropped.",
        values=(tensor_value(draft, "tensor", narrow[0]), draft.value("config", f"/{_KEYS[0]}")),
        remedies=_REMEDIES,
    )


def _without(
    draft: Checkpoint,
    key: str,
    method: Any,
    lost: str,
    report: LoaderReport,
    weights: Mapping[str, Tensor],
) -> Finding:
    plain = next((t for t in weights.values() if t.dtype in _PLAIN and "proj" in t.name), None)
    shown = [draft.value(key, f"/{key}/quant_method")]
    if plain is not None:
        shown.append(tensor_value(draft, "tensor", plain))
    return Finding(
        RULE.name,
        Outcome.ACCEPTS_NOTHING,
        f"`{method}` in the config, and no tensor reaches `{lost[:48]}`",
        stage=Stage.SERVING,
        detail=f"Dropped: {', '.join(report.dropped[:6]) or 'nothing'}.",
        values=tuple(shown),
        remedies=_REMEDIES,
    )


_REMEDIES = (
    Remedy("use the unquantised draft", "manual", "placeholder"),
    Remedy("copy the exporter's `quantization_config` into config.json", "manual", "placeholder"),
)


RULE = Rule(
    name="quantization-contradicts",
    summary="the draft's tensors are quantised otherwise than its config says",
    since="0.1.0",
    needs=("draft.config", "draft.weights"),
    check=check,
)
