"""Where the checkpoints of a launch are read from, and what is known of them before."""

from __future__ import annotations

import os
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from specpreflight.documents.read import read_with_status
from specpreflight.errors import InputError
from specpreflight.scanning.checking import JobSide
from specpreflight.scanning.subjects import Side
from specpreflight.scanning.template import Names, slot_of
from specpreflight.sources.checkpoint_identity import (
    digest_of,
    digest_surroundings,
    identify,
    is_known_by_path,
)
from specpreflight.storage.hub import parse_hub_address


class Place(NamedTuple):
    """A checkpoint of a launch.

    `directory` is the real path where it can be read under any name, `slot` the one to use; both
    are `None` where only what the user gave leads to it. `identity` is then good for this scan
    alone. It leaves out the values of the keys `unread` in its config.
    """

    names: Names
    identity: bytes
    directory: str | None = None
    slot: str | None = None
    unread: tuple[str, ...] = ()

    @property
    def job_side(self) -> JobSide:
        """Return the checkpoint as a job names it."""
        if self.directory is None:
            return JobSide(self.names.given, None)
        return JobSide(self.directory, self.slot, self.unread)


class Places:
    """Finds places; those that options and files name are looked at once.

    Args:
        find: returns the folder of a Hub repository and revision.
        by_likeness: leave out of identities what nothing reads that this package knows of.
    """

    def __init__(self, find: Callable[[str, str], Path | None], *, by_likeness: bool) -> None:
        self._find = find
        self._by_likeness = by_likeness
        self._named: dict[tuple[str, str], Place] = {}

    def of(self, role: str, side: Side) -> Place:
        """Return the place of one checkpoint of a subject."""
        given, found = side
        if found is not None and found.identity is not None:
            alike = found.alike if self._by_likeness else None
            identity, unread = alike or (found.identity, ())
            return Place(Names.of(given), identity, found.real, slot_of(role, given), unread)
        place = self._named.get((role, given))
        if place is None:
            place = self._named[role, given] = self._look(role, given)
        return place

    def _look(self, role: str, given: str) -> Place:
        directory, names = given, Names.of(given.rstrip("/") or given)
        if not os.path.isdir(given):  # noqa: PTH112 (never raises)
            address = None if os.path.lexists(given) else parse_hub_address(given)
            snapshot = None
            if address is not None:
                snapshot = self._find(address.repository, address.revision or "main")
            if snapshot is None:
                return as_given(given)
            directory, names = str(snapshot), Names(given, f"{snapshot}/config.json")
        path = f"{directory}/config.json"
        try:
            with os.scandir(directory) as entries:
                listed = sorted(entries, key=attrgetter("name"))
            data, status = read_with_status(path, path)
            surroundings = digest_surroundings(status, listed)
        except (InputError, OSError):
            return as_given(given)
        if is_known_by_path(data):
            return as_given(given)
        identity = identify(digest_of(data), surroundings)
        return Place(names, identity, os.path.realpath(directory), slot_of(role, names.given))


def as_given(given: str) -> Place:
    """Return the place of a checkpoint that only the name that the user gave leads to."""
    return Place(Names.of(given), digest_of(given.encode()))
