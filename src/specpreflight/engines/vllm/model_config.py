"""Restates what `ModelConfig(...)` of vLLM does with one checkpoint, target or draft.

vLLM `config/model.py:ModelConfig.__post_init__` (`config/__init__.py` up to 0.10.2): read the
config, apply overrides, look the architecture up, derive the length, verify the quantisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specpreflight.engines.source.values import Raised
from specpreflight.engines.vllm.config_parts import ConfigObject, architectures_of, text_of
from specpreflight.engines.vllm.context_length import Length, LengthError, read_length
from specpreflight.engines.vllm.hf_reading import (
    ConfigReading,
    ReadingError,
    Unread,
    lacks,
    reading_error,
)
from specpreflight.engines.vllm.knowledge import Architecture, Knowledge
from specpreflight.engines.vllm.quantization import QuantizationError, read_quantization
from specpreflight.engines.vllm.record import Record, flag_value, speculative_value
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Origin, Stage, Value

_SOURCE = "config/model.py:ModelConfig.__post_init__"

#: Suffixes of generating classes, which stand for each other in a target's architecture
#: (`_SUFFIX_TO_DEFAULTS`). A draft's name has to be registered as it is.
_GENERATING = ("ForCausalLM", "ForConditionalGeneration", "ChatModel", "LMHeadModel")

#: Suffixes of classes that pool, which a generating class stands in for whatever the role.
_POOLING = (
    "ForTextEncoding",
    "EmbeddingModel",
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForAudioClassification",
    "ForImageClassification",
    "ForVideoClassification",
    "ClassificationModel",
    "ForRewardModeling",
    "RewardModel",
)

#: Model types whose heads have no size (`MODEL_ARCH_CONFIG_CONVERTORS`).
_SIZELESS = ("mamba", "falcon_mamba", "timm_wrapper", "medusa", "zamba2")


@dataclass(slots=True)
class Model:
    """A target or a draft as vLLM holds it.

    Attributes:
        role: `target` or `draft`.
        path: the text that vLLM was given, which the method detection searches.
        checkpoint: where its values stand, `None` for a model that has no checkpoint of its own.
        config: `hf_config`; `text` is the language model's part, maybe the same object.
        max_model_len: `None` where the length could not be derived.
        quantization: the method it is loaded with.
    """

    role: str
    path: str
    checkpoint: Checkpoint | None
    config: ConfigObject
    text: ConfigObject
    length: Length | None = None
    max_model_len: int | None = None
    quantization: str | None = None

    @property
    def architectures(self) -> list[str]:
        """Return `model_config.architectures`."""
        return architectures_of(self.config)

    @property
    def stage(self) -> Stage:
        """Return the stage at which a problem of this model counts."""
        return Stage.TARGET_CONFIG if self.role == "target" else Stage.DRAFT_CONFIG

    def value(self, name: str) -> Value:
        """Return an attribute with its origin: `architectures` of the whole, else of the text."""
        owner = self.config if name == "architectures" else self.text
        found = owner.get(name)
        pointer = owner.pointer(name)
        if self.checkpoint is None or pointer is None:
            return Value(f"{self.role} {name}", found, Origin("default", name=self.text.class_name))
        return Value(f"{self.role} {name}", found, self.checkpoint.origin(pointer))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line or the speculative config asks of one model.

    `as_written` switches the rewriting of a draft's config off (`medusa`, 0.25.0 to 0.32.0).
    """

    max_model_len: int | None = None
    quantization: str | None = None
    hf_overrides: Mapping[str, Any] | None = None
    allow_longer: bool = False
    allow_deprecated: bool = False
    trust_remote_code: bool = False
    disable_sliding_window: bool = False
    as_written: bool = False


def build_model(
    record: Record,
    knowledge: Knowledge,
    reading: ConfigReading,
    checkpoint: Checkpoint,
    path: str,
    wanted: Wanted,
    *,
    target_length: int | None = None,
) -> Model | None:
    """Return the model, `None` where its config cannot be read; refusals go into `record`.

    A draft (`checkpoint.role`) is rewritten by the release's `hf_config_override`.
    """
    config = _read(record, knowledge, reading, checkpoint, path, wanted)
    if config is None:
        return None
    role = checkpoint.role
    if isinstance(config.get("text_config"), Mapping):
        _refuse_plain_part(record, knowledge, checkpoint, wanted)
        return None
    model = Model(role, path, checkpoint, config, text_of(config))
    if not _has_head_size(record, knowledge, model) or not _has_layers(record, knowledge, model):
        return None
    look_up(record, knowledge, model)
    _measure(record, knowledge, model, wanted, target_length)
    _quantize(record, knowledge, model, wanted)
    return model


