"""The draft's head gets no weights and stays at whatever is in memory.

## What it checks
That `lm_head.weight` of an EAGLE-3 draft arrives where this release uses the draft's own head:
the tensor is in the file, under a name that the loader takes.

## What the engine does
`LlamaForCausalLMEagle3` and `Eagle3DeepseekV2ForCausalLM` build a head of `draft_vocab_size` rows
and never check that it was loaded. Only `draft_vocab_size: null` (in the MLA class: absent, too)
makes them take the target's head; from 0.5.2. Otherwise the head is uninitialised memory: the
server boots, answers, and accepts nothing (`accept len: 1.00, accept rate: 0.00`).

## Example
The first upload of a Kimi-K2.6 EAGLE-3 draft: `draft_vocab_size` equal to `vocab_size`, and no
`lm_head.weight` among its fifteen tensors.

## Fix
Where the draft speaks the target's whole vocabulary, set `draft_vocab_size` to null, so that the
target's head is shared. Otherwise export the draft again with its head.

## Fix safety
Unsafe: sharing is right only if the draft was trained with the target's head, which is what an
exporter that leaves the head out means, but does not prove.

## How sure
Proven: no release checks for missing tensors, and the class decides which head is used.

## References
sglang#27829; `srt/models/llama_eagle3.py`, `srt/models/kimi_k25_eagle3.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Edit, Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import loader_of
from specpreflight.rules.rule import Rule

if TYPE_CHECKING:
    from specpreflight.models.loader_report import LoaderReport


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a head of the draft's own that nothing is loaded into."""
    report, draft = loader_of(resolved), launch.draft
    if report is None or draft is None or report.error is not None:
        return
    if "lm_head.weight" not in {each.parameter for each in report.lost}:
        return
    dropped = [name for name in report.dropped if name.endswith("lm_head.weight")]
    found = Value(
        "lm_head.weight",
        f"dropped as {dropped[0]}" if dropped else "absent",
        Origin("file", path=draft.given, name="lm_head.weight"),
    )
    how = f"is dropped under the name `{dropped[0]}`" if dropped else "is not in the file"
    yield Finding(
        RULE.name,
        Outcome.ACCEPTS_NOTHING,
        f"the draft's own head is used, and `lm_head.weight` {how}"[:100],
        stage=Stage.SERVING,
        detail=(
            f"`{report.architecture}` builds a head from `draft_vocab_size` and does not check "
            "that it was loaded: it proposes from uninitialised memory."
        ),
        values=(found, draft.value("draft_vocab_size", "/draft_vocab_size")),
        remedies=tuple(_remedies(draft, launch, report, bool(dropped))),
    )


def _remedies(
    draft: Checkpoint, launch: Launch, report: LoaderReport, renamed: bool
) -> Iterator[Remedy]:
    stated, target = draft.config.get("/draft_vocab_size"), launch.target
    if renamed and report.renaming:
        yield Remedy(
            "write the draft with names that this engine takes: specpreflight convert",
            "manual",
            "unsafe",
        )
    whole = target is not None and stated == target.text.get("vocab_size")
    if whole and not renamed:
        yield Remedy(
            "set `draft_vocab_size` to null, so that the target's head is shared",
            "edit",
            "unsafe",
            edits=(Edit(draft.config.name, "/draft_vocab_size", stated, None),),
        )
    yield Remedy("export the draft again with its head", "manual", "placeholder")


RULE = Rule(
    name="head-without-weights",
    summary="the draft's head gets no weights and stays at whatever is in memory",
    since="0.1.0",
    needs=("head.weights",),
    check=check,
)
