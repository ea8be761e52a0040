"""What SGLang's draft classes do with a checkpoint's tensors, restated release by release.

One module for each group of classes; `load_report` is the way in. Nothing of a weight is loaded:
names, shapes and dtypes of the headers decide.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specpreflight.engines.sglang.loaders.dense import (
    LlamaForCausalLM,
    LlamaForCausalLMEagle,
    Qwen2ForCausalLM,
    Qwen2ForCausalLMEagle,
    Qwen3ForCausalLM,
)
from specpreflight.engines.sglang.loaders.dflash import DFlashDraftModel
from specpreflight.engines.sglang.loaders.draft_config import DraftConfig
from specpreflight.engines.sglang.loaders.draft_model import DraftModel, Situation
from specpreflight.engines.sglang.loaders.llama_eagle3 import LlamaForCausalLMEagle3
from specpreflight.engines.sglang.loaders.mla import (
    DeepseekV3ForCausalLMNextN as _NextN,
)
from specpreflight.engines.sglang.loaders.mla import (
    Eagle3DeepseekV2ForCausalLM,
)
from specpreflight.engines.sglang.loaders.mtp import (
    MiMoMTP,
    Qwen3_5ForCausalLMMTP,
    Qwen3NextForCausalLMMTP,
)
from specpreflight.engines.sglang.loaders.quantization import (
    Quantization,
    UnknownMethod,
    read_quantization,
)
from specpreflight.engines.sglang.loaders.renaming import find_renaming
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import Launch
from specpreflight.models.loader_report import LoaderError, LoaderReport
from specpreflight.models.weights import Tensor, WeightTable, weights_of

#: The restated classes, by the name in SGLang's registry.
CLASSES: Final[Mapping[str, type[DraftModel]]] = {
    model.architecture: model
    for model in (
        DFlashDraftModel,
        _NextN,
        Eagle3DeepseekV2ForCausalLM,
        LlamaForCausalLM,
        LlamaForCausalLMEagle,
        LlamaForCausalLMEagle3,
        MiMoMTP,
        Qwen2ForCausalLM,
        Qwen2ForCausalLMEagle,
        Qwen3ForCausalLM,
        Qwen3NextForCausalLMMTP,
        Qwen3_5ForCausalLMMTP,
    )
}
#: What is built one by one, and how many of it; the largest model has a tenth.
_COUNTS: Final = ("num_hidden_layers", "num_experts", "n_routed_experts")
_MOST: Final = 10_000
#: Flags with which attention or experts are shared by fewer ranks than `--tp-size`.
_OTHER_GROUPS: Final = (
    *("enable-dp-attention", "ep-size", "enable-ep-moe", "enable-deepep-moe", "moe-a2a-backend"),
    *("moe-dp-size", "attn-cp-size", "dcp-size"),
)
#: The first release that registers a class, where it is not in all known ones.
SINCE: Final[Mapping[str, str]] = {
    "DFlashDraftModel": "0.5.11",
    "Eagle3DeepseekV2ForCausalLM": "0.5.12",
    "Qwen3NextForCausalLMMTP": "0.5.2",
    "Qwen3_5ForCausalLMMTP": "0.5.9",
}


def load_report(
    draft: Checkpoint,
    target: Checkpoint | None,
    algorithm: str | None,
    knowledge: Any,
    table: WeightTable,
    flags: Mapping[str, Any] | None = None,
) -> LoaderReport:
    """Say what this release does with the tensors of `draft`.

    `target` is `None` where the draft sits in the target's own checkpoint. `flags` are the
    launch's (`quantization`, `speculative-draft-model-quantization`, `tp-size`), by name.
    """
    root = draft.config.root
    flags = flags or {}
    architecture = draft_architecture(root, knowledge)
    model = CLASSES.get(architecture)
    if model is None or not knowledge.since(SINCE.get(architecture, "0")):
        return _without_class(architecture, knowledge)
    own = str(root.get("model_type")) in knowledge.config_classes.registry
    outer = {key: value for key, value in root.items() if key != "text_config"}
    seen = outer if own and not model.reads_text_config else root
    config = draft_config(seen, knowledge)
    for key in _COUNTS:
        count = config.get(key)
        if isinstance(count, int) and count > _MOST:
            return LoaderReport(
                architecture,
                model.source,
                notes=(f"`{key}` is {count}: that many are not followed",),
            )
    flag = flags.get("speculative-draft-model-quantization", flags.get("quantization"))
    try:
        quantization = read_quantization(root.get("quantization_config"), flag)
    except UnknownMethod as unknown:
        text = f"Unknown quantization method: {unknown}."
        error = LoaderError("config", "ValueError", text, source="configs/model_config.py")
        return LoaderReport(architecture, model.source, error=error)

    def values(tensor: Tensor) -> tuple[float, ...] | None:
        return decode(tensor, table.read(tensor))

    situation = Situation(config, knowledge, quantization, values, _ranks(flags))
    order = tuple(sorted(table.tensors.values(), key=lambda tensor: (tensor.file, tensor.name)))
    built = model(situation)
    built.notes.extend(_reservations(quantization, flags))
    report = built.run(order)
    stated = config.get("num_hidden_layers")
    layer = stated if isinstance(built, _NextN) and type(stated) is int else None
    renaming = find_renaming(order, report, lambda tensors: model(situation).run(tensors), layer)
    return report._replace(renaming=renaming) if renaming else report


def _reservations(quantization: Quantization, flags: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the report can't know of this launch."""
    if not quantization.restated:
        yield f"the parameters of `{quantization.method}` layers are not restated"
    if quantization.ignored:
        yield "layers that the quantisation ignores are counted as quantised"
    if str(flags.get("tp-size", "1")) != "1":
        yield "parameters are those of all ranks together"
        if _ranks(flags) == 1:
            yield "whether the ranks can share each size is not judged beside dp or ep"


