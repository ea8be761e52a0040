"""The weights are stored in another dtype than the config states.

## What it checks
The dtype that most bytes of the draft's weights have against `torch_dtype` (`dtype`) of its config,
and whether floating-point weights of several dtypes are mixed.

## What the engine does
The config's dtype is used, and the weights are cast while they are loaded: bf16 weights under a
float16 config lose their range (values above 65504 become infinite), float32 ones lose precision.
Nothing is said.

## Example
EAGLE heads for Vicuna: float32 in the file, float16 in the config.

## Fix
State the dtype that the weights have, or give `--dtype`.

## Fix safety
Unsafe: what the draft was trained in is not proven by how it was saved.

## How sure
Proven by the headers; whether the cast does harm depends on the values.

## References
SGLang `srt/configs/model_config.py:_get_and_verify_dtype`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import DTYPE_OF_TORCH, tensor_value, weights_of
from specpreflight.rules.rule import Rule

_FLOATS = ("BF16", "F16", "F32", "F64")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the stated dtype with the one that most of the weights have."""
    draft, table = launch.draft, weights_of(launch.draft)
    if draft is None or table is None:
        return
    key = "dtype" if draft.config.get("/dtype") is not None else "torch_dtype"
    stated = draft.config.get(f"/{key}")
    wanted = DTYPE_OF_TORCH.get(stated.removeprefix("torch.")) if isinstance(stated, str) else None
    sizes: Counter[str] = Counter()
    for tensor in table.tensors.values():
        if tensor.dtype in _FLOATS:
            sizes[tensor.dtype] += tensor.end - tensor.start
    if wanted is None or not sizes:
        return
    most = sizes.most_common(1)[0][0]
    if most == wanted:
        return
    largest = max(
        (t for t in table.tensors.values() if t.dtype == most), key=lambda t: t.end - t.start
    )
    narrows = (most, wanted) == ("BF16", "F16")
    yield Finding(
        RULE.name,
        Outcome.DEGRADES if narrows else Outcome.STARTS,
        f"the weights are {most}, `{key}` says {stated}",
        stage=Stage.SERVING if narrows else None,
        detail="They are cast while they are loaded"
        + (", and float16 has less range than bfloat16." if narrows else "."),
        values=(tensor_value(draft, "weights", largest), draft.value(key, f"/{key}")),
        remedies=(Remedy("state the dtype that the weights have", "manual", "unsafe"),),
    )


RULE = Rule(
    name="dtype-misstated",
    summary="the weights are stored in another dtype than the config states",
    since="0.1.0",
    needs=("draft.config", "draft.weights"),
    check=check,
)
