"""The two models of a launch, and the arguments that they are run with."""

from __future__ import annotations

from typing import Any, NamedTuple

from specpreflight.engines.sglang.knowledge import Knowledge, ModelClass
from specpreflight.engines.sglang.model_facts import ModelFacts
from specpreflight.engines.sglang.server_args.state import ServerArgs, Unknowable
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Value


class Pair(NamedTuple):
    """The two models of a launch as this release would build them.

    `target_class` and `draft_class` are the names of the model classes, `None` where the release
    has none; `graphs` says whether CUDA graphs are captured.
    """

    args: ServerArgs
    algorithm: str
    target: ModelFacts
    draft: ModelFacts
    target_class: str | None
    draft_class: str | None
    target_checkpoint: Checkpoint | None
    draft_checkpoint: Checkpoint | None
    graphs: bool

    @property
    def knowledge(self) -> Knowledge:
        """What is known of the release."""
        return self.args.release

    def since(self, release: str) -> bool:
        """Return whether this release is `release` or newer."""
        return self.args.since(release)

    def known(self, name: str | None) -> ModelClass | None:
        """Return what is known of a model class."""
        return None if name is None else self.knowledge.classes.get(name)

    def setting(self, field: str) -> Any:
        """Return a field of the resolved arguments, `None` where it cannot be predicted."""
        try:
            return getattr(self.args, field)
        except Unknowable:
            return None

    def is_unset(self, field: str) -> bool:
        """Return whether a field is known to be `None`."""
        try:
            return getattr(self.args, field) is None
        except Unknowable:
            return False

    @property
    def eagle_config(self) -> Any:
        """`eagle_config` of the draft, `None` where it is absent or null."""
        return self.draft.config.get("eagle_config")

    def target_value(self, pointer: str) -> tuple[Value, ...]:
        """Return a value of the target's config for an event; none where it was not read."""
        known = self.target_checkpoint
        return () if known is None else (known.value("target", pointer),)

    def draft_value(self, pointer: str) -> tuple[Value, ...]:
        """Return a value of the draft's config for an event; none where it was not read."""
        known = self.draft_checkpoint
        return () if known is None else (known.value("draft", pointer),)

    def text_values(self, key: str) -> tuple[Value, ...]:
        """Return a key of both language models' configs, for an event that compares them."""
        both = (
            ("target", self.target_checkpoint, self.target),
            ("draft", self.draft_checkpoint, self.draft),
        )
        return tuple(
            checkpoint.value(role, f"{facts.pointer}/{key}")
            for role, checkpoint, facts in both
            if checkpoint is not None
        )
