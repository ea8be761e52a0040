"""The draft names its auxiliary layers, and this release captures others.

## What it checks
`eagle_config.eagle_aux_hidden_state_layer_ids` of an EAGLE-3 draft against what the release does
with them when CUDA graphs are captured, and what DeepSeek-like targets make of them.

## What the engine does
From 0.4.9 to 0.5.10.post1 the graph runner tells the target to capture its default layers
(`[2, n//2, n-3]`); the draft's ids are set only afterwards. Prefill then uses the draft's layers,
and decoding and verification, which run in graphs, the default ones.

A target of DeepSeek's family (Kimi-K2.5, DeepSeek-V3, GLM-5) adds 1 to every id up to 0.5.12. From
0.5.13 on it does so only where the first id is 1, because ids from 2 on already count the inputs of
layers: before, such a draft got its states one layer too late.

## Example
Ids 2, 16, 29 of a 32-layer target on 0.5.9: prefill captures layers 3, 17, 30, graphs 2, 16, 29.

## Fix
Use 0.5.11 or later, or launch with `--disable-cuda-graph`, which is slower. For shifted ids use
0.5.13 or later.

## Fix safety
Nothing is edited: the ids are what the draft was trained on.

## How sure
The order of the calls is proven; how much acceptance it costs is inferred. Shifted ids cost about a
tenth of a token of acceptance length (sglang#25454), which is why they are a note.

## References
SGLang `srt/model_executor/cuda_graph_runner.py`, `model_runner.py`,
`srt/models/deepseek_v2.py:set_eagle3_layers_to_capture`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="aux-layers-not-used",
    summary="the draft names its auxiliary layers, and this release captures others",
    since="0.1.0",
    topics=("eagle3.graphs-default-layers", "eagle3.ids-shifted"),
    notes=True,
    remedies={
        "eagle3.ids-shifted": (Remedy.manual("use SGLang 0.5.13 or later"),),
        "eagle3.graphs-default-layers": (
            Remedy.manual("use SGLang 0.5.11 or later"),
            Remedy.flag("or run without graphs, which is slower", "--disable-cuda-graph"),
        ),
    },
)