def _refuse_plain_part(
    record: Record, knowledge: Knowledge, checkpoint: Checkpoint, wanted: Wanted
) -> None:
    """Refuse a `text_config` that stayed a plain dictionary: vLLM reads its attributes."""
    role = checkpoint.role
    overridden = "text_config" in (wanted.hf_overrides or {})
    record.refuse(
        "config.rejected",
        Stage.TARGET_CONFIG if role == "target" else Stage.DRAFT_CONFIG,
        f"{role}: `text_config` is read as a dictionary, which has no attributes",
        text=(
            "The text_config extracted from the model config does not have `num_attention_heads` "
            "attribute."
            if knowledge.since("0.20.0")
            else "'dict' object has no attribute '__dict__'"
        ),
        exception="AttributeError",
        source="transformers_utils/config.py:get_hf_text_config",
        values=(
            flag_value("text_config", "given", "--hf-overrides", "/text_config")
            if overridden
            else checkpoint.value("text_config", "/text_config"),
        ),
    )


def _has_head_size(record: Record, knowledge: Knowledge, model: Model) -> bool:
    """Restate `ModelArchConfigConvertorBase.get_head_size` of 0.14 to 0.17.

    Earlier releases ask when they need the size; later ones take 0 where it is missing.
    """
    text = model.text
    if not knowledge.since("0.14.0") or knowledge.since("0.18.0"):
        return True
    given = ("head_dim", "hidden_size_per_head", "kv_lora_rank")
    if model.config.get("model_type") in _SIZELESS or any(
        text.get(key) is not None for key in given
    ):
        return True
    missing = next(
        (key for key in ("hidden_size", "num_attention_heads") if lacks(text, key)), None
    )
    if missing is None:
        return True
    record.refuse(
        "config.rejected",
        model.stage,
        f"the {model.role}'s config has no `{missing}`",
        text=f"'{text.class_name}' object has no attribute '{missing}'",
        exception="AttributeError",
        source="transformers_utils/model_arch_config_convertor.py:get_head_size",
        facts={"missing": missing},
    )
    return False


def _has_layers(record: Record, knowledge: Knowledge, model: Model) -> bool:
    """Restate the type of `ModelArchitectureConfig.total_num_hidden_layers` for an MTP draft."""
    written = model.text.get("num_nextn_predict_layers", 0)
    if written is not None or model.config.get("n_predict", 0) is not None:
        return True
    if not knowledge.since("0.20.0"):
        return True
    record.refuse(
        "config.inconsistent",
        model.stage,
        "the draft's config says null for its number of MTP layers",
        text="Input should be a valid integer",
        source="config/model_arch.py:ModelArchitectureConfig",
        values=(model.value("num_nextn_predict_layers"),),
    )
    return False


def look_up(record: Record, knowledge: Knowledge, model: Model) -> Architecture | None:
    """Return the registered class of a model, or refuse as the registry does.

    Restates `model_executor/models/registry.py:inspect_model_cls` and `_raise_for_unsupported`.
    """
    names = model.architectures
    for name in names:
        found = knowledge.architectures.get(name)
        if found is None:
            found = _with_other_head(knowledge, name, model.role)
        if found is not None:
            return found
    pointer = "/architectures"
    values = (
        (model.checkpoint.value(f"{model.role} architectures", pointer),)
        if model.checkpoint is not None
        else ()
    )
    removed = next((name for name in names if name in knowledge.removed_architectures), None)
    if removed is not None:
        text = (
            f"Model architecture {removed} was supported in vLLM until "
            f"v{knowledge.removed_architectures[removed]}, and is not supported anymore. Please "
            "use an older version of vLLM if you want to use this model architecture."
        )
    elif names:
        text = f"Model architectures {names} are not supported for now."
    else:
        text = "No model architectures are specified"
    shown = f"`{names[0]}`" if names else "none"
    record.refuse(
        f"architecture.{model.role}-unregistered",
        model.stage,
        f"the {model.role}'s architecture {shown} is not registered in vLLM {knowledge.version}",
        text=text,
        source="model_executor/models/registry.py:_raise_for_unsupported",
        values=values,
        facts={"architectures": names},
    )
    return None


def _with_other_head(knowledge: Knowledge, name: str, role: str) -> Architecture | None:
    """Return the class that `_normalize_arch` finds by another suffix."""
    suffixes = (*_GENERATING, *_POOLING) if role == "target" else _POOLING
    suffix = next((suffix for suffix in suffixes if name.endswith(suffix)), None)
    if suffix is None:
        return None
    names = (name.replace(suffix, other) for other in _GENERATING)
    return next((knowledge.architectures[n] for n in names if n in knowledge.architectures), None)


