"""Builds `ModelConfig` for the target and the draft, as one release does.

The engine's own `configs/model_config.py` is evaluated; this file gives it the arguments, takes
the facts from the object it makes, and says in events what it raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specpreflight.engines.sglang.config_events import Moment, config_event, topic_of
from specpreflight.engines.sglang.context_length import CONTEXT_LENGTH_KEYS, explain_length
from specpreflight.engines.sglang.engine_source import EngineSource
from specpreflight.engines.sglang.evaluated_config import EvaluatedConfig, text_place
from specpreflight.engines.sglang.model_facts import ConfigObject, ModelFacts
from specpreflight.engines.sglang.server_args.state import ServerArgs, Unknowable
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


_MODULE = "sglang.srt.configs.model_config"

#: Reads of the target's config; all releases build it while arguments are handled.
TARGET_READ = Moment("target", Stage.TARGET_CONFIG, "the argument handling")


def field_of(args: ServerArgs, name: str) -> Any:
    """Return a field of the arguments, `Opaque` where the machine or the target would decide it."""
    try:
        return getattr(args, name)
    except Unknowable:
        return Opaque(name)


class ArgumentsView(External):
    """The release's `ServerArgs` as evaluated code sees it, with fields that are replaced.

    `read` collects the fields that were looked at.
    """

    def __init__(self, args: ServerArgs, replaced: Mapping[str, Any]) -> None:
        self._args = args
        self._replaced = replaced
        self.read: dict[str, Any] = {}

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return a field; one that only later releases fill is `None`."""
        if name in self._replaced:
            return self._replaced[name]
        if name == "_speculative_draft_quantization_explicitly_set":
            return self._args.was_given("speculative_draft_model_quantization")
        if name.startswith("_"):
            return super().attribute(evaluator, name)
        value = field_of(self._args, name)
        self.read[name] = value
        return value


class ModelConfigs:
    """Reads the two checkpoints of a launch with one release's code.

    Args:
        source: the release's code.
        checkpoints: the checkpoints by the model path that the engine is given.
    """

    def __init__(self, source: EngineSource, checkpoints: Mapping[str, Checkpoint]) -> None:
        self.source = source
        self.checkpoints = checkpoints
        self._target: tuple[dict[str, Any], ModelFacts | Event] | None = None

    def target_model(self, args: ServerArgs) -> ModelFacts | Event | None:
        """Build the target's `ModelConfig` (`ServerArgs.get_model_config`).

        The engine keeps it, and builds another for its worker; while the arguments that matter
        stay the same, both are one here. `None`: there is no target to read.
        """
        if args.model_path not in self.checkpoints:
            return None
        if self._target is not None:
            read, answer = self._target
            if all(field_of(args, name) == value for name, value in read.items()):
                return answer
        view = ArgumentsView(args, {})
        answer = self._build(args, view, TARGET_READ, args.model_path, {})
        self._target = (view.read, answer)
        return answer

    def target_config(self, args: ServerArgs) -> ConfigObject | Event | None:
        """Read the target's config without a `ModelConfig` around it (`get_config`)."""
        if args.model_path not in self.checkpoints:
            return None
        return self._read(args, TARGET_READ, args.model_path, args.revision)

    def draft_config(self, args: ServerArgs, revision: str | None) -> ConfigObject | Event | None:
        """Read the draft's config while arguments are handled."""
        moment = Moment("draft", Stage.DRAFT_CONFIG, "the argument handling")
        path = args.speculative_draft_model_path
        return None if path is None else self._read(args, moment, path, revision)

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
        if moment.role == "draft":
            given = {"model_path": path, "is_draft_model": True, **given}
        return self._build(args, ArgumentsView(args, replaced or {}), moment, path, given)

    def _build(
        self,
        args: ServerArgs,
        view: ArgumentsView,
        moment: Moment,
        path: str,
        given: dict[str, Any],
    ) -> ModelFacts | Event:
        factory = self.source.get_attribute(
            self.source.find(f"{_MODULE}.ModelConfig"), "from_server_args"
        )
        checkpoint = self.checkpoints.get(path)
        self.source.log.clear()
        try:
            model = self.source.call(factory, [view], given)
        except Raised as error:
            values, facts = self._context_values(error, args, view, given)
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
        derived, key = self._length(text)
        for _, message in self.source.log:
            if (lengths := explain_length(message)) is not None:
                derived = lengths[1]
        return ModelFacts(
            role=role,
            derived_context_length=derived,
            length_key=key,
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
        self, error: Raised, args: ServerArgs, view: ArgumentsView, given: Mapping[str, Any]
    ) -> tuple[tuple[Value, ...], dict[str, Any]]:
        """Return the lengths that disagree: the value of `--context-length`, if it decides."""
        lengths = explain_length(error.message)
        if lengths is None or not topic_of(error)[0].startswith("context."):
            return (), {}
        wanted, derived = lengths
        by_user = view.read.get("context_length") == wanted and "context_length" not in given
        values = (
            args.value("context_length")
            if by_user
            else Value("wanted", wanted, Origin("engine", name="context_length")),
            Value("derived", derived, Origin("engine", name="get_context_length")),
        )
        return values, {"wanted": wanted, "derived": derived, "given": by_user}

    def check_block_draft(
        self, moment: Moment, target: ModelFacts, draft: ModelFacts
    ) -> Event | None:
        """Do what the target's runner does with a block draft's config: layers and their ids.

        `model_runner.py` (0.5.11 on), later `spec_aux_hidden_state.py`.
        """
        call, source = self.source.call, self.source
        read = source.find("sglang.srt.speculative.dflash_utils.parse_dflash_draft_config")
        try:
            config = call(
                read, [], {"draft_hf_config": draft.facts["model"].attributes["hf_config"]}
            )
            layers = call(source.get_attribute(config, "require_num_layers"), [], {})
            call(
                source.get_attribute(config, "resolve_target_layer_ids"),
                [],
                {"target_num_layers": target.num_hidden_layers, "draft_num_layers": layers},
            )
        except Raised as error:
            return config_event(error, moment, self.checkpoints.get(draft.path), (), {})
        return None

    def _length(self, text: Instance) -> tuple[int | None, str | None]:
        """Return the derived length and the key that it comes from."""
        derive = self.source.find(f"{_MODULE}.get_context_length")
        try:
            length = self.source.call(derive, [text], {})
        except Raised:
            return None, None
        for key in CONTEXT_LENGTH_KEYS:
            try:
                value = self.source.get_attribute(text, key)
            except Raised:
                continue
            if value is not None:
                return (length if isinstance(length, int) else None), key
        return (length if isinstance(length, int) else None), None

    def model_class(self, facts: ModelFacts, moment: Moment) -> str | Event:
        """Return the name of the model class that this release would build."""
        find = self.source.find("sglang.srt.model_loader.utils.get_model_architecture")
        try:
            found = self.source.call(find, [facts.facts["model"]], {})
        except Raised as error:
            return config_event(error, moment, self.checkpoints.get(facts.path), (), {})
        return found[1] if isinstance(found, tuple) else str(facts.architecture)
