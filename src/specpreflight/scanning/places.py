"""Where the checkpoints of a launch are read from, and what is known of them before."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from specpreflight.documents.read import read_with_status
from specpreflight.errors import InputError
from specpreflight.scanning.checking import JobSide
from specpreflight.scanning.subjects import Side
from specpreflight.scanning.template import Names, slot_of
from specpreflight.sources.checkpoint_identity import identify
from specpreflight.storage.hub import parse_hub_address


class Place(NamedTuple):
    """A checkpoint of a launch.

    `directory` is the real path where it can be read under any name, `slot` the one to use; both
    are `None` where only what the user gave leads to it. `identity` is then good for this scan
    alone.
    """

    names: Names
    identity: bytes
    directory: str | None = None
    slot: str | None = None

    @property
    def job_side(self) -> JobSide:
        """Return the checkpoint as a job names it."""
        if self.directory is None:
            return JobSide(self.names.given, None)
        return JobSide(self.directory, self.slot)


class Places:
    """Finds places; those that options and files name are looked at once.

    Args:
        find: returns the folder of a Hub repository and revision.
    """

    def __init__(self, find: Callable[[str, str], Path | None]) -> None:
        self._find = find
        self._named: dict[tuple[str, str], Place] = {}

    def of(self, role: str, side: Side) -> Place:
        """Return the place of one checkpoint of a subject."""
        given, found = side
        if found is not None and found.identity is not None:
            return Place(Names.of(given), found.identity, found.real, slot_of(role, given))
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
            identity = identify(*read_with_status(path, path), listed)
        except (InputError, OSError):
            return as_given(given)
        if identity is None:
            return as_given(given)
        return Place(names, identity, os.path.realpath(directory), slot_of(role, names.given))


def as_given(given: str) -> Place:
    """Return the place of a checkpoint that only the name that the user gave leads to."""
    return Place(Names.of(given), blake2b(given.encode(), digest_size=16).digest())
