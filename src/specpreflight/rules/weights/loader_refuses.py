"""The draft's class cannot be built, or its loader stops, for another reason than a shape.

## What it checks
What the constructor and `load_weights` of this release's draft class raise on this config and
these tensor names.

## What the engine does
Some classes know every name they may meet and raise KeyError on another (`Qwen3NextForCausalLMMTP`,
`MiMoMTP`, stacked names in `Qwen3ForCausalLM`); `DeepseekV3ForCausalLMNextN` asserts exactly one
NextN layer; `LlamaForCausalLMEagle3` reads `draft_vocab_size` as an attribute, so that leaving the
key out is an AttributeError, and up to 0.5.11 allows one layer only; DFlash refuses another
activation than SiLU. All happen while the draft is loaded, after the target.

## Example
A second MTP layer, `mtp.layers.1.*`, in a Qwen3-Next checkpoint: `KeyError:
'model.layers.1.input_layernorm.weight'`.

## Fix
Follow the engine's message: add the key, or take the tensor out of the checkpoint.

## Fix safety
Nothing is edited.

## How sure
Proven: the classes are restated release by release and compared with recorded runs.

## References
The finding names the file in `sglang/srt`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import loader_of
from specpreflight.rules.rule import Rule
from specpreflight.rules.weights.tensors_do_not_fit import is_about_shape


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report what stops the build or the load."""
    report, draft = loader_of(resolved), launch.draft or launch.target
    if report is None or draft is None or report.error is None or is_about_shape(report.error):
        return
    error = report.error
    if error.stage == "config":
        return
    doing = "built" if error.stage == "build" else "loaded"
    at = f" at `{error.tensor[:40]}`" if error.tensor else ""
    values = (
        (Value("tensor", error.tensor, Origin("file", path=draft.given, name=error.tensor)),)
        if error.tensor
        else ()
    )
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        f"`{report.architecture}` can't be {doing}: {error.exception}{at}",
        stage=Stage.WEIGHTS,
        detail=f"{error.why} Raised in {error.source or report.source}.".lstrip(),
        engine_message=f"{error.exception}: {error.message}".removesuffix(": "),
        values=values,
        remedies=(Remedy("mend what the engine's message names", "manual", "placeholder"),),
    )


RULE = Rule(
    name="loader-refuses",
    summary="the draft's class can't be built, or its loader stops, for other reasons than shape",
    since="0.1.0",
    needs=("head.weights",),
    check=check,
)
