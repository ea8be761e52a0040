"""How vLLM renames a draft's architecture for its method, and when the new name is unknown.

Restates vLLM `transformers_utils/configs/eagle.py:EAGLEConfig.__init__` and the DSpark part of
`config/speculative.py:SpeculativeConfig.__post_init__`.
"""

from __future__ import annotations

from specpreflight.engines.vllm.config_parts import architectures_of, text_of
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model, look_up
from specpreflight.engines.vllm.record import Record

#: Config classes that are taken as they are.
_WRAPPED = ("EAGLEConfig", "SpeculatorsConfig")

#: DSpark drafts with a config of their own; every other one is taken for DeepSeek-V4's.
_STANDALONE_DSPARK = (
    ("Qwen3DSparkModel", "0.25.0"),
    ("Gemma4DSparkModel", "0.26.0"),
    ("K3DSparkModel", "0.27.0"),
    ("Qwen3OmniDSparkModel", "0.29.0"),
    ("MuseSparkDSparkModel", "0.33.0"),
)


def wrap(record: Record, knowledge: Knowledge, draft: Model, method: str, target: Model) -> None:
    """Rename the draft's architectures for `method`; an unregistered result goes into `record`."""
    eagle = method in ("eagle", "eagle3") or (method == "dflash" and knowledge.since("0.20.0"))
    if eagle and draft.config.class_name not in _WRAPPED:
        _wrap_eagle(record, knowledge, draft, method)
    elif method == "dspark":
        _rename_dspark(record, knowledge, draft, target)


def wrapped_name(name: str, method: str, knowledge: Knowledge) -> str:
    """Return the architecture that `EAGLEConfig` makes of one name."""
    if method == "eagle":
        return name if name.startswith("Eagle") else f"Eagle{name}"
    if method == "eagle3":
        ends = name.endswith("Eagle3") and knowledge.since("0.10.1")
        return name if name.startswith("Eagle3") or ends else f"Eagle3{name}"
    known = name.startswith("DFlash") or name.endswith("DFlash")
    if known or (name == "LiLiCorrDraftModel" and knowledge.since("0.31.0")):
        return name
    return f"DFlash{name}"


def _wrap_eagle(record: Record, knowledge: Knowledge, draft: Model, method: str) -> None:
    written = draft.config.get("architectures")
    names = list(written) if isinstance(written, str) else architectures_of(draft.config)
    if not names and written is None:
        record.refuse(
            "config.missing-architectures",
            draft.stage,
            "the draft's config names no architecture for vLLM to wrap",
            text="'NoneType' object is not iterable",
            exception="TypeError",
            source="transformers_utils/configs/eagle.py:EAGLEConfig.__init__",
            values=(
                (draft.checkpoint.value("draft architectures", "/architectures"),)
                if draft.checkpoint is not None
                else ()
            ),
        )
        return
    draft.config.set("architectures", [wrapped_name(name, method, knowledge) for name in names])
    draft.config.set("model_type", "eagle")
    if knowledge.since("0.15.0"):
        draft.text = text_of(draft.config)
        look_up(record, knowledge, draft)


def _rename_dspark(record: Record, knowledge: Knowledge, draft: Model, target: Model) -> None:
    names = draft.architectures
    config = draft.config
    if (
        knowledge.since("0.29.0")
        and "DSparkDraftModel" in names
        and config.get("model_type") == "qwen3"
    ):
        config.set("architectures", ["Qwen3DSparkModel"])
        look_up(record, knowledge, draft)
        return
    standalone = [name for name, since in _STANDALONE_DSPARK if knowledge.since(since)]
    if not any(name in names for name in standalone):
        newer = target.config.get("model_type") == "deepseek_v41" and knowledge.since("0.30.0")
        config.set("model_type", "deepseek_v41" if newer else "deepseek_v4")
        config.set("architectures", ["DSparkV41DraftModel" if newer else "DSparkDraftModel"])
        if newer and not knowledge.since("0.31.0"):
            config.set("n_predict", config.get("dspark_block_size") or config.get("n_predict"))
        if knowledge.since("0.28.0"):
            draft.quantization = target.quantization
        look_up(record, knowledge, draft)
    elif "Gemma4DSparkModel" in names and config.get("n_predict") is None:
        block = config.get("block_size")
        if block is not None and not knowledge.since("0.31.0"):
            config.set("n_predict", block)
