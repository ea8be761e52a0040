"""What the engine raises while it reads configs, as events with a topic that a rule can claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from specpreflight.engines.source.values import Raised
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import STOPPING, Outcome, Stage, Value
from specpreflight.models.resolved import Event


class Moment(NamedTuple):
    """When a config is read: for whom, by which part of the engine, and what is lost by then.

    `reader` is a phrase for reports (`the draft worker`); `loaded` says what was loaded before.
    """

    role: str
    stage: Stage
    reader: str
    loaded: str = ""
    starting: bool = False

    @property
    def outcome(self) -> Outcome:
        """`crashes` once loading began, `refuses` before."""
        return Outcome.CRASHES if self.starting else Outcome.REFUSES


def after(loaded: str, event: Event) -> Event:
    """Return a stop with what is loaded by then; other events, and `""`, stay as they are."""
    if not loaded or event.outcome not in STOPPING:
        return event
    return replace(event, facts={**event.facts, "loaded": loaded})


class _Kind(NamedTuple):
    """A kind of failure: how it is recognised, its topic, and a line about it."""

    topic: str
    matches: Callable[[Raised], bool]
    message: str


def _says(*texts: str) -> Callable[[Raised], bool]:
    return lambda error: any(text in error.message for text in texts)


def _is(*names: str) -> Callable[[Raised], bool]:
    return lambda error: error.name in names


def _lacks_code(error: Raised) -> bool:
    return re.search(r"does not appear to have a file named \S+\.py", error.message) is not None


def _about_architectures(error: Raised) -> bool:
    texts = ("'NoneType' object is not subscriptable", "list index out of range")
    return error.message in texts and error.name in ("TypeError", "IndexError")


#: How much of the engine's own text fits into a line of a hundred characters.
_SHOWN = 60

_KINDS: tuple[_Kind, ...] = (
    _Kind(
        "context.draft-shorter",
        _says("Warning: Target model's context_length ("),
        "the draft's context length is below the target's",
    ),
    _Kind(
        "context.target-exceeded",
        _says("User-specified context_length ("),
        "`--context-length` is above the model's own length",
    ),
    _Kind(
        "config.unknown-model-type",
        _says("but Transformers does not recognize this architecture", "Unrecognized model ident"),
        "`model_type` is not known to the transformers of this release",
    ),
    _Kind("config.missing-model-type", _says("Unrecognized model in "), "`model_type` is missing"),
    _Kind(
        "config.remote-code",
        _says("custom code which must be executed", "references custom code contained in"),
        "the config needs `--trust-remote-code`",
    ),
    _Kind(
        "config.wrong-type",
        _is("StrictDataclassFieldValidationError"),
        "a value has a type that this release refuses",
    ),
    _Kind(
        "config.inconsistent",
        _is("StrictDataclassClassValidationError"),
        "values of the config contradict each other",
    ),
    _Kind("rope.missing-keys", _says("Missing required keys in `rope_"), "RoPE keys are missing"),
    _Kind(
        "config.unreadable",
        _says("is not a valid JSON file"),
        "config.json is no valid JSON",
    ),
    _Kind(
        "architecture.unregistered",
        _lacks_code,
        "no model class of this release has this name, and the code in `auto_map` is missing",
    ),
    _Kind("config.missing", _is("OSError"), "there is no config to read"),
    _Kind(
        "dtype.unknown",
        _says("module 'torch' has no attribute", "Unknown dtype"),
        "the dtype is not one of torch's",
    ),
    _Kind(
        "quantization.unknown",
        _says("Unknown quantization method"),
        "the quantisation method is not known to this release",
    ),
    _Kind(
        "quantization.mismatch",
        _says("Quantization method specified in the model config ("),
        "`--quantization` and the checkpoint name different methods",
    ),
    _Kind("config.missing-architectures", _about_architectures, "`architectures` names no class"),
    _Kind(
        "architecture.unregistered",
        _says("Cannot find model module.", "has no SGlang impl", "are not supported for now"),
        "no model class of this release has this name",
    ),
)


def topic_of(error: Raised) -> tuple[str, str]:
    """Return the topic of a failure and a line about it."""
    for kind in _KINDS:
        if kind.matches(error):
            return kind.topic, kind.message
    from textwrap import shorten

    said = shorten(error.message or error.name, _SHOWN, placeholder=" …")
    return "config.rejected", f"the engine stops on the config: {said}"


def config_event(
    error: Raised,
    moment: Moment,
    checkpoint: Checkpoint | None,
    values: tuple[Value, ...],
    facts: Mapping[str, Any],
) -> Event:
    """Return the event for a failure while a config was read."""
    topic, message = topic_of(error)
    if topic == "context.target-exceeded" and moment.role == "draft":
        # Up to 0.4.10.post2 the draft's error has the words of the target's.
        topic = "context.draft-shorter"
    if topic == "architecture.unregistered":
        topic = f"architecture.{moment.role}-unregistered"
    if not values and checkpoint is not None:
        values = _named_values(error, checkpoint)
    return Event(
        topic,
        moment.outcome,
        moment.stage,
        f"{moment.role}: {message}",
        engine_message=error.message,
        exception=error.name,
        source=source_of(error),
        values=values,
        facts={
            "role": moment.role,
            "reader": moment.reader,
            "loaded": moment.loaded,
            **facts,
        },
    )


def source_of(error: Raised) -> str | None:
    """Return `file:function` of the innermost engine function that raised."""
    for frame in reversed(error.frames):
        module, _, function = frame.partition(":")
        if module.startswith(("sglang.srt.", "transformers.")):
            path = module.removeprefix("sglang.srt.").replace(".", "/")
            return f"{path}.py:{function}"
    return None


_FIELD = re.compile(r"Validation error for field '([\w.]+)'")
_KEYS_BY_TOPIC = {
    "config.unknown-model-type": ("model_type",),
    "config.missing-model-type": ("model_type",),
    "config.remote-code": ("auto_map",),
    "config.missing-architectures": ("architectures",),
    "architecture.unregistered": ("architectures",),
    "rope.missing-keys": ("rope_scaling", "rope_parameters"),
    "dtype.unknown": ("torch_dtype", "dtype"),
    "quantization.unknown": ("quantization_config",),
    "quantization.mismatch": ("quantization_config",),
    "config.inconsistent": ("hidden_size", "num_attention_heads", "num_hidden_layers"),
}


def _named_values(error: Raised, checkpoint: Checkpoint) -> tuple[Value, ...]:
    topic, _ = topic_of(error)
    keys = _KEYS_BY_TOPIC.get(topic, ())
    if match := _FIELD.search(error.message):
        keys = (match.group(1),)
    root = checkpoint.config.root
    present = [key for key in keys if isinstance(root, dict) and key in root]
    nested = checkpoint.text_pointer
    found = tuple(checkpoint.value(key, f"/{key}") for key in present)
    if not found and nested:
        found = tuple(
            checkpoint.value(key, f"{nested}/{key}") for key in keys if key in checkpoint.text
        )
    return found or tuple(checkpoint.value(key, f"/{key}") for key in keys[:1])
