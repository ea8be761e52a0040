"""What a launch is made of beside its checkpoints, from a command and what surrounds it.

The command line and `scan` both come here, so that a file means the same launches to either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from specpreflight.api import build_launch, identify_engine
from specpreflight.documents import Document
from specpreflight.engines.registry import find_engine
from specpreflight.errors import UsageError
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.frozen import dataclass
from specpreflight.models.launch import EngineVersion, Hardware, Launch, Variable
from specpreflight.sources.checkpoint import read_checkpoint
from specpreflight.sources.hub_cache import find_snapshot

if TYPE_CHECKING:
    from specpreflight.models.command import Command

#: Stands for the target of a draft whose target is not known, in flags alone.
UNKNOWN_TARGET = "(unknown)"

#: What only a release has in its name; other tags of images are names that somebody gave.
_NUMBERED = re.compile(r"\d+\.\d+")

#: Forms of launch that start on another machine or in a container, where the variables of this
#: process never arrive.
_ELSEWHERE = frozenset({"compose", "kubernetes", "kubernetes-custom", "helm-values", "systemd"})

#: A flag that says how to speculate, of either engine.
_SPECULATION: Final = re.compile("--spec|-sc")

#: Returns variables with what files add to them where an engine starts.
AddFiles = Callable[[Mapping[str, Variable], EngineVersion], Mapping[str, Variable]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What launches find around them; no command says it.

    Attributes:
        engines: those to ask; where there are none, the one that a command names.
        recorded: the engine of an earlier launch, for a command that names no release of it.
        configured: for a command that names none either, those of them that are its engine's.
        inherited: the variables of the process that starts a launch, `None` for none; they do not
            reach another machine or a container.
        given: variables that win over all others.
        add_files: adds to the variables of a launch of an engine what files of its libraries set.
        hardware: what is known of the machine.
        nccl: the NCCL release that will run, as the user gave it.
        locate: turns a path that a command names into one of this machine; where it is `None`, its
            volumes and folders do.
        folders: where a relative path may start as well, beside the command's own folders.
        find: returns the folder of a Hub repository and revision.
    """

    engines: tuple[EngineVersion, ...] = ()
    recorded: EngineVersion | None = None
    configured: tuple[EngineVersion, ...] = ()
    inherited: Mapping[str, Variable] | None = None
    given: Mapping[str, Variable] = field(default_factory=dict)
    add_files: AddFiles | None = None
    hardware: Hardware | None = None
    nccl: str | None = None
    locate: Callable[[str], str] | None = None
    folders: tuple[str, ...] = ()
    find: Callable[[str, str], Path | None] = find_snapshot

    def environment(self, command: Command | None, engine: EngineVersion) -> Mapping[str, Variable]:
        """Return the variables of a launch: around it, its own, those that are given."""
        stated = {} if command is None else command.seen_by_engine()
        if self.inherited is None or (command is not None and _is_elsewhere(command)):
            return {**stated, **self.given}
        environment = {**self.inherited, **stated, **self.given}
        return environment if self.add_files is None else self.add_files(environment, engine)

    def engines_of(self, command: Command | None) -> Sequence[EngineVersion]:
        """Return the engines to ask about a command.

        Raises:
            UsageError: it names a release that is not known.
        """
        if self.engines:
            return self.engines
        name = None if command is None else command.engine
        if command is None or command.engine_version is None:
            return self._undetermined(name)
        image = f"image {command.image}"
        try:
            named = identify_engine(f"{name or 'sglang'}@{command.engine_version}")
        except UsageError:
            if _NUMBERED.search(command.engine_version):
                raise
            return [
                replace(one, determined_by=f"{one.determined_by} ({image} names none)")
                for one in self._undetermined(name)
            ]
        is_meant = named.version in command.engine_version
        how = image if is_meant else f"{image}, predicted as {named.version}"
        return [replace(named, determined_by=how)]

    def _undetermined(self, name: str | None) -> Sequence[EngineVersion]:
        """Return the versions where a command names none: recorded, configured, else newest."""
        if self.recorded is not None and self.recorded.name == (name or "sglang"):
            return [self.recorded]
        configured = [one for one in self.configured if name in (None, one.name)]
        return configured or [identify_engine(name or "sglang")]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What launches have in common, for one engine; see `api.build_launch`."""

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
        """Return the launch of these two; of a draft alone, one whose target nobody can read.

        Words that are the same for every draft (`--tp 8`) and say nothing about speculation leave
        it to each draft's format, as no words do.
        """
        stand_in = None
        if target is None:
            empty = Document(UNKNOWN_TARGET, b"{}", {})
            stand_in = Checkpoint("target", UNKNOWN_TARGET, None, empty)
        launch = self._with_speculation(target or stand_in, draft).build(target or stand_in, draft)
        return replace(launch, target=None, target_path=None) if target is None else launch

    def _with_speculation(self, target: Checkpoint | None, draft: Checkpoint | None) -> Conditions:
        if not self.words or draft is None or any(map(_SPECULATION.match, self.words)):
            return self
        engine = find_engine(self.engine.name)
        words = engine.complete_arguments((), target, draft, self.engine)
        return replace(self, words=(*words, *self.words))

    def build(
        self,
        target: str | Checkpoint | None,
        draft: str | Checkpoint | None,
        locate: Callable[[str], str] = str,
    ) -> Launch:
        """Return the launch of these two, or of those that the words name where one is `None`."""
        return build_launch(
            target,
            draft,
            engine=self.engine,
            words=self.words,
            environment=self.environment,
            hardware=self.hardware,
            locate=locate,
            find=self.find,
            facts=self.facts,
        )


def conditions_of(command: Command | None, around: Surroundings) -> list[Conditions]:
    """Return the conditions of a command's launch, once for each engine to ask.

    Raises:
        UsageError: the command names an engine or release that is not known.
        InputError: a file that adds to its variables cannot be read.
    """
    return [_conditions(command, engine, around) for engine in around.engines_of(command)]


def _conditions(command: Command | None, engine: EngineVersion, around: Surroundings) -> Conditions:
    facts: dict[str, Any] = {} if around.nccl is None else {"nccl_release": around.nccl}
    words: tuple[str, ...] = ()
    if command is not None:
        words = merged_words(command, engine.version)
        facts["command"] = command
        if command.config and words == command.argv:  # the engine would refuse it
            facts["config_file"] = command.config
    environment = around.environment(command, engine)
    return Conditions(engine, words, environment, around.hardware, facts, around.find)


def launches_of(
    command: Command | None,
    around: Surroundings,
    target: str | None = None,
    draft: str | None = None,
) -> list[Launch]:
    """Read a command's launch once for each engine to ask.

    Args:
        command: what starts the engine; `None` where only checkpoints are given.
        around: what it finds around it.
        target, draft: given apart; where they are `None`, the command names them.

    Raises:
        UsageError, InputError: see `conditions_of`.
    """
    locate = around.locate or (str if command is None else _Locator(command, around.folders))
    return [one.build(target, draft, locate) for one in conditions_of(command, around)]


def in_order(command: Command) -> list[Command]:
    """Return all engine launches of a command's file, as they stand there."""
    return sorted((command, *command.others), key=lambda one: one.command_index)


