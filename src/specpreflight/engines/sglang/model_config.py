"""Builds `ModelConfig` for the target and the draft, as one release does.

The engine's own `configs/model_config.py` is evaluated; this file gives it the arguments, takes
the facts from the object it makes, and says in events what it raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from specpreflight.engines.sglang.config_events import Moment, config_event, topic_of
from specpreflight.engines.sglang.context_length import CONTEXT_LENGTH_KEYS, explain_length
from specpreflight.engines.sglang.engine_source import OVERRIDE, EngineSource
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
    Undecided,
    deep_copy,
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
        self.replaced = replaced
        self.read: dict[str, Any] = {}

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return a field; one that only later releases fill is `None`."""
        if name in self.replaced:
            return self.replaced[name]
        if name == "_speculative_draft_quantization_explicitly_set":
            return self._args.was_given("speculative_draft_model_quantization")
        if name.startswith("_"):
            return super().attribute(evaluator, name)
        value = field_of(self._args, name)
        self.read[name] = value
        return value


class _Answer(NamedTuple):
    """What `from_server_args` gave, and the fields that it looked at.

    Neither facts nor an error: the code of the configuration class is not at hand.
    """

    read: Mapping[str, Any]
    facts: ModelFacts | None = None
    error: Raised | None = None


class ModelConfigs:
    """Reads the two checkpoints of a launch with one release's code.

    Args:
        source: the release's code.
        checkpoints: the checkpoints by the model path that the engine is given.
    """

    def __init__(self, source: EngineSource, checkpoints: Mapping[str, Checkpoint]) -> None:
        self.source = source
        self.checkpoints = checkpoints
        self._answers = {path: self._known(path, each) for path, each in checkpoints.items()}

    def _known(self, path: str, checkpoint: Checkpoint) -> dict[str, list[_Answer]]:
        """Return what the source has answered about a checkpoint with the same contents there."""
        side_files = checkpoint.facts.get("documents")
        contents = (checkpoint.config.data, checkpoint.files, checkpoint.problem, side_files)
        before, answers = self.source.answers.get(path, (None, {}))
        if before != contents:
            answers = {}
            self.source.answers[path] = (contents, answers)
        return answers

    def target_model(self, args: ServerArgs) -> ModelFacts | Event | None:
        """Build the target's `ModelConfig` (`ServerArgs.get_model_config`).

        `None`: there is no target to read.
        """
        if args.model_path not in self.checkpoints:
            return None
        return self.build(args, TARGET_READ, args.model_path)

    def target_config(self, args: ServerArgs) -> ConfigObject | Event | None:
        """Read the target's config without a `ModelConfig` around it (`get_config`)."""
        if args.model_path not in self.checkpoints:
            return None
        return self._read(args, TARGET_READ, args.model_path, args.revision)

    def draft_config(self, args: ServerArgs, revision: str | None) -> ConfigObject | Event | None:
        """Read the draft's config while arguments are handled."""
        moment = Moment("draft", Stage.DRAFT_CONFIG, "the argument handling")
        path = args.speculative_draft_model_path
        return None if path not in self.checkpoints else self._read(args, moment, path, revision)

    def _read(
        self, args: ServerArgs, moment: Moment, path: str, revision: str | None
    ) -> ConfigObject | Event | None:
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
        if not isinstance(config, Instance):
            return None
        return EvaluatedConfig(self.source, config, "", root)

    def build(
        self,
        args: ServerArgs,
        moment: Moment,
        path: str,
        replaced: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> ModelFacts | Event | None:
        """Build a `ModelConfig` from the arguments; `given` go to `from_server_args`.

        `None`: the configuration class is one whose code is not at hand.

        The same arguments give the same answer: the engine builds the target's twice, and where
        the machine is not known a launch is predicted for several.
        """
        if moment.role == "draft":
            given = {"model_path": path, "is_draft_model": True, **given}
        view = ArgumentsView(args, replaced or {})
        checkpoint = self.checkpoints.get(path)
        answer = self._answer(args, view, moment.role, path, given)
        if answer.error is None:
            return answer.facts
        values, facts = self._context_values(answer.error, args, answer.read, given)
        return config_event(answer.error, moment, checkpoint, values, facts)

    def _answer(
        self, args: ServerArgs, view: ArgumentsView, role: str, path: str, given: dict[str, Any]
    ) -> _Answer:
        override = self.source.variables.get(OVERRIDE)
        key = repr((role, path, sorted(given.items()), sorted(view.replaced.items()), override))
        answers = self._answers.setdefault(path, {})
        for earlier in answers.get(key, ()):
            if all(field_of(args, name) == value for name, value in earlier.read.items()):
                return earlier
        factory = self.source.get_attribute(
            self.source.find(f"{_MODULE}.ModelConfig"), "from_server_args"
        )
        self.source.log.clear()
        try:
            model = self.source.call(factory, [view], given)
        except Raised as error:
            answer = _Answer(view.read, error=error)
        except Undecided:
            answer = _Answer(view.read)
        else:
            known = isinstance(model, Instance)  # not where a tree lacks the file
            facts = self._facts(model, role, path, self.checkpoints.get(path)) if known else None
            answer = _Answer(view.read, facts=facts)
        answers.setdefault(key, []).append(answer)
        return answer

    def _facts(
        self, model: Instance, role: str, path: str, checkpoint: Checkpoint | None
    ) -> ModelFacts | None:
        config, text = model.attributes["hf_config"], model.attributes["hf_text_config"]
        if not isinstance(config, Instance) or not isinstance(text, Instance):
            return None
        root = checkpoint.config.root if checkpoint else {}
        place, written = text_place(config, text, root)
        kept, kept_text = _snapshot(config, text, place)
        top = EvaluatedConfig(self.source, kept, "", root)
        inner = EvaluatedConfig(self.source, kept_text, place, written)
        names = top.get("architectures")

        def known(name: str) -> Any:
            return top.plain(model.attributes.get(name))

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
            dtype=_dtype_name(dtype),
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
        self, error: Raised, args: ServerArgs, read: Mapping[str, Any], given: Mapping[str, Any]
    ) -> tuple[tuple[Value, ...], dict[str, Any]]:
        """Return the lengths that disagree: the value of `--context-length`, if it decides."""
        lengths = explain_length(error.message)
        if lengths is None or not topic_of(error)[0].startswith("context."):
            return (), {}
        wanted, derived = lengths
        by_user = read.get("context_length") == wanted and "context_length" not in given
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
        if "class" not in facts.facts:
            facts.facts["class"] = self._find_class(facts.facts["model"])
        found = facts.facts["class"]
        if isinstance(found, Raised):
            return config_event(found, moment, self.checkpoints.get(facts.path), (), {})
        return found[1] if isinstance(found, tuple) else str(facts.architecture)

    def _find_class(self, model: Instance) -> Any:
        find = self.source.find("sglang.srt.model_loader.utils.get_model_architecture")
        try:
            return self.source.call(find, [model], {})
        except Raised as error:
            return error


def _dtype_name(value: Any) -> str | None:
    if isinstance(value, Dtype):
        return value.name
    return None if value is None or isinstance(value, Opaque) else str(value)


def _snapshot(config: Instance, text: Instance, place: str) -> tuple[Instance, Instance]:
    """Return copies of both objects: up to 0.5.15 reading the draft may rewrite the target's."""
    kept = deep_copy(config)
    found = kept
    for name in place.split("/")[1:]:
        found = found.attributes.get(name) if isinstance(found, Instance) else None
    if text is config:
        return kept, kept
    return kept, found if place and isinstance(found, Instance) else deep_copy(text)