def _ranks(flags: Mapping[str, Any]) -> int:
    """Return the ranks that share every layer, 1 where other groups share some of them."""
    others = {str(flags.get(name)).lower() for name in _OTHER_GROUPS}
    if not others <= {"none", "false", "1"}:
        return 1
    text = str(flags.get("tp-size", "1"))
    return int(text) if text.isdigit() and int(text) > 0 else 1


def trace_loader(launch: Launch, knowledge: Any) -> LoaderReport | None:
    """Say what becomes of the tensors of a launch's draft.

    `None`: the launch does not speculate with a checkpoint, or its tensors can't be seen.
    """
    own = launch.draft is None or launch.draft.given == _given(launch.target)
    draft = launch.target if own else launch.draft
    algorithm = launch.flags.get("speculative-algorithm")
    if draft is None or not isinstance(algorithm, str) or algorithm.upper() == "NGRAM":
        return None
    if own and algorithm.upper() == "STANDALONE":
        return None
    table = weights_of(draft)
    if table is None or table.unseen:
        return None
    return load_report(
        draft, None if own else launch.target, algorithm, knowledge, table, launch.flags
    )


def _given(checkpoint: Checkpoint | None) -> str | None:
    return None if checkpoint is None else checkpoint.given


def draft_architecture(root: Mapping[str, Any], knowledge: Any) -> str:
    """Return the class that the release builds for a draft with this config."""
    named = root.get("architectures")
    first = str(named[0]) if isinstance(named, list) and named else ""
    return str(knowledge.draft_rewrites.get(first, first))


def _without_class(architecture: str, knowledge: Any) -> LoaderReport:
    """Answer for a class that the release does not register, or that is not restated here."""
    if architecture in getattr(knowledge, "classes", {}):
        note = f"the loader of `{architecture}` is not restated: its tensors are not judged"
        return LoaderReport(architecture, "", notes=(note,))
    text = (
        f"Cannot find model module. '{architecture}' is not a registered model in the "
        "Transformers library (only relevant if the model is meant to be in Transformers)"
    )
    error = LoaderError("build", "ValueError", text, source="model_loader/utils.py")
    return LoaderReport(architecture, "", error=error)


def draft_config(root: Mapping[str, Any], knowledge: Any) -> DraftConfig:
    """Return the text config as the draft class sees it, with its class's defaults."""
    nested = root.get("text_config")
    values = nested if isinstance(nested, dict) else root
    declared = _config_class(root.get("model_type"), knowledge)
    if isinstance(nested, dict):
        inner = None if declared is None else declared.sub_configs.get("text_config")
        by_parent = (
            knowledge.config_classes.get(inner) if inner not in (None, "AutoConfig") else None
        )
        declared = by_parent or _config_class(nested.get("model_type"), knowledge)
    fields = {} if declared is None else declared.fields
    aliases = {} if declared is None else declared.attribute_map
    defaults = {str(aliases.get(key, key)): field[1] for key, field in fields.items() if field[0]}
    stated = {str(aliases.get(key, key)): value for key, value in values.items()}
    return DraftConfig(stated, defaults, "PretrainedConfig" if declared is None else declared.name)


def _config_class(model_type: object, knowledge: Any) -> Any:
    """Return the config class that the engine loads a `model_type` with, `None` if unknown."""
    classes = knowledge.config_classes
    if not isinstance(model_type, str):
        return None
    own = classes.registry.get(model_type)
    return (classes.get(own) if own is not None else None) or classes.auto(model_type)


_FORMATS: Final[Mapping[str, str]] = {"F32": "f", "F16": "e", "F64": "d", "I64": "q", "I32": "i"}


def decode(tensor: Tensor, data: bytes | None) -> tuple[float, ...] | None:
    """Return the elements of a tensor as numbers, `None` where bytes or dtype are not known."""
    if data is None:
        return None
    if tensor.dtype == "BF16":
        halves = struct.unpack(f"<{len(data) // 2}H", data)
        return struct.unpack(
            f"<{len(halves)}f", struct.pack(f"<{len(halves)}I", *[h << 16 for h in halves])
        )
    code = _FORMATS.get(tensor.dtype)
    if code is None:
        return None
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)
