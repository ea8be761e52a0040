"""SGLang: what each release does with a speculative launch, from its own code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from specpreflight.engines.base import Arguments, Facts
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.resolved import Resolved

if TYPE_CHECKING:
    from specpreflight.engines.sglang.knowledge import Knowledge
    from specpreflight.models.loader_report import LoaderReport


class SGLang:
    """The engine SGLang, all its known releases, and trees of it."""

    name = "sglang"

    def identify(self, wanted: str | None) -> EngineVersion:
        """Return the version to predict for."""
        from specpreflight.engines.sglang.releases import identify

        return identify(wanted)

    def read_arguments(self, argv: Sequence[str], version: EngineVersion) -> Arguments:
        """Return the flags of a command line and the checkpoints they name."""
        from specpreflight.engines.sglang.command_line import read_command_line
        from specpreflight.engines.sglang.knowledge import knowledge_of

        return read_command_line(argv, knowledge_of(version))

    def complete_arguments(
        self,
        words: Sequence[str],
        target: Checkpoint | None,
        draft: Checkpoint | None,
        version: EngineVersion,
    ) -> tuple[str, ...]:
        """Return the command line for checkpoints given beside it (`check TARGET DRAFT`)."""
        from specpreflight.engines.sglang.command_line import complete_command_line
        from specpreflight.engines.sglang.knowledge import knowledge_of

        return complete_command_line(words, target, draft, knowledge_of(version))

    def known_variables(self, version: EngineVersion | None) -> Collection[str]:
        """Return the names of the engine's own environment variables."""
        from specpreflight.engines.sglang.knowledge import knowledge_of
        from specpreflight.engines.sglang.tables import Table

        if version is None:
            return frozenset(name for name, _, _ in Table("environment", ()).runs())

        return frozenset(knowledge_of(version).environment)

    def facts(self, version: EngineVersion) -> Facts:
        """Return what is known of a version, by topic."""
        from specpreflight.engines.sglang.knowledge import knowledge_of
        from specpreflight.engines.sglang.known_facts import known_facts

        return known_facts(knowledge_of(version))

    def resolve(self, launch: Launch) -> Resolved:
        """Predict what the engine does with this launch."""
        from specpreflight.engines.sglang.knowledge import knowledge_of
        from specpreflight.engines.sglang.resolve import resolve

        knowledge = knowledge_of(launch.engine)
        resolved = resolve(launch, knowledge)
        loader = cache(partial(_trace_loader, launch, knowledge))
        return replace(resolved, facts={**resolved.facts, "loader": loader})


def _trace_loader(launch: Launch, knowledge: Knowledge) -> LoaderReport | None:
    """Say what becomes of the draft's tensors; asked only by a rule that needs it."""
    from specpreflight.engines.sglang.loaders import trace_loader

    return trace_loader(launch, knowledge)


ENGINE = SGLang()