def _read(
    record: Record,
    knowledge: Knowledge,
    reading: ConfigReading,
    checkpoint: Checkpoint,
    path: str,
    wanted: Wanted,
) -> ConfigObject | None:
    """Return the config with `--hf-overrides` in it; a refusal goes into `record`."""
    role = checkpoint.role
    overrides = dict(wanted.hf_overrides or {})
    nested = {
        name: value
        for name, value in overrides.items()
        if isinstance(value, Mapping) and knowledge.since("0.11.1")
    }
    try:
        config = reading.read(
            path,
            checkpoint,
            {name: value for name, value in overrides.items() if name not in nested},
            as_draft=role == "draft" and not wanted.as_written,
            trust_remote_code=wanted.trust_remote_code,
        )
    except Unread as missing:
        record.unknown.append((role, str(missing)))
        return None
    except ReadingError as error:
        _refuse_reading(record, checkpoint, error)
        return None
    try:
        config.override(nested)
    except Raised as error:
        _refuse_reading(record, checkpoint, reading_error(error, checkpoint))
        return None
    return config


def _refuse_reading(record: Record, checkpoint: Checkpoint, error: ReadingError) -> None:
    role = checkpoint.role
    record.refuse(
        error.topic,
        Stage.TARGET_CONFIG if role == "target" else Stage.DRAFT_CONFIG,
        error.message,
        text=error.text,
        exception=error.exception,
        source=error.source,
        values=() if error.pointer is None else (checkpoint.value(role, error.pointer),),
    )


def _measure(
    record: Record,
    knowledge: Knowledge,
    model: Model,
    wanted: Wanted,
    target_length: int | None,
) -> None:
    window = model.text.get("sliding_window") if wanted.disable_sliding_window else None
    try:
        model.length = read_length(
            model.text,
            knowledge,
            wanted=wanted.max_model_len,
            target_length=target_length,
            allow_longer=wanted.allow_longer,
            sliding_window=window if isinstance(window, int) else None,
        )
    except LengthError as error:
        _refuse_length(record, model, wanted, error)
        return
    model.max_model_len = model.length.value
    if knowledge.since("0.23.0") and model.length.value < 1:
        _refuse_not_positive(record, model)


def _refuse_not_positive(record: Record, model: Model) -> None:
    """Restate `ModelConfig.validate_model_config_after` for a length that a config holds."""
    length = model.length
    assert length is not None
    record.refuse(
        "config.inconsistent",
        model.stage,
        f"the {model.role}'s length is {length.value}; it must be positive",
        text=(
            f"max_model_len must be a positive integer, got int: {length.value}. Example: "
            "max_model_len=2048"
        ),
        source="config/model.py:ModelConfig.validate_model_config_after",
        values=() if length.key is None else (model.value(length.key),),
    )


def _refuse_length(record: Record, model: Model, wanted: Wanted, error: LengthError) -> None:
    asked = wanted.max_model_len
    role = model.role
    if error.exception == "ValidationError":
        topic = f"context.{role}-length-exceeded"
        message = f"`max_model_len` {asked} is more than the {role}'s {error.derived}"
        given = (
            flag_value("max_model_len", asked, "--max-model-len")
            if role == "target"
            else speculative_value("max_model_len", asked)
        )
        values = [given]
    else:
        topic = "config.inconsistent"
        message = f"vLLM cannot derive the {role}'s length from `{error.key}`"
        values = []
    if error.key is not None:
        values.append(model.value(error.key))
    record.refuse(
        topic,
        model.stage,
        message,
        text=error.text,
        exception=error.exception,
        source="config/model.py:_get_and_verify_max_len",
        values=values,
    )


def _quantize(record: Record, knowledge: Knowledge, model: Model, wanted: Wanted) -> None:
    try:
        model.quantization = read_quantization(
            model.config,
            knowledge,
            wanted.quantization,
            allow_deprecated=wanted.allow_deprecated,
        )
    except QuantizationError as error:
        asked = wanted.quantization
        shown = error.text.partition(". Must")[0].partition(" (")[0].lower()
        record.refuse(
            f"quantization.{model.role}-refused",
            model.stage,
            f"quantization of the {model.role}: {shown}"[:100],
            text=error.text,
            exception=error.exception,
            source="config/model.py:_verify_quantization",
            values=(
                flag_value("quantization", asked, "--quantization")
                if model.role == "target"
                else speculative_value("quantization", asked),
                *(
                    (model.checkpoint.value("quant_method", "/quantization_config/quant_method"),)
                    if model.checkpoint is not None
                    else ()
                ),
            ),
        )
