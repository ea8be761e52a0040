"""The draft would run on an attention backend that cannot run it.

## What it checks
The backend that the draft's worker builds (the target's, unless the draft has its own), against the
draft's kind of attention and against the backends on which this release can draft.

## What the engine does
The draft inherits the target's backend, also one that the engine chose by itself: on Blackwell,
DeepSeek-like targets get trtllm_mla, and an EAGLE-3 head with ordinary attention then dies when its
backend is built, after both models are loaded. The same holds for flashmla, cutlass_mla, nsa and
dsa, and the other way round for trtllm_mha with an MLA draft. A backend for which the release has
no draft at all (torch_native, cutlass_mla, wave …) is refused by name. Which ones it has differs by
release: flashinfer, triton, fa3 and flashmla in 0.4, the TensorRT-LLM ones from 0.5.1, nsa from
0.5.4, fa4 from 0.5.10, cutedsl_mla from 0.5.13. With one step nothing is decoded, and only the
backend for extending is asked for. `--speculative-draft-attention-backend` exists from 0.5.7.

## Example
Kimi-K2.5 with a `LlamaForCausalLMEagle3` draft on B200, without flags: `trtllm_mla backend can only
be used with MLA models.`

## Fix
Give the draft its own backend, with the flag of this release; before 0.5.7 only another
`--attention-backend` for both helps.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release. Where the backend depends on the GPU and none is
given, the finding is left out and the setting is listed as unknown.

## References
SGLang `srt/layers/attention/attention_registry.py`, `srt/speculative/draft_utils.py`;
sglang#20298, #23490.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Remedy
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Event, Resolved
from specpreflight.rules.rule import Rule, report_event


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each backend that the draft cannot run on, with one that it can."""
    for order, event in RULE.events(resolved):
        yield report_event(RULE, order, event, remedies=(_remedy(event),))


def _remedy(event: Event) -> Remedy:
    flag, backend = event.facts["flag"], event.facts["backend"]
    if flag is None:
        return Remedy.flag(f"choose another --attention-backend for both, such as {backend}")
    return Remedy.flag(f"give the draft its own: {flag} {backend}", f"{flag} {backend}")


RULE = Rule(
    name="draft-attention-backend-unfit",
    summary="the draft would run on an attention backend that cannot run it",
    since="0.1.0",
    topics=("draft.attention-kind", "draft.attention-unsupported"),
    check=check,
)
