"""Which speculative method vLLM takes: the one given, unless it looks at the draft and differs.

Restates the tests of vLLM `config/speculative.py:SpeculativeConfig.__post_init__`, in their
order. `path` is the draft's path or repository id as given, the whole text of it, in lower case.
"""

from __future__ import annotations

from typing import NamedTuple

from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model

_NGRAM = ("ngram", "[ngram]")

#: Architectures that mean DSpark, with the release that began to look at them.
_DSPARK_ARCHITECTURES = (
    ("Qwen3DSparkModel", "0.25.0"),
    ("Gemma4DSparkModel", "0.26.0"),
    ("Qwen3OmniDSparkModel", "0.29.0"),
    ("MuseSparkDSparkModel", "0.33.0"),
)


class Method(NamedTuple):
    """The method and why; `None` where the release refuses to choose one."""

    name: str | None
    reason: str


def before_draft(method: str | None, model: str | None, knowledge: Knowledge) -> Method:
    """Return the method as it stands before the draft's config is read."""
    if _is_proposer_class(method, model, knowledge):
        return Method("custom_class", f"`{model}` is a dotted import path")
    if method is None:
        if model in _NGRAM:
            return Method("ngram", f"the model is `{model}`")
        if knowledge.since("0.17.0"):
            return Method("draft_model", "no method given")
        return Method(None, "no method given")
    if method in _NGRAM:
        return Method("ngram", "given")
    old_names = knowledge.constant("mtp_model_types")
    if knowledge.since("0.11.0") and method in old_names and method != "mtp":
        return Method("mtp", f"`{method}` is an old name of `mtp`")
    return Method(method, "given")


def with_draft(method: str | None, draft: Model, knowledge: Knowledge) -> Method:
    """Return the method after the draft's path text, architecture and model type were looked at."""
    path = draft.path.lower()
    architectures = draft.architectures
    if method in _protected(knowledge):
        return Method(method, "given")
    if "eagle-" in path:
        return Method("eagle", "the draft's path contains `eagle-`")
    if not knowledge.since("0.10.2"):
        if "eagle3-" in path:
            return Method("eagle", "the draft's path contains `eagle3-`")
    elif "eagle3" in path:
        return Method("eagle3", "the draft's path contains `eagle3`")
    if knowledge.since("0.20.0") and "dflash" in path:
        return Method("dflash", "the draft's path contains `dflash`")
    if knowledge.since("0.28.0") and "MuseGlimmerAssistantModel" in architectures:
        return Method("dflash", "the draft is a `MuseGlimmerAssistantModel`")
    if knowledge.since("0.25.0"):
        reason = _dspark(path, draft, knowledge)
        if reason is not None:
            return Method("dspark", reason)
    model_type = draft.config.get("model_type")
    if model_type in ("medusa", "mlp_speculator") and not knowledge.since("0.33.0"):
        return Method(str(model_type), f"the draft's model type is `{model_type}`")
    found = _mtp(str(model_type), knowledge)
    if found is not None:
        return Method(found, f"the draft's model type is `{model_type}`")
    if method == "draft_model" and knowledge.since("0.15.0"):
        return Method("draft_model", "nothing in the draft's path or config says otherwise")
    return Method(None, f"method `{method}` does not fit a draft of type `{model_type}`")


def _is_proposer_class(method: str | None, model: str | None, knowledge: Knowledge) -> bool:
    """Restate `_is_custom_proposer_path`; from 0.22 to 0.25 any dot without a slash was enough."""
    if model is None or not knowledge.since("0.22.0"):
        return False
    if model.startswith(("http://", "https://", "file://")) or "/" in model:
        return False
    if not knowledge.since("0.26.0"):
        return "." in model
    parts = model.split(".")
    return method is None and len(parts) >= 2 and all(part.isidentifier() for part in parts)


def _protected(knowledge: Knowledge) -> tuple[str, ...]:
    """Return the methods that are never second-guessed when given."""
    methods = ["eagle", "eagle3"]
    if knowledge.since("0.20.0"):
        methods.append("dflash")
    if knowledge.since("0.25.0"):
        methods.append("dspark")
    return tuple(methods)


def _dspark(path: str, draft: Model, knowledge: Knowledge) -> str | None:
    if "dspark" in path:
        return "the draft's path contains `dspark`"
    for name, since in _DSPARK_ARCHITECTURES:
        if name in draft.architectures and knowledge.since(since):
            return f"the draft is a `{name}`"
    qwen = draft.config.get("model_type") == "qwen3"
    if qwen and "DSparkDraftModel" in draft.architectures and knowledge.since("0.29.0"):
        return "the draft is a `DSparkDraftModel` of type `qwen3`"
    return None


def _mtp(model_type: str, knowledge: Knowledge) -> str | None:
    """Return the method of an MTP model type."""
    if knowledge.since("0.11.0"):
        if model_type in knowledge.constant("mtp_model_types"):
            return "mtp"
        older = model_type and model_type in "longcat_flash_mtp"
        return "longcat_flash_mtp" if older and not knowledge.since("0.23.0") else None
    if model_type in ("deepseek_mtp", "mimo_mtp", "glm4_moe_mtp"):
        return "deepseek_mtp"
    newer = model_type in ("ernie_mtp", "qwen3_next_mtp") and knowledge.since("0.10.2")
    return model_type if newer else None
