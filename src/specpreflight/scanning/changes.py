"""Which launches of a tree a change can have touched."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from specpreflight.scanning.subjects import Side, Subject


@dataclass(frozen=True, slots=True)
class Changes:
    """The files that have changed, by their real paths, and the directories that hold them."""

    files: frozenset[str]
    folders: frozenset[str]

    @classmethod
    def of(cls, files: Iterable[str]) -> Changes:
        """Return the changes of these files."""
        files = frozenset(files)
        return cls(files, frozenset(os.path.dirname(path) for path in files))  # noqa: PTH120

    def touch(self, subject: Subject) -> bool:
        """Return whether the draft, its target, or what pairs them has changed."""
        if any(side is not None and self._holds(side) for side in subject[:2]):
            return True
        if subject.unpaired and subject.draft is not None and self._took_target(subject.draft):
            return True
        pairs_file = (subject.paired_by or "").partition(":")[0]
        return bool(pairs_file) and os.path.realpath(pairs_file) in self.files

    def touch_file(self, files: Iterable[str], folders: Iterable[str]) -> bool:
        """Return whether one of a launch's files, or of its checkpoints (by real path), changed."""
        if not self.folders.isdisjoint(folders):
            return True
        return any(os.path.realpath(path) in self.files for path in files)

    def _took_target(self, draft: Side) -> bool:
        """Return whether a target that the draft names was where something has changed."""
        if draft.found is None:
            return False
        named = [statement.reference for statement in draft.found.profile.statements]
        places = {os.path.realpath(os.path.join(draft.found.real, name)) for name in named}  # noqa: PTH118
        names = {name.lower().rpartition("/")[2] for name in named}
        return any(
            folder in places or os.path.basename(folder).lower() in names  # noqa: PTH119
            for folder in self.folders
        )

    def _holds(self, side: Side) -> bool:
        real = os.path.realpath(side.given) if side.found is None else side.found.real
        return real in self.folders


def changes_since(paths: Iterable[str], revision: str) -> Changes:
    """Return what differs from a git revision in the repositories of these paths.

    Raises:
        InputError: a path is in no repository, or git is not installed.
        UsageError: the revision is not known there.
    """
    from specpreflight.sources.git_changes import changed_files

    return Changes.of(changed_files(paths, revision))
