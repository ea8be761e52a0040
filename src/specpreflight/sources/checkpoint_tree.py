"""Find the checkpoints and launch files under directories, without following a loop of links."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple

#: Directories that hold no checkpoints of the user's, beside all hidden ones; `blobs` and `refs`
#: are the Hub cache's.
SKIPPED: Final = frozenset(
    {"__pycache__", "node_modules", "site-packages", "blobs", "refs", "lost+found"}
)

#: Directories in which trainers keep optimizer shards: thousands of files, never a model.
_OPTIMIZER = re.compile(r"optim(izer)?(s|[-_.]?states?(\..+)?|_\d+)?$")

#: Ends of names of files that may start an engine.
LAUNCH_SUFFIXES: Final = (
    ".sh", ".bash", ".sbatch", ".slurm", ".yaml", ".yml", ".service", ".container", ".bat", ".cmd",
)  # fmt: skip

_name_of = attrgetter("name")

#: Bytes above which no launch file is expected.
_LAUNCH_LIMIT: Final = 1_000_000
_ENGINE = re.compile(rb"sglang|vllm")

#: The numbers of a training output's name, each after a word for progress.
_PROGRESS = re.compile(
    r"(?<![a-z])(epochs?|(?:global[-_]?)?steps?|iter(?:ation)?s?|checkpoint|ckpt|round)[-_=.]?(\d+)",
    re.IGNORECASE,
)


class FoundCheckpoint(NamedTuple):
    """A directory with a config.json: as the user would write it, its real path, its entries."""

    path: str
    real: str
    entries: Sequence[os.DirEntry[str]]


class FoundLaunchFile(NamedTuple):
    """A file that mentions an engine and is of a kind that may start one."""

    path: str


class Unreadable(NamedTuple):
    """A directory or file that could not be read, and why."""

    path: str
    reason: str


class _Series(NamedTuple):
    """Directories of one series, the newest last, and what had been found before the first."""

    paths: list[str]
    found_before: int | None = None


@dataclass
class CheckpointTree:
    """The directories under `roots`, each walked once.

    Links to directories are looked into after everything else, and only where they lead out of
    what is walked anyway and not to what is above it, so that a checkpoint has one path and a loop
    has an end.

    Args:
        roots: directories, or files: the config.json of one checkpoint, or a launch file.
        latest: of each series (`epoch_3/`, `step_12000/`, `4/`), look only into the newest
            directory that holds a checkpoint.
    """

    roots: Sequence[str]
    latest: bool = False
    _entered: set[str] = field(default_factory=set)
    _links: list[str] = field(default_factory=list)
    _found: int = 0

    def __iter__(self) -> Iterator[FoundCheckpoint | FoundLaunchFile | Unreadable]:
        """Yield what is found, in the order of the names."""
        for root in self.roots:
            if os.path.isdir(root):  # noqa: PTH112 (never raises)
                yield from self._enter(root)
            elif os.path.basename(root) == "config.json":  # noqa: PTH119
                yield from self._alone(os.path.dirname(root) or ".")  # noqa: PTH120
            elif os.path.lexists(root):
                yield FoundLaunchFile(root)
            else:
                yield Unreadable(root, "no such file or directory")
        roots = frozenset(self._entered)
        while self._links:
            link = self._links.pop(0)
            if not any(_is_within(root, os.path.realpath(link)) for root in roots):
                yield from self._enter(link)

    def _enter(self, path: str) -> Iterator[FoundCheckpoint | FoundLaunchFile | Unreadable]:
        real = os.path.realpath(path)
        if any(_is_within(real, entered) for entered in self._entered):
            return
        self._entered.add(real)
        given = len(path)
        waiting: list[str | _Series] = [path]
        while waiting:
            following = waiting.pop()
            if isinstance(following, _Series):
                before = self._found if following.found_before is None else following.found_before
                if not following.paths or self._found > before:
                    continue
                path = following.paths.pop()
                waiting.append(_Series(following.paths, before))
            else:
                path = following
            try:
                with os.scandir(path) as scanned:
                    entries = sorted(scanned, key=_name_of)
            except OSError as error:
                yield Unreadable(path, (error.strerror or str(error)).lower())
                continue
            below = []
            for entry in entries:
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    if not _is_skipped(name) and real + entry.path[given:] not in self._entered:
                        below.append(entry.path)
                elif name == "config.json":
                    self._found += 1
                    yield FoundCheckpoint(path, real + path[given:], entries)
                elif entry.is_symlink() and os.path.isdir(entry.path):  # noqa: PTH112 (as below)
                    self._links.append(entry.path)
                elif name.endswith(LAUNCH_SUFFIXES) and _mentions_engine(entry):
                    yield FoundLaunchFile(entry.path)
            waiting += reversed(_grouped(below) if self.latest else below)

    def _alone(self, path: str) -> Iterator[FoundCheckpoint | Unreadable]:
        try:
            with os.scandir(path) as scanned:
                entries = sorted(scanned, key=_name_of)
        except OSError as error:
            yield Unreadable(path, (error.strerror or str(error)).lower())
        else:
            yield FoundCheckpoint(path, os.path.realpath(path), entries)


def _grouped(below: Sequence[str]) -> list[str | _Series]:
    """Return the directories with those of a series together, in its first one's place."""
    series: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    for path in below:
        name, numbers = progress_of(os.path.basename(path))  # noqa: PTH119
        series.setdefault(name, []).append((numbers, path))
    return [
        members[0][1] if len(members) == 1 else _Series([path for _, path in sorted(members)])
        for members in series.values()
    ]


def progress_of(name: str) -> tuple[str, tuple[int, ...]]:
    """Return the series that a training output's directory belongs to, and how far it is.

    `epoch_3-step_100` is at (3, 100) of the series `epoch_#-step_#`; a name that does not tell
    progress, such as `llama-3`, is a series of its own.
    """
    if name.isdecimal():
        return "#", (int(name),)
    numbers = tuple(int(found[2]) for found in _PROGRESS.finditer(name))
    return _PROGRESS.sub(r"\1#", name), numbers


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in SKIPPED or _OPTIMIZER.match(name) is not None


def _mentions_engine(entry: os.DirEntry[str]) -> bool:
    """Return whether a file that may start an engine names one; an unreadable one may."""
    try:
        is_file = os.path.isfile(entry.path)  # noqa: PTH113 (False for a link to itself)
        if not is_file or entry.stat().st_size > _LAUNCH_LIMIT:
            return False
        with open(entry.path, "rb") as file:  # noqa: PTH123
            return _ENGINE.search(file.read()) is not None
    except OSError:
        return True
