"""The target's class cannot give the hidden states that this kind of draft needs.

## What it checks
Whether the release's class of the target has the method that EAGLE-3, DFLASH or DSPARK call to
choose the layers to capture, and the one that gives the draft its embedding and head.

## What the engine does
The method is called once the target's weights are loaded: an AttributeError (from 0.5.23 a
ValueError that names the class) when CUDA graphs are prepared.

## Example
Kimi-K2.5 on 0.5.9: the class came with that release, `set_eagle3_layers_to_capture` with 0.5.10.

## Fix
Use a release whose class has the method; `docs/engines.md` says how to list them.

## Fix safety
Nothing is edited.

## How sure
Proven: a walk through the class and its bases. A wrapper may still refuse when it is called.

## References
SGLang `srt/models/*.py`, `srt/model_executor/cuda_graph_runner.py`, `model_runner.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="target-cannot-capture",
    summary="the target's class cannot give the hidden states that this kind of draft needs",
    since="0.1.0",
    topics=("architecture.target-cannot-capture", "architecture.target-cannot-share"),
    remedies={
        "architecture.target-cannot-capture": (
            Remedy.manual("use an engine release whose class of this target can capture"),
        ),
    },
)
