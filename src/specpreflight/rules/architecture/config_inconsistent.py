"""Values of a config that contradict each other, or RoPE keys that are missing.

## What it checks
What the config class of the engine's transformers release validates: heads against the hidden size,
layer types against the number of layers, the keys that a RoPE scaling needs; whatever else stops
the engine while it reads the config; and what a draft's class and worker ask of it: the one layer
and `draft_vocab_size` of an EAGLE-3 head, the Markov head of DSPARK, the one MTP layer of
DeepSeek's and GLM's heads.

## What the engine does
transformers 4 raises a KeyError for missing RoPE keys when the config is built; transformers 5
(SGLang 0.5.10, vLLM 0.20 on) validates more and earlier.

## Example
`"rope_scaling": {"type": "yarn"}` without `factor`: `Missing required keys in rope_scaling for
'rope_type'='yarn': {'factor'}`.

## Fix
Complete the config from the model that it describes.

## Fix safety
Nothing is edited: the right value is in the weights or the training, not in the config.

## How sure
Proven: the class's own code at this release.

## References
transformers `modeling_rope_utils.py`, `configuration_utils.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="config-inconsistent",
    summary="values of a config that contradict each other, or RoPE keys that are missing",
    since="0.1.0",
    engines=("sglang", "vllm"),
    topics=(
        "config.inconsistent",
        "config.markov-head",
        "config.mtp-layers",
        "config.rejected",
        "rope.missing-keys",
        "eagle3.config-null",
        "eagle3.config-unfit",
    ),
    remedies={
        "config.mtp-layers": (
            Remedy.flag("give a draft checkpoint with --speculative-draft-model-path"),
        ),
    },
)
