"""What an engine must answer; the only thing the rest of the project knows of one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.resolved import Resolved

#: What is known of one version: topic → entry → field → JSON value. The topics are `requirements`,
#: `behaviour`, `flags`, `variables`, `architectures` and what an engine has besides; the field
#: `about` is prose for reports and no fact.
Facts = Mapping[str, Mapping[str, Mapping[str, Any]]]


class Arguments(NamedTuple):
    """An engine's command line, as far as its own parser of that release understands it.

    `flags` maps canonical names without dashes to the value as written (text, list of texts,
    `True` for a bare flag); `target` and `draft` are the checkpoints that the flags name. A
    command line that the parser would refuse still gives what could be understood: `resolve`
    reports the refusal.
    """

    flags: Mapping[str, Any]
    target: str | None
    draft: str | None


class Engine(Protocol):
    """One inference engine, all its releases.

    `identify` maps what a user wrote after `@` (a release, `main`, an image tag, a path, `None`)
    to the release whose knowledge is used, or raises `UsageError` naming the nearest.
    `read_arguments` understands a command line with that release's own parser.
    `complete_arguments` is the command line for checkpoints that were named without flags: it
    adds the two paths where the flags lack them and, where `words` is empty, the algorithm that
    the draft's format calls for.
    `known_variables` are the names of environment variables that the release looks up, or (`None`)
    that any known release does.
    `facts` is everything that is known of a version, in a form that versions are compared by.
    `resolve` predicts, with this release's knowledge, everything the engine does with a launch.
    """

    name: str

    def identify(self, wanted: str | None) -> EngineVersion:
        """Return the version to predict for."""
        ...

    def read_arguments(self, argv: Sequence[str], version: EngineVersion) -> Arguments:
        """Return the flags of a command line and the checkpoints they name."""
        ...

    def complete_arguments(
        self,
        words: Sequence[str],
        target: Checkpoint | None,
        draft: Checkpoint | None,
        version: EngineVersion,
    ) -> tuple[str, ...]:
        """Return the command line for checkpoints given beside it (`check TARGET DRAFT`)."""
        ...

    def known_variables(self, version: EngineVersion | None) -> Collection[str]:
        """Return the names of the engine's own environment variables."""
        ...

    def facts(self, version: EngineVersion) -> Facts:
        """Return what is known of a version, by topic."""
        ...

    def resolve(self, launch: Launch) -> Resolved:
        """Predict what the engine does with this launch."""
        ...
