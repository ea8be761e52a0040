"""Keys of an EAGLE-3 draft that change what it computes, and that a release does not read.

Which of them a class reads is harvested (`harvest/probes/workers.py:norm_keys`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specpreflight.engines.sglang.pair import Pair
from specpreflight.models.finding import Confidence, Outcome, Stage
from specpreflight.models.resolved import Event

#: By class: the probe that says which of the keys its file reads, and the file.
_CLASSES: Final = {
    "LlamaForCausalLMEagle3": ("eagle3.norm-keys", "models/llama_eagle3.py"),
    "Eagle3DeepseekV2ForCausalLM": ("eagle3.mla-norm-keys", "models/kimi_k25_eagle3.py"),
}

#: Switches that training scripts write (SpecForge, speculators, ModelOpt); off where absent.
SWITCHES: Final = (
    "norm_before_residual",
    "norm_before_fc",
    "fc_norm",
    "use_aux_norm",
    "norm_output",
)

#: The one that is read inside `eagle_config` as well as at the top.
_NESTED: Final = "norm_before_fc"


def unread_key_events(pair: Pair) -> Iterator[Event]:
    """Yield the switches that the draft has on and that this release does not read."""
    if pair.draft_class not in _CLASSES or pair.algorithm != "EAGLE3":
        return
    probe, file = _CLASSES[pair.draft_class]
    read = pair.knowledge.probe(probe)
    if not isinstance(read, tuple):
        return
    for place, name in _switched_on(pair):
        if name in read and (not place or name == _NESTED):
            continue
        yield Event(
            "eagle3.key-unread",
            Outcome.DEGRADES,
            Stage.SERVING,
            f"the draft was trained with `{name}`, which this release does not read",
            source=f"{file}:{pair.draft_class}.__init__",
            values=pair.draft_value(f"{place}/{name}"),
            facts={"key": name, "elsewhere": name in read, "read": f"probes.{probe}"},
            confidence=Confidence.INFERRED
            if name == "norm_before_residual"
            else Confidence.OBSERVED,
        )


def _switched_on(pair: Pair) -> Iterator[tuple[str, str]]:
    """Yield `(pointer of the object, key)` for every switch that is on in config.json."""
    root = None if pair.draft_checkpoint is None else pair.draft_checkpoint.config.root
    if not isinstance(root, dict):
        return
    nested = root.get("eagle_config")
    for place, found in (("", root), ("/eagle_config", nested)):
        if isinstance(found, dict):
            for name in SWITCHES:
                if found.get(name) and not (place and root.get(name)):
                    yield place, name
