"""Builds `ModelConfig` for the target and the draft, as one release does.

The engine's own `configs/model_config.py` is evaluated; this file gives it the arguments, takes
the facts from the object it makes, and says in events what it raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from specpreflight.engines.sglang.config_events import Moment, config_event, topic_of
from specpreflight.engines.sglang.context_length import explain_length
from specpreflight.engines.sglang.engine_source import EngineSource
from specpreflight.engines.sglang.evaluated_config import EvaluatedConfig, text_place
from specpreflight.engines.sglang.model_facts import ConfigObject, ModelFacts
from specpreflight.engines.source.evaluator import Evaluator
from specpreflight.engines.source.values import (
    Dtype,
    External,
    Instance,
    Opaque,
    Raised,
)
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Origin, Stage, Value
from specpreflight.models.resolved import Event

if TYPE_CHECKING:
    from specpreflight.engines.sglang.server_args.state import ServerArgs

_MODULE = "sglang.srt.configs.model_config"

#: Reads of the target's config; all releases build it while arguments are handled.
TARGET_READ = Moment("target", Stage.TARGET_CONFIG, "the argument handling")


class ArgumentsView(External):
    """The release's `ServerArgs` as evaluated code sees it, with fields that are replaced."""

    def __init__(self, args: ServerArgs, replaced: Mapping[str, Any]) -> None:
        self._args = args
        self._replaced = replaced

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return a field; one that only later releases fill is `None`."""
        if name in self._replaced:
            return self._replaced[name]
        return getattr(self._args, name)


class ModelConfigs:
    """Reads the two checkpoints of a launch with one release's code.

    Args:
        source: the release's code.
        checkpoints: the checkpoints by the model path that the engine is given.
    """

    def __init__(self, source: EngineSource, checkpoints: Mapping[str, Checkpoint]) -> None:
        self.source = source
        self.checkpoints = checkpoints

    def target_model(self, args: ServerArgs) -> ModelFacts | Event:
        """Build the target's `ModelConfig` (`ServerArgs.get_model_config`)."""
        return self.build(args, TARGET_READ, args.model_path)

    def target_config(self, args: ServerArgs) -> ConfigObject | Event:
        """Read the target's config without a `ModelConfig` around it (`get_config`)."""
        return self._read(args, TARGET_READ, args.model_path, args.revision)

    def draft_config(self, args: ServerArgs, revision: str | None) -> ConfigObject | Event:
        """Read the draft's config while arguments are handled."""
        moment = Moment("draft", Stage.DRAFT_CONFIG, "the argument handling")
        return self._read(args, moment, args.speculative_draft_model_path, revision)

    def _read(
        self, args: ServerArgs, moment: Moment, path: str, revision: str | None
    ) -> ConfigObject | Event:
        get_config = self.source.find(f"{_MODULE}.get_config")
        checkpoint = self.checkpoints.get(path)
        try:
            config = self.source.call(
                get_config,
                [path],
                {"trust_remote_code": args.trust_remote_code, "revision": revision},
            )
        except Raised as error:
            return config_event(error, moment, checkpoint, (), {})
        root = checkpoint.config.root if checkpoint else {}
        assert isinstance(config, Instance)
        return EvaluatedConfig(self.source, config, "", root)

    def build(
        self,
        args: ServerArgs,
        moment: Moment,
        path: str,
        replaced: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> ModelFacts | Event:
        """Build a `ModelConfig` from the arguments; `given` go to `from_server_args`."""
        view = ArgumentsView(args, replaced or {})
        factory = self.source.get_attribute(
            self.source.find(f"{_MODULE}.ModelConfig"), "from_server_args"
        )
        if moment.role == "draft":
            given = {"model_path": path, "is_draft_model": True, **given}
        checkpoint = self.checkpoints.get(path)
        self.source.log.clear()
        try:
            model = self.source.call(factory, [view], given)
        except Raised as error:
            values, facts = self._context_values(error, args, moment, checkpoint, view, given)
            return config_event(error, moment, checkpoint, values, facts)
        assert isinstance(model, Instance)
        return self._facts(model, moment.role, path, checkpoint)

    def _facts(
        self, model: Instance, role: str, path: str, checkpoint: Checkpoint | None
    ) -> ModelFacts:
        config, text = model.attributes["hf_config"], model.attributes["hf_text_config"]
        root = checkpoint.config.root if checkpoint else {}
        place, written = text_place(config, text, root)
        top = EvaluatedConfig(self.source, config, "", root)
        inner = EvaluatedConfig(self.source, text, place, written)
        names = top.get("architectures")

        def known(name: str) -> Any:
            value = top.plain(model.attributes.get(name))
            return value

        dtype = model.attributes.get("dtype")
        return ModelFacts(
            role=role,
            path=path,
            config=top,
            text=inner,
            architectures=tuple(names) if isinstance(names, list) else (),
            context_length=known("context_len"),
            dtype=dtype.name if isinstance(dtype, Dtype) else None,
            quantization=known("quantization"),
            attention=self._attention(model),
            head_dim=known("head_dim"),
            num_hidden_layers=known("num_hidden_layers"),
            num_attention_heads=known("num_attention_heads"),
            num_key_value_heads=known("num_key_value_heads"),
            is_multimodal=known("is_multimodal"),
            is_generation=known("is_generation"),
            is_hybrid_swa=known("is_hybrid_swa"),
            pointer=place,
            facts={"model": model, "log": tuple(self.source.log)},
        )

    def _attention(self, model: Instance) -> str | None:
        chosen = model.attributes.get("attention_arch")
        kinds = self.source.find(f"{_MODULE}.AttentionArch")
        for name in ("MLA", "MHA", "SSM"):
            try:
                if chosen is self.source.get_attribute(kinds, name):
                    return name
            except Raised:
                continue
        return None

    def _context_values(
        self,
        error: Raised,
        args: ServerArgs,
        moment: Moment,
        checkpoint: Checkpoint | None,
        view: ArgumentsView,
        given: Mapping[str, Any],
    ) -> tuple[tuple[Value, ...], dict[str, Any]]:
        """Return the two lengths that disagree, with their origins, for a context failure."""
        topic, _ = topic_of(error)
        if not topic.startswith("context.") or checkpoint is None:
            return (), {}
        explained = explain_length(error.message)
        if explained is None:
            return (), {}
        wanted, derived = explained
        return (
            (
                Value("wanted", wanted, Origin("engine", name="context_length")),
                Value("derived", derived, Origin("engine", name="get_context_length")),
            ),
            {"wanted": wanted, "derived": derived},
        )

    def model_class(self, facts: ModelFacts, moment: Moment) -> str | Event:
        """Return the name of the model class that this release would build."""
        find = self.source.find("sglang.srt.model_loader.utils.get_model_architecture")
        try:
            found = self.source.call(find, [facts.facts["model"]], {})
        except Raised as error:
            return config_event(error, moment, self.checkpoints.get(facts.path), (), {})
        return found[1] if isinstance(found, tuple) else str(facts.architecture)


__all__ = ["ModelConfigs", "Opaque"]
