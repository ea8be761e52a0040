"""The speculative method does not go with this draft or this release.

## What it checks
`method` of the speculative config, given or detected, against the draft's config, its path and the
release.

## What the engine does
vLLM detects the method from the draft: the text of its path (`eagle-`, `eagle3`) first, then its
`model_type`. What it finds can replace the method that is given. Where it finds nothing it stops
with `Unsupported speculative method`; from 0.17 on it takes any draft for an independent model
(`draft_model`) and crashes at warm-up where the draft needs the target's hidden states.
The method `draft_model` is refused up to 0.14. `suffix` needs a package that vLLM does not install.

## Example
A draft of architecture `LlamaForCausalLMEagle3` in `/models/draft`, without `method`: `Unsupported
speculative method: 'None'` on 0.14.0; on 0.20.2 it is loaded as an independent model.

## Fix
Give `method`. Where vLLM replaces it, the draft is of that other kind.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/speculative.py:SpeculativeConfig.__post_init__`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-method-unfit",
    summary="the speculative method does not go with this draft or this release",
    since="0.1.0",
    engines=("vllm",),
    topics=(
        "architecture.method-unsupported",
        "arguments.method-overridden",
        "arguments.draft-missing",
        "arguments.suffix-package-missing",
        "launch.draft-taken-for-model",
    ),
    remedies={
        "architecture.method-unsupported": (
            Remedy.flag("give the `method` that the draft was trained for, if the release has it"),
        ),
        "arguments.draft-missing": (Remedy.flag("give `model` in --speculative-config"),),
        "launch.draft-taken-for-model": (
            Remedy.flag("give the `method` that the draft was trained for"),
        ),
        "arguments.suffix-package-missing": (
            Remedy.manual("install arctic-inference beside vLLM"),
        ),
    },
    notes=True,
)
