"""Tensors of the draft that this release's loader throws away.

## What it checks
Names that the loader reads and puts nowhere, although everything it has a place for is filled: the
checkpoint was made for a class, or a release, that computes more.

## What the engine does
`LlamaForCausalLMEagle3` and DFlash drop such names without a log line, the other classes log one.
`fc_norm.*` needs `fc_norm` in the config and 0.5.12, `input_norm.weight` needs `norm_before_fc` and
0.5.17 (the keys are not in every exporter's config): without them the features reach `fc`
unnormalised, and acceptance drops to about 1.1.

## Example
`input_norm.weight` of a gpt-oss EAGLE-3 draft on 0.5.16.

## Fix
Use a release that knows the tensors, and state the key that switches them on.

## Fix safety
Nothing is edited.

## How sure
Proven that they are dropped; what that costs is observed for norms before `fc`, else inferred.

## References
sglang#32226; SGLang `srt/models/llama_eagle3.py`, `dflash.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import loader_of
from specpreflight.rules.rule import Rule

#: Dropped by design: maps and caches that are not needed, parts that the target provides.
_EXPECTED = ("t2d", "rotary_emb", "lm_head", "embed_tokens", "shared_head.head", "verifier_")
_NORMS = ("fc_norm", "input_norm", "aux_norm", "aux_hidden_norms", "hidden_norm")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report dropped tensors of a draft that is otherwise completely loaded."""
    report, draft = loader_of(resolved), launch.draft
    if report is None or draft is None or report.error is not None or report.lost:
        return
    names = [n for n in report.dropped if not any(part in n for part in _EXPECTED)]
    scales = [n for n in names if n.endswith(("_scale", "_scale_inv", "qzeros"))]
    names = [n for n in names if n not in scales]
    if not names:
        return
    norms = [n for n in names if any(part in n for part in _NORMS)]
    first = (norms or names)[0]
    rest = f" and {len(names) - 1} more" if len(names) > 1 else ""
    yield Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"`{first[:56]}`{rest} {'are' if rest else 'is'} dropped by this release's loader",
        stage=Stage.SERVING,
        confidence=Confidence.OBSERVED if norms else Confidence.INFERRED,
        detail=f"`{report.architecture}` has no parameter for: {', '.join(names[:8])}.",
        values=tuple(
            Value("dropped", name, Origin("file", path=draft.given, name=name))
            for name in names[:8]
        ),
        remedies=(
            Remedy("use a release whose class has these parameters", "manual", "placeholder"),
        ),
    )


RULE = Rule(
    name="tensors-dropped",
    summary="tensors of the draft that this release's loader throws away",
    since="0.1.0",
    needs=("draft.weights",),
    check=check,
)
