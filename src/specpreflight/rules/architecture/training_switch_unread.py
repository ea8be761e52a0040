"""The draft was trained with a switch that this release does not read.

## What it checks
Switches that training scripts write into an EAGLE-3 draft's config, at the top or inside
`eagle_config`, and that are on: `norm_before_residual`, `norm_before_fc`, `fc_norm`,
`use_aux_norm`, `norm_output`; against those that the draft's class reads in this release.

## What the engine does
A key that the class does not know is ignored without a word, and the draft computes something else
than it learned. `LlamaForCausalLMEagle3` reads `fc_norm`, `use_aux_norm` and `norm_output` from
0.5.12 on, `norm_before_fc` from 0.5.17 on (also inside `eagle_config`), and `norm_before_residual`
in no release: its layer always keeps the residual from before the norm. The MLA class reads no
`norm_before_fc`. Where the switch brings tensors, they are dropped as well (`tensors-dropped`).

## Example
`norm_before_fc: true` of gpt-oss-120b-Eagle3-v3 on 0.5.16: the server starts and accepts about 1.1
tokens.

## Fix
Use a release that reads the switch. A draft that needs `norm_before_residual` runs as trained in
vLLM, not in SGLang.

## Fix safety
Never edited: the switch says how the draft was trained, and switching it off would not untrain it.

## How sure
That the key is not read is proven. How much acceptance it costs is observed for `norm_before_fc`
(sglang#32226), inferred for `norm_before_residual`.

## References
SGLang `srt/models/llama_eagle3.py`, `srt/models/kimi_k25_eagle3.py`; sglang#32226, #32334; vLLM
#36545; speculators' `Eagle3SpeculatorConfig.norm_before_residual`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Remedy
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule, report_event

#: The first release whose Llama class reads the switch.
_READ_SINCE = {
    "fc_norm": "0.5.12",
    "use_aux_norm": "0.5.12",
    "norm_output": "0.5.12",
    "norm_before_fc": "0.5.17",
}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each switch with the release that reads it, where there is one."""
    for order, event in RULE.events(resolved):
        name = event.facts["key"]
        since = _READ_SINCE.get(name)
        if event.facts["elsewhere"]:
            remedy = Remedy.manual(f"state `{name}` at the top of the config, where it is read")
        elif since is not None and "Llama" in str(event.source):
            remedy = Remedy.manual(f"use SGLang {since} or later")
        else:
            remedy = Remedy.manual("use a draft that was trained without it")
        yield report_event(RULE, order, event, remedies=(remedy,))


RULE = Rule(
    name="training-switch-unread",
    summary="the draft was trained with a switch that this release does not read",
    since="0.1.0",
    topics=("eagle3.key-unread",),
    check=check,
)
