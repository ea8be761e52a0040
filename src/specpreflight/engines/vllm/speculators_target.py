"""A draft of the speculators format in the target's place: vLLM serves the model that it names.

Restates `transformers_utils/config.py:maybe_override_with_speculators`, which
`create_engine_config` calls before it reads the target.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specpreflight.engines.vllm.hf_reading import ConfigReading, ReadingError
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.record import Record
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Stage

_SOURCE = "transformers_utils/config.py:maybe_override_with_speculators"


def is_speculators(checkpoint: Checkpoint) -> bool:
    """Return whether vLLM takes a target for a draft that names the model to serve."""
    found = checkpoint.config
    return isinstance(found.root, Mapping) and found.root.get("speculators_config") is not None


def follow_verifier(
    record: Record,
    knowledge: Knowledge,
    reading: ConfigReading,
    checkpoint: Checkpoint,
    *,
    offline: bool,
) -> None:
    """Record what vLLM does with the model that a speculators draft names as its verifier.

    That model is not part of the launch, so nothing is known of it but whether vLLM may look.
    """
    if knowledge.since("0.11.0"):
        try:
            reading.speculators(checkpoint)
        except ReadingError as error:
            _refuse(record, checkpoint, error.message, error.text, error.exception)
            return
    pointer = "/speculators_config/verifier/name_or_path"
    missing = "the speculators config names no model to serve"
    try:
        verifier = checkpoint.config.root["speculators_config"]["verifier"]["name_or_path"]
    except (KeyError, TypeError) as error:
        _refuse(record, checkpoint, missing, str(error), type(error).__name__)
        return
    if not isinstance(verifier, str):
        _refuse(record, checkpoint, missing, "'verifier'", "KeyError")
    elif knowledge.since("0.33.0") and Path(verifier).exists():
        _refuse(
            record,
            checkpoint,
            f"the verifier `{verifier}` is a local path, which vLLM does not take here"[:100],
            "Speculators verifier must name a remote model repository. Select local verifiers "
            "explicitly with --model and --speculative-config.",
            "ValueError",
            pointer,
        )
    elif offline and not Path(verifier).is_dir():
        record.refuse(
            "config.missing",
            Stage.TARGET_CONFIG,
            f"the target is a draft for `{verifier}`, which is not at hand offline"[:100],
            text=f"Invalid repository ID or local directory specified: '{verifier}'.",
            source="transformers_utils/config.py:get_config",
            values=(checkpoint.value("verifier", pointer),),
        )
    else:
        record.unknown.append(("target", f"vLLM serves `{verifier}`, which the target names"))


def _refuse(
    record: Record,
    checkpoint: Checkpoint,
    message: str,
    text: str,
    exception: str,
    pointer: str = "/speculators_config",
) -> None:
    values: tuple[Any, ...] = (checkpoint.value("speculators config", pointer),)
    record.refuse(
        "config.rejected",
        Stage.TARGET_CONFIG,
        message,
        text=text,
        exception=exception,
        source=_SOURCE,
        values=values,
    )
