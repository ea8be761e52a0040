"""The first pass over a tree: what is there, before anything is paired or checked.

What is found goes to a temporary file, a row a checkpoint, so that a tree of any size takes the
memory of its different configs and no more.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final, NamedTuple

from specpreflight.documents import Document, parse_document
from specpreflight.documents.read import read_bytes
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
from specpreflight.sources.checkpoint_identity import identify
from specpreflight.sources.checkpoint_tree import FoundCheckpoint, FoundLaunchFile, Unreadable

#: Ends of names that make a directory a model's even where its config.json can't be read.
_MODEL_FILES: Final = (".safetensors", ".bin", ".gguf", ".index.json", "generation_config.json")

#: Profiles of configs that are remembered; more different ones are looked at again.
_REMEMBERED: Final = 4096

#: By the digest of a config.json, and whether a model's files are beside it.
_Profiles = dict[tuple[bytes, bool], Profile | None]

#: Bytes of a model card in which its front matter is looked for.
_CARD_LIMIT: Final = 65_536


class Surveyed(NamedTuple):
    """A checkpoint that was found.

    `identity` is the digest of all that a check can see of it, `None` where it can't be read or
    where the path counts too.
    """

    path: str
    real: str
    identity: bytes | None
    profile: Profile


@dataclass
class Survey:
    """What a tree holds: iterate to get its checkpoints, as often as needed, and close it."""

    launch_files: list[str] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    checkpoints: int = 0
    wanted: set[str] = field(default_factory=set)
    _rows: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def add(self, checkpoint: Surveyed) -> None:
        """Add a checkpoint."""
        self.checkpoints += 1
        self.wanted.update(one.reference for one in checkpoint.profile.statements)
        path, real, identity, profile = checkpoint
        row = (path, real, identity, (*profile[:-1], tuple(map(tuple, profile.statements))))
        pickle.dump(row, self._rows, pickle.HIGHEST_PROTOCOL)

    def __iter__(self) -> Iterator[Surveyed]:
        """Yield the checkpoints in the order of the tree."""
        self._rows.seek(0)
        for _ in range(self.checkpoints):
            path, real, identity, (*facts, statements) = pickle.load(self._rows)
            stated = tuple(Statement(*one) for one in statements)
            yield Surveyed(path, real, identity, Profile._make((*facts, stated)))

    def close(self) -> None:
        """Give the temporary file back."""
        self._rows.close()

    def targets(self) -> Targets:
        """Return what drafts can be paired with."""
        targets = Targets(self.wanted)
        for checkpoint in self:
            if checkpoint.profile.kind == "target":
                targets.add(checkpoint.path, checkpoint.profile)
        return targets


def survey(found: Iterable[FoundCheckpoint | FoundLaunchFile | Unreadable]) -> Survey:
    """Look at everything that was found, once."""
    result = Survey()
    profiles: _Profiles = {}
    for each in found:
        if isinstance(each, Unreadable):
            result.unreadable.append(each)
        elif isinstance(each, FoundLaunchFile):
            result.launch_files.append(each.path)
        elif (checkpoint := _look(each, profiles)) is not None:
            result.add(checkpoint)
    return result


def _look(found: FoundCheckpoint, profiles: _Profiles) -> Surveyed | None:
    """Return a model's checkpoint, `None` for another program's config.json."""
    path = f"{found.path}/config.json"
    try:
        data = read_bytes(Path(path), path)
        identity = identify(data, found.entries)
    except (InputError, OSError):
        return Surveyed(found.path, found.real, None, Profile("unknown"))
    beside_weights = any(entry.name.endswith(_MODEL_FILES) for entry in found.entries)
    key = blake2b(data, digest_size=16).digest(), beside_weights
    if key not in profiles:
        if len(profiles) >= _REMEMBERED:
            profiles.clear()
        profiles[key] = _profile(data, path, beside_weights=beside_weights)
    profile = profiles[key]
    if profile is None:
        return None
    if profile.kind != "target" and any(entry.name == "README.md" for entry in found.entries):
        statements = (*profile.statements, *_card_statements(found.path))
        profile = profile._replace(statements=statements)
    return Surveyed(found.path, found.real, identity, profile)


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
    try:
        with open(f"{path}/README.md", encoding="utf-8", errors="replace") as card:  # noqa: PTH123
            return stated_in_card(card.read(_CARD_LIMIT))
    except OSError:
        return ()
