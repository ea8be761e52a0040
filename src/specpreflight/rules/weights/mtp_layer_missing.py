"""The target announces a layer for multi-token prediction, and its weights lack it.

## What it checks
For NEXTN, EAGLE and EAGLE3 without a draft of their own: that tensors of the MTP layer are among
those that the engine will read. With an index, only the files that the index names are read.

## What the engine does
The head is built from the target's config, and its loader takes whatever it finds: nothing for a
checkpoint without the layer, so the head stays uninitialised and no error is raised. For GLM-4.5,
4.6 and 4.7 a `mtp.safetensors` that the index forgot is added from 0.5.8 on.

## Example
An FP4 export of GLM-4.7 whose layer 92 stands in `mtp.safetensors` and not in
`model.safetensors.index.json`.

## Fix
Write the index again so that it names the file, or use an export that kept the layer.

## Fix safety
Nothing is edited.

## How sure
Proven for the restated heads (DeepSeek NextN, Qwen3-Next, Qwen3.5, MiMo); for others inferred.

## References
sglang#17166; SGLang `srt/model_loader/weight_utils.py:maybe_add_mtp_safetensors` (0.5.8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.draft_format import first_architecture, has_mtp_layers
from specpreflight.models.finding import Confidence, Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import loader_of, names_of
from specpreflight.rules.rule import Rule

_ALGORITHMS = frozenset({"NEXTN", "EAGLE", "EAGLE3", "MTP"})
_MTP = re.compile(r"(^|\.)(mtp|mtp_layers|nextn)\.")
_GLM4 = re.compile(r"Glm4Moe(Lite)?ForCausalLM")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Look for the layer among the names that the engine will read."""
    target, algorithm = launch.target, launch.flags.get("speculative-algorithm")
    own = launch.draft is None or launch.draft.given == (target.given if target else None)
    if target is None or not own or str(algorithm).upper() not in _ALGORITHMS:
        return
    names = names_of(target)
    if names is None or not has_mtp_layers(target):
        return
    layer = target.text.get("num_hidden_layers")
    if any(_MTP.search(name) or f".layers.{layer}." in name for name in names):
        return
    beside = [name for name in target.files if name == "mtp.safetensors"]
    if beside and _GLM4.match(first_architecture(target) or "") and _adds_mtp(launch):
        return
    restated = loader_of(resolved)
    proven = restated is not None and not restated.taken
    where = ", it is in `mtp.safetensors`, which the index does not name" if beside else ""
    yield Finding(
        RULE.name,
        Outcome.ACCEPTS_NOTHING if proven else Outcome.CRASHES,
        f"no tensor of the MTP layer {layer} is read{where}"[:100],
        stage=Stage.SERVING if proven else Stage.WEIGHTS,
        confidence=Confidence.PROVEN if proven else Confidence.INFERRED,
        detail="The head would be built from the config and stay without weights.",
        values=tuple(chain(_announcements(target), _index(target))),
        remedies=(
            Remedy(
                "write the index again, or use an export that kept the layer",
                "manual",
                "placeholder",
            ),
        ),
    )


def _adds_mtp(launch: Launch) -> bool:
    """Return whether this release adds a forgotten `mtp.safetensors` (0.5.8 on)."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(launch.engine.version) >= Version("0.5.8")
    except InvalidVersion:
        return False


def _announcements(target: Checkpoint) -> Iterator[Value]:
    for key in ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers"):
        if target.text.get(key) is not None:
            yield target.text_value(key, key)
    yield target.text_value("num_hidden_layers", "num_hidden_layers")


def _index(target: Checkpoint) -> Iterator[Value]:
    name = "model.safetensors.index.json"
    if name in target.files:
        path = f"{target.given.rstrip('/')}/{name}"
        yield Value("index", "names no such tensor", Origin("file", path=path))


RULE = Rule(
    name="mtp-layer-missing",
    summary="the target announces a layer for multi-token prediction, and its weights lack it",
    since="0.1.0",
    needs=("target.config", "target.weights"),
    check=check,
)
