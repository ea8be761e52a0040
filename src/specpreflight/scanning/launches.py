"""From what is to be checked to launches that the engine and the rules can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from specpreflight.api import build_launch
from specpreflight.documents import Document
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import EngineVersion, Hardware, Launch, Variable
from specpreflight.sources.checkpoint import read_checkpoint
from specpreflight.sources.hub_cache import find_snapshot

#: Stands for the target of a draft whose target is not known, in flags alone.
UNKNOWN_TARGET = "(unknown)"


@dataclass(frozen=True)
class Conditions:
    """What all launches of a scan have in common, for one engine; see `api.build_launch`."""

    engine: EngineVersion
    words: tuple[str, ...] = ()
    environment: Mapping[str, Variable] = field(default_factory=dict)
    hardware: Hardware | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    find: Callable[[str, str], Path | None] = find_snapshot

    def read(self, role: str, given: str) -> Checkpoint:
        """Read a checkpoint that is named by path, Hub id or URL."""
        return read_checkpoint(role, given, find=self.find)

    def launch(self, target: Checkpoint | None, draft: Checkpoint | None) -> Launch:
        """Return the launch of these two; of a draft alone, one whose target nobody can read."""
        stand_in = None
        if target is None:
            empty = Document(UNKNOWN_TARGET, b"{}", {})
            stand_in = Checkpoint("target", UNKNOWN_TARGET, None, empty)
        launch = build_launch(
            target or stand_in,
            draft,
            engine=self.engine,
            words=self.words,
            environment=self.environment,
            hardware=self.hardware,
            facts=self.facts,
        )
        return replace(launch, target=None, target_path=None) if target is None else launch
