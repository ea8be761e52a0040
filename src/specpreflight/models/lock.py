"""A launch as it was when it worked: what `record` writes and `check --against` compares with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from specpreflight.models.frozen import dataclass
from specpreflight.models.report import Report

FORMAT_VERSION = "1"


@dataclass(frozen=True, slots=True)
class EngineSource:
    """What the engine's code was.

    Attributes:
        kind: `tree` for the Python files of an installation or checkout, `knowledge` for what is
            known of a release whose files were not at hand.
        sha256: of all of it, in the order of the names.
        files: how many files (or facts) went into it.
        path: the package's folder, of a tree.
    """

    kind: str
    sha256: str
    files: int
    path: str | None = None


@dataclass(frozen=True, slots=True)
class FileHash:
    """A file of a checkpoint.

    `size` is in bytes. `hashed` says how many of them, from the start, `sha256` is of: all of a
    configuration or tokenizer file; of weights only the header, which names every tensor.
    """

    size: int
    hashed: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LockedCheckpoint:
    """A target or a draft; `path` as given, `config` the parsed `config.json`."""

    path: str
    config: Mapping[str, Any]
    files: Mapping[str, FileHash] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lock:
    """One recorded launch.

    Flags, environment, hardware and the resolved launch are those of the report. Tokens, keys and
    passwords are left out everywhere.

    Attributes:
        written_by: the release of specpreflight, whose rules made the report.
        source: what the engine's code was.
        libraries: versions of the packages beside the engine, found by their metadata.
        argv: the engine's arguments.
    """

    format_version: str
    written_by: str
    source: EngineSource
    libraries: Mapping[str, str]
    argv: tuple[str, ...]
    target: LockedCheckpoint | None
    draft: LockedCheckpoint | None
    report: Report
