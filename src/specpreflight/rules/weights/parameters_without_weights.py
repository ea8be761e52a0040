"""Parameters of the draft that no tensor of the checkpoint reaches.

## What it checks
That every parameter which this release's draft class builds, and computes with, gets a tensor;
except the head, which has a rule of its own. If the tensors are there under names that the loader
drops, it says which names it would take.

## What the engine does
No SGLang loader checks that all parameters were loaded. What is missing stays at its initial
content: uninitialised memory for projections, ones for norms, torch's random start for `fc`.
Names that a class does not know are dropped in silence (`LlamaForCausalLMEagle3`, DFlash) or with
a line in the log. The server starts, and the draft proposes noise.

## Example
A draft saved by torch.compile, with `_orig_mod.` in front of every name: nothing is loaded, and
`/health` answers 200. Or a decoder under `layers.0.*` up to 0.5.11, which knows only `midlayer.*`.

## Fix
`specpreflight convert` writes the checkpoint with names that this engine takes, if only the names
are wrong; else export the draft again.

## Fix safety
The converted copy holds the same bytes under other names; the source is not touched.

## How sure
Proven that the parameters stay as they were; that nothing is accepted then is inferred.

## References
SGLang `srt/models/llama_eagle3.py` (`midlayer` and `layers.0` from 0.5.12), `llama_eagle.py`,
`dflash.py`, `deepseek_common/deepseek_weight_loader.py`; sglang#27829.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import loader_of
from specpreflight.rules.rule import Rule

if TYPE_CHECKING:
    from specpreflight.models.loader_report import LoaderReport


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report what stays at its initial content, with the renaming that would mend it."""
    report, draft = loader_of(resolved), launch.draft or launch.target
    if report is None or draft is None or report.error is not None:
        return
    lost = [each for each in report.lost if each.parameter != "lm_head.weight"]
    lost = [each for each in lost if not each.parameter.endswith(("_scale", "_scale_inv"))]
    if not lost:
        return
    norms_only = all("norm" in each.parameter for each in lost)
    rest = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    yield Finding(
        RULE.name,
        Outcome.DEGRADES if norms_only else Outcome.ACCEPTS_NOTHING,
        f"no tensor reaches `{lost[0].parameter[:56]}`{rest}",
        stage=Stage.SERVING,
        detail=_detail(report),
        values=tuple(
            Value(each.parameter, f"stays {each.initial}", Origin("engine", name=report.source))
            for each in lost[:8]
        )
        + tuple(
            Value("dropped", name, Origin("file", path=draft.given, name=name))
            for name in report.dropped[:4]
        ),
        remedies=tuple(_remedies(report)),
    )


def _detail(report: LoaderReport) -> str:
    words = f"`{report.architecture}` loads {len(report.taken)} tensors and drops "
    words += f"{len(report.dropped)}. Nothing checks that all parameters were loaded."
    if report.renaming:
        old, new = next(iter(report.renaming.items()))
        words += f" It would take `{old}` as `{new}`."
    return words


def _remedies(report: LoaderReport) -> Iterator[Remedy]:
    if report.renaming:
        yield Remedy(
            "write the draft with names that this engine takes: specpreflight convert",
            "manual",
            "unsafe",
        )
    yield Remedy("export the draft again with all its tensors", "manual", "placeholder")


RULE = Rule(
    name="parameters-without-weights",
    summary="parameters of the draft that no tensor of the checkpoint reaches",
    since="0.1.0",
    needs=("head.weights",),
    check=check,
)
