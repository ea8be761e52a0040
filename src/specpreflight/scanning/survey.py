"""The first pass over a tree: what is there, before anything is paired or checked.

What is found goes to a temporary file, some hundred checkpoints at once, so that a tree of any
size takes the memory of its different configs and no more.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, NamedTuple

from specpreflight.documents import Document, parse_document
from specpreflight.documents.read import read_with_status
from specpreflight.engines.mentions import find_unread
from specpreflight.errors import InputError
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.pairing import (
    Profile,
    Statement,
    Targets,
    describe,
    is_model_config,
    stated_in_card,
)
from specpreflight.scanning.likeness import Likeness, Likenesses
from specpreflight.sources.checkpoint_identity import (
    digest_of,
    digest_surroundings,
    identify,
    is_known_by_path,
)
from specpreflight.sources.checkpoint_tree import FoundCheckpoint, FoundLaunchFile, Unreadable

#: Ends of names that make a directory a model's even where its config.json can't be read.
_MODEL_FILES: Final = (".safetensors", ".bin", ".gguf", ".index.json", "generation_config.json")

#: Profiles of configs that are remembered; more different ones are looked at again.
_REMEMBERED: Final = 4096

#: Checkpoints that are written at once.
_CHUNK: Final = 512

#: Bytes of a model card in which its front matter is looked for.
_CARD_LIMIT: Final = 65_536


class Surveyed(NamedTuple):
    """A checkpoint that was found.

    `identity` is the digest of all that a check can see of it, `None` where it can't be read or
    where the path counts too. `alike` is the one of all that counts, and the keys of its config
    that do not; `None` where all of them may.
    """

    path: str
    real: str
    identity: bytes | None
    profile: Profile
    alike: Likeness | None = None


@dataclass
class _Rows:
    """Checkpoints in a temporary file, `_CHUNK` at a time."""

    _file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    _latest: list[Surveyed] = field(default_factory=list)
    _chunks: int = 0

    def add(self, checkpoint: Surveyed) -> None:
        self._latest.append(checkpoint)
        if len(self._latest) == _CHUNK:
            pickle.dump(self._latest, self._file, pickle.HIGHEST_PROTOCOL)
            self._chunks += 1
            self._latest = []

    def __iter__(self) -> Iterator[Surveyed]:
        at = 0
        for _ in range(self._chunks):
            self._file.seek(at)
            chunk = pickle.load(self._file)
            at = self._file.tell()
            yield from chunk
        yield from self._latest

    def close(self) -> None:
        self._file.close()


@dataclass
class Survey:
    """What a tree holds: iterate to get its checkpoints, as often as needed, and close it."""

    launch_files: list[str] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    checkpoints: int = 0
    _wanted: set[str] = field(default_factory=set)
    _rows: _Rows = field(default_factory=_Rows)
    _servable: _Rows = field(default_factory=_Rows)

    def add(self, checkpoint: Surveyed) -> None:
        """Add a checkpoint."""
        self.checkpoints += 1
        self._rows.add(checkpoint)
        if checkpoint.profile.kind == "target":
            self._servable.add(checkpoint)
        for statement in checkpoint.profile.statements:
            self._wanted.add(statement.reference)

    def __iter__(self) -> Iterator[Surveyed]:
        """Yield the checkpoints in the order of the tree."""
        return iter(self._rows)

    def servable(self) -> Iterator[Surveyed]:
        """Yield the checkpoints that are no drafts by themselves, in the order of the tree."""
        return iter(self._servable)

    def close(self) -> None:
        """Give the temporary files back."""
        self._rows.close()
        self._servable.close()

    def targets(self) -> Targets:
        """Return what drafts can be paired with."""
        targets = Targets(self._wanted)
        for checkpoint in self._servable:
            targets.add(checkpoint.path, checkpoint.profile)
        return targets


def survey(found: Iterable[FoundCheckpoint | FoundLaunchFile | Unreadable]) -> Survey:
    """Look at everything that was found, once."""
    result = Survey()
    observer = _Observer()
    for each in found:
        if isinstance(each, Unreadable):
            result.unreadable.append(each)
        elif isinstance(each, FoundLaunchFile):
            result.launch_files.append(each.path)
        elif (checkpoint := observer.look(each)) is not None:
            result.add(checkpoint)
    return result


class _Seen(NamedTuple):
    """What is known of a config from its bytes."""

    profile: Profile | None
    by_path: bool = False
    alike: Likeness | None = None


class _Observer:
    """Looks at checkpoints, and remembers configs that it has seen."""

    def __init__(self) -> None:
        self._likenesses = Likenesses(find_unread)
        self._seen: dict[tuple[bytes, bool], _Seen] = {}

    def look(self, found: FoundCheckpoint) -> Surveyed | None:
        """Return a model's checkpoint, `None` for another program's config.json."""
        path, real, entries = found
        name = f"{path}/config.json"
        try:
            data, status = read_with_status(name, name)
        except (InputError, OSError):
            return Surveyed(path, real, None, Profile("unknown"))
        try:
            surroundings = digest_surroundings(status, entries)
        except OSError:  # which the check of it reports
            surroundings = None
        names = [entry.name for entry in entries]
        beside_weights = len(names) > 1 and any(name.endswith(_MODEL_FILES) for name in names)
        digest = digest_of(data)
        seen = self._seen.get((digest, beside_weights))
        if seen is None:
            seen = self._examine(data, name, beside_weights=beside_weights)
            self._remember((digest, beside_weights), seen)
        profile, by_path, alike = seen
        if profile is None:
            return None
        if profile.kind != "target" and "README.md" in names:
            statements = (*profile.statements, *_card_statements(path))
            profile = profile._replace(statements=statements)
        if by_path or surroundings is None:
            return Surveyed(path, real, None, profile)
        if alike is not None:
            alike = Likeness(identify(alike.digest, surroundings), alike.unread)
        return Surveyed(path, real, identify(digest, surroundings), profile, alike)

    def _examine(self, data: bytes, name: str, *, beside_weights: bool) -> _Seen:
        """Look at a config that has not been seen; it may be like one that has."""
        alike = self._likenesses.of(data)
        known = None if alike is None else self._seen.get((alike.digest, beside_weights))
        if alike is None or known is None:
            profile = _profile(data, name, beside_weights=beside_weights)
            known = _Seen(profile, is_known_by_path(data), alike)
            if alike is not None:
                self._remember((alike.digest, beside_weights), known)
        return known

    def _remember(self, key: tuple[bytes, bool], seen: _Seen) -> None:
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen[key] = seen


def _profile(data: bytes, path: str, *, beside_weights: bool) -> Profile | None:
    """Return what pairing asks of a config, `None` for one that need not be a model's."""
    try:
        document = parse_document(data, path)
    except InputError:
        return Profile("unknown") if beside_weights or _may_be_model(data) else None
    if not is_model_config(document.root):
        return None
    return describe(Checkpoint("draft", path, None, Document(path, data, document.root)))


def _may_be_model(data: bytes) -> bool:
    """Return whether a config.json that is no JSON could be a model's."""
    words = (b'"model_type"', b'"architectures"', b'"hidden_size"', b"git-lfs", b"<html", b"<!DOC")
    return not data.strip() or any(word in data for word in words)


def _card_statements(path: str) -> Iterable[Statement]:
    file = Path(path, "README.md")
    try:
        if file.is_fifo():
            return ()
        with file.open(encoding="utf-8", errors="replace") as card:
            return stated_in_card(card.read(_CARD_LIMIT))
    except OSError:
        return ()
