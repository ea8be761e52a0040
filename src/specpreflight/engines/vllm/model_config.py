"""Restates what `ModelConfig(...)` of vLLM does with one checkpoint, target or draft.

vLLM `config/model.py:ModelConfig.__post_init__` (`config/__init__.py` up to 0.10.2): read the
config, apply overrides, look the architecture up, derive the length, verify the quantisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specpreflight.engines.sglang.model_facts import ConfigObject
from specpreflight.engines.vllm.config_override import OverrideError, rewrite
from specpreflight.engines.vllm.config_parts import architectures_of, text_of
from specpreflight.engines.vllm.context_length import Length, LengthError, read_length
from specpreflight.engines.vllm.hf_reading import ReadingError, read_config
from specpreflight.engines.vllm.knowledge import Architecture, Knowledge
from specpreflight.engines.vllm.quantization import QuantizationError, read_quantization
from specpreflight.engines.vllm.record import Record, flag_value, speculative_value
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Origin, Stage, Value

_SOURCE = "config/model.py:ModelConfig.__post_init__"

#: Suffixes of generating classes, which stand for each other in a target's architecture
#: (`_SUFFIX_TO_DEFAULTS`). A draft's name has to be registered as it is.
_GENERATING = ("ForCausalLM", "ForConditionalGeneration", "ChatModel", "LMHeadModel")


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
        """Return an attribute of the language part with its origin."""
        found = self.text.get(name)
        pointer = self.text.pointer(name)
        if self.checkpoint is None or pointer is None:
            return Value(f"{self.role} {name}", found, Origin("default", name=self.text.class_name))
        return Value(f"{self.role} {name}", found, self.checkpoint.origin(pointer))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line or the speculative config asks of one model."""

    max_model_len: int | None = None
    quantization: str | None = None
    hf_overrides: Mapping[str, Any] | None = None
    allow_longer: bool = False
    allow_deprecated: bool = False
    trust_remote_code: bool = False
    disable_sliding_window: bool = False
    offline: bool = False


def build_model(
    record: Record,
    knowledge: Knowledge,
    checkpoint: Checkpoint,
    path: str,
    wanted: Wanted,
    *,
    target_length: int | None = None,
) -> Model | None:
    """Return the model, `None` where its config cannot be read; refusals go into `record`.

    A draft (`checkpoint.role`) is rewritten by the release's `hf_config_override`.
    """
    role = checkpoint.role
    stage = Stage.TARGET_CONFIG if role == "target" else Stage.DRAFT_CONFIG
    try:
        config = read_config(
            checkpoint,
            knowledge,
            wanted.hf_overrides,
            offline=wanted.offline,
            trust_remote_code=wanted.trust_remote_code,
        )
    except ReadingError as error:
        record.refuse(
            error.topic.format(role=role),
            stage,
            error.message.format(role=role),
            text=error.text,
            exception=error.exception,
            source=error.source,
            values=() if error.pointer is None else (checkpoint.value(role, error.pointer),),
        )
        return None
    _fill_architectures(config, knowledge)
    if role == "target":
        _apply_overrides(config, wanted.hf_overrides or {})
    else:
        try:
            config = rewrite(knowledge.override_program, config)
        except OverrideError as error:
            record.refuse(
                "config.draft-override",
                stage,
                f"vLLM cannot rewrite the draft's config: {error.message}",
                text=error.message,
                exception=error.exception,
                source="config/speculative.py:hf_config_override",
                values=(checkpoint.value("draft architectures", "/architectures"),),
            )
            return None
    model = Model(role, path, checkpoint, config, text_of(config))
    look_up(record, knowledge, model)
    _measure(record, knowledge, model, wanted, target_length)
    _quantize(record, knowledge, model, wanted)
    return model


def look_up(record: Record, knowledge: Knowledge, model: Model) -> Architecture | None:
    """Return the registered class of a model, or refuse as the registry does.

    Restates `model_executor/models/registry.py:inspect_model_cls` and `_raise_for_unsupported`.
    """
    names = model.architectures
    for name in names:
        found = knowledge.architectures.get(name)
        if found is None and model.role == "target":
            found = _with_other_head(knowledge, name)
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


def _with_other_head(knowledge: Knowledge, name: str) -> Architecture | None:
    """Return the class that `_normalize_arch` finds by another suffix."""
    suffix = next((suffix for suffix in _GENERATING if name.endswith(suffix)), None)
    if suffix is None:
        return None
    names = (name.replace(suffix, other) for other in _GENERATING)
    return next((knowledge.architectures[n] for n in names if n in knowledge.architectures), None)


def _fill_architectures(config: ConfigObject, knowledge: Knowledge) -> None:
    """Restate `get_config`: a config without `architectures` gets the bare model class (0.11.1)."""
    missing = not config.get("architectures")
    if missing and knowledge.since("0.11.1") and (config.class_name or "").endswith("Config"):
        config.set("architectures", [f"{str(config.class_name).removesuffix('Config')}Model"])


def _apply_overrides(config: ConfigObject, overrides: Mapping[str, Any]) -> None:
    """Apply `--hf-overrides`: nested dictionaries reach into the parts they name."""
    for name, value in overrides.items():
        part = config.get(name)
        if isinstance(value, Mapping) and isinstance(part, ConfigObject):
            _apply_overrides(part, value)
        else:
            config.set(name, value)


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
        label, flag = "max_model_len", "--max-model-len"
        asked = (
            flag_value(label, wanted.max_model_len, flag)
            if model.role == "target"
            else speculative_value(label, wanted.max_model_len)
        )
        too_long = error.exception == "ValidationError"
        topic = f"context.{model.role}-length-exceeded" if too_long else "config.length-invalid"
        record.refuse(
            topic,
            model.stage,
            f"`max_model_len` {wanted.max_model_len} is more than the {model.role}'s {error.derived}"
            if too_long
            else f"vLLM cannot derive the {model.role}'s length from `{error.key}`",
            text=error.text,
            exception=error.exception,
            source="config/model.py:_get_and_verify_max_len",
            values=(
                *((asked,) if too_long else ()),
                *((model.value(error.key),) if error.key else ()),
            ),
        )
        return
    model.max_model_len = model.length.value


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
