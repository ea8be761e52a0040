"""The part of a launch after the arguments: both models, in the order of the release."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from specpreflight.engines.sglang.block_draft import block_draft_events
from specpreflight.engines.sglang.config_events import Moment, after
from specpreflight.engines.sglang.context_length import length_events, length_facts
from specpreflight.engines.sglang.draft_attention import (
    draft_backend_events,
    target_backend_events,
)
from specpreflight.engines.sglang.draft_reading import (
    BLOCK_DRAFTS,
    WITHOUT_DRAFT,
    draft_worker_moment,
    drops_overrides,
    passes_length_as_argument,
    target_runner_moment,
    target_runner_reads_draft,
)
from specpreflight.engines.sglang.draft_worker import draft_worker_events
from specpreflight.engines.sglang.eagle3_capture import (
    auxiliary_layers,
    capture_events,
    layer_offset,
    sharing_events,
)
from specpreflight.engines.sglang.knowledge import Knowledge
from specpreflight.engines.sglang.model_config import ModelConfigs
from specpreflight.engines.sglang.model_facts import ModelFacts
from specpreflight.engines.sglang.own_draft import own_draft_events
from specpreflight.engines.sglang.pair import Pair
from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.engines.sglang.serving import serving_events
from specpreflight.engines.sglang.unread_keys import unread_key_events
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Event, ResolvedValue


@dataclass(eq=False, repr=False)
class Prediction:
    """What one release does with a launch on one machine."""

    events: list[Event] = field(default_factory=list)
    values: dict[str, ResolvedValue] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    unknown: list[tuple[str, str]] = field(default_factory=list)


class Walk:
    """The part after the arguments: both models, in the order of the release."""

    def __init__(
        self,
        launch: Launch,
        knowledge: Knowledge,
        args: ServerArgs,
        configs: ModelConfigs,
        prediction: Prediction,
    ) -> None:
        self._knowledge = knowledge
        self._args = args
        self._configs = configs
        self._prediction = prediction
        self._graphs = not bool(args.disable_cuda_graph)
        self._target_checkpoint = launch.target
        self._draft_checkpoint = launch.draft

    def run(self) -> None:
        """Read the target, then the draft; add what happens to the prediction."""
        if self._target_checkpoint is None:
            return
        target = self._built(self._configs.target_model(self._args))
        if target is None:
            self._read_draft_alone()
            return
        self._add_length("context_length", target)
        self._prediction.facts |= length_facts("target", target, self._target_checkpoint)
        self._prediction.values["target_dtype"] = ResolvedValue(target.dtype, _dtype_reason(target))
        algorithm = self._args.speculative_algorithm
        if algorithm is None or str(algorithm) in WITHOUT_DRAFT:
            self._class_of(target, Moment("target", Stage.TARGET_CONFIG, "the model loader"))
            return
        self._read_draft(str(algorithm), target)

    def _read_draft(self, algorithm: str, target: ModelFacts) -> None:
        path = self._args.speculative_draft_model_path
        early_first = self._knowledge.since("0.5.8")
        early = target_runner_reads_draft(self._knowledge, algorithm, has_path=bool(path))
        loader = Moment("target", Stage.TARGET_CONFIG, "the model loader")
        target_class = None if early and early_first else self._class_of(target, loader)
        worker = draft_worker_moment(self._knowledge, graphs=self._graphs)
        draft = self._draft_model(worker, target.context_length)
        reads_well = True
        if early and not self._reads_before(algorithm, draft):
            moment = target_runner_moment(self._knowledge, graphs=self._graphs)
            facts = self._built(self._draft_model(moment))
            reads_well = facts is not None
            if facts is not None and algorithm in BLOCK_DRAFTS:
                self._check_block_draft(moment, target, facts)
        if early and early_first:
            target_class = self._class_of(target, loader)
        if isinstance(draft, Event):
            if reads_well or draft.topic not in {each.topic for each in self._events}:
                self._events.append(draft)
            draft = self._draft_despite(worker, target)
        elif draft is not None:
            values = partial(self._length_values, draft, target)
            self._events.extend(length_events(draft, worker, values))
        if draft is not None:
            self._add_draft(algorithm, target, draft, target_class, worker)

    def _reads_before(self, algorithm: str, draft: ModelFacts | Event | None) -> bool:
        """Return whether what the draft worker reads well, the target's runner has read well.

        The runner gives the same arguments but for the target's length, which only makes the check
        of the draft's length stricter (`ModelConfig._derive_context_length`; before it had that
        name, the same lines of `__init__`).
        """
        return (
            isinstance(draft, ModelFacts)
            and algorithm not in BLOCK_DRAFTS
            and not drops_overrides(self._args)
        )

    def _add_draft(
        self,
        algorithm: str,
        target: ModelFacts,
        draft: ModelFacts,
        target_class: str | None,
        moment: Moment,
    ) -> None:
        values, facts = self._prediction.values, self._prediction.facts
        self._add_length("draft_context_length", draft)
        written = _written_architecture(self._checkpoint_of(draft))
        values["draft_architecture"] = ResolvedValue(
            draft.architecture,
            "as the config says"
            if draft.architecture == written
            else f"rewritten from {written} for a draft",
        )
        values["draft_dtype"] = ResolvedValue(draft.dtype, _dtype_reason(draft))
        values["draft_quantization"] = ResolvedValue(
            draft.quantization, "the checkpoint's and the arguments', together"
        )
        checkpoint = self._checkpoint_of(draft)
        if checkpoint is not None:
            facts |= length_facts("draft", draft, checkpoint)
        facts["draft_is_rewritten"] = draft.architecture != written
        pair = Pair(
            self._args, algorithm, target, draft, target_class,
            self._class_of(draft, moment), self._target_checkpoint, checkpoint, self._graphs,
        )  # fmt: skip
        if (layers := auxiliary_layers(pair)) is not None:
            values["aux_layer_ids"] = layers
            facts["aux_layer_offset"] = layer_offset(pair)
        for events, loaded in (
            (capture_events(pair), "the target's weights"),
            (block_draft_events(pair), "the target's weights"),
            (target_backend_events(pair), "the target's weights"),
            (own_draft_events(pair), moment.loaded),
            (draft_worker_events(pair), moment.loaded),
            (sharing_events(pair), moment.loaded),
            (draft_backend_events(pair), "both models' weights"),
            (unread_key_events(pair), ""),
            (serving_events(pair), ""),
        ):
            self._events.extend(after(loaded, event) for event in events)

    def _read_draft_alone(self) -> None:
        """Look at the draft although the target stops the launch, so that its problems show."""
        algorithm = self._args.speculative_algorithm
        if algorithm is None or str(algorithm) in WITHOUT_DRAFT or self._draft_checkpoint is None:
            return
        moment = draft_worker_moment(self._knowledge, graphs=self._graphs)
        draft = self._built(self._draft_model(moment))
        if draft is not None:
            self._class_of(draft, moment)

    # steps

    @property
    def _events(self) -> list[Event]:
        return self._prediction.events

    def _built(self, answer: ModelFacts | Event | None) -> ModelFacts | None:
        if isinstance(answer, Event):
            if all(answer.engine_message != each.engine_message for each in self._events):
                self._events.append(answer)
            return None
        return answer

    def _draft_model(self, moment: Moment, length: int | None = None) -> ModelFacts | Event | None:
        path = self._args.speculative_draft_model_path or self._args.model_path
        given: dict[str, Any] = {}
        replaced: dict[str, Any] = {}
        if self._knowledge.since("0.5.2"):
            given["model_revision"] = self._args.speculative_draft_model_revision
        if length is not None and drops_overrides(self._args):
            replaced["json_model_override_args"] = "{}"
        if length is not None and passes_length_as_argument(self._knowledge):
            given["context_length"] = length
        elif length is not None:
            replaced["context_length"] = length
        return self._configs.build(self._args, moment, path, replaced, **given)

    def _draft_despite(self, moment: Moment, target: ModelFacts) -> ModelFacts | None:
        """Return the draft's facts as they would be with the override on, for what comes after."""
        with self._configs.source.allowing_longer_context():
            draft = self._draft_model(moment, target.context_length)
        return draft if isinstance(draft, ModelFacts) else None

    def _class_of(self, facts: ModelFacts, moment: Moment) -> str | None:
        found = self._configs.model_class(facts, moment)
        if isinstance(found, Event):
            self._events.append(found)
            return None
        return found

    def _check_block_draft(self, moment: Moment, target: ModelFacts, draft: ModelFacts) -> None:
        if (event := self._configs.check_block_draft(moment, target, draft)) is not None:
            self._events.append(event)

    def _checkpoint_of(self, facts: ModelFacts) -> Checkpoint | None:
        return self._configs.checkpoints.get(facts.path)

    def _length_values(self, draft: ModelFacts, target: ModelFacts) -> tuple[Value, ...]:
        checkpoint = self._checkpoint_of(draft)
        found = () if checkpoint is None else (length_facts("draft", draft, checkpoint),)
        values = [each["draft_length"] for each in found]
        if self._target_checkpoint is not None:
            values.append(length_facts("target", target, self._target_checkpoint)["target_length"])
        return tuple(values)

    def _add_length(self, name: str, facts: ModelFacts) -> None:
        given = self._args.was_given("context_length")
        reason = "derived from the config"
        if facts.role == "draft":
            reason = "given the target's length"
        elif given and facts.context_length == self._args.context_length:
            reason = "--context-length given"
        self._prediction.values[name] = ResolvedValue(facts.context_length, reason)


def _written_architecture(checkpoint: Checkpoint | None) -> str | None:
    names = None if checkpoint is None else checkpoint.config.get("/architectures")
    return str(names[0]) if isinstance(names, list) and names else None


def _dtype_reason(facts: ModelFacts) -> str:
    stated = facts.text.get("dtype") or facts.text.get("torch_dtype")
    if stated == facts.dtype:
        return "as the config says"
    if stated is None or stated == "float32":
        return "float32 (or nothing) in the config becomes float16"
    return f"--dtype turns {stated} into it"