def is_launch_file(path: Path) -> bool:
    """Return whether a path is a script, manifest, unit … rather than a checkpoint."""
    if path.suffix == ".json" and path.is_file():
        from specpreflight.sources.keyword_arguments import is_launch

        return is_launch(path)
    return path.is_file() and path.suffix not in (".safetensors", ".bin", ".gguf")


def merged_words(command: Command, release: str) -> tuple[str, ...]:
    """Return the arguments with those of a `--config` file where this release puts them.

    A file that the engine would refuse adds none.
    """
    if command.config is None:
        return command.argv
    if command.engine == "vllm" and not command.argv:
        from specpreflight.engines.vllm.keyword_arguments import keyword_words
        from specpreflight.engines.vllm.knowledge import Knowledge

        return tuple(keyword_words(command.config, Knowledge(release)))
    if command.engine == "vllm":
        from specpreflight.engines.vllm import config_file
        from specpreflight.engines.vllm.knowledge import Knowledge

        try:
            knowledge = Knowledge(release)
            return tuple(config_file.merge_config(command.argv, command.config, knowledge))
        except config_file.ConfigFileError:
            return command.argv
    from specpreflight.engines.sglang.arguments import ConfigFileError, merge_config
    from specpreflight.engines.sglang.knowledge import load

    try:
        return tuple(merge_config(command.argv, command.config, load(release)))
    except ConfigFileError:
        return command.argv


def _is_elsewhere(command: Command) -> bool:
    return command.image is not None or command.form in _ELSEWHERE


class _Locator:
    """Finds the checkpoints that a launch names, which may lie outside its container."""

    def __init__(self, command: Command, others: Sequence[str] = ()) -> None:
        self._command = command
        self._others = others

    def __call__(self, path: str) -> str:
        outside = self._command.outside(path)
        if os.path.lexists(outside):
            return outside
        for folder in self._folders():
            if os.path.lexists(folder / outside):
                return str(folder / outside)
        return outside

    def _folders(self) -> Iterator[Path]:
        """Yield where a relative path may start.

        That is where the command changes to, beside its file, at the top of the file's repository,
        and in the other folders.
        """
        if self._command.directory is not None:
            yield Path(self._command.outside(self._command.directory))
        if self._command.path is not None:
            beside = Path(self._command.path).parent
            yield beside
            whole = beside.resolve()
            yield from [one for one in (whole, *whole.parents) if (one / ".git").exists()][:1]
        yield from map(Path, self._others)
