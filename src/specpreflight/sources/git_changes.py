"""Which files differ from a git revision, as `git` itself says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable

from specpreflight.errors import InputError, UsageError


def changed_files(paths: Iterable[str], revision: str) -> frozenset[str]:
    """Return the real paths of files that differ from `revision`, deleted and new ones too.

    Asks the repository of each path. Files that git ignores are left out.

    Raises:
        InputError: a path is in no repository, or git is not installed.
        UsageError: the revision is not known there.
    """
    roots = dict.fromkeys(_root_of(path) for path in paths)
    return frozenset(
        os.path.join(root, name)  # noqa: PTH118
        for root in roots
        for name in (
            *_changed(root, revision),
            *_names(root, "ls-files", "--others", "--exclude-standard", "-z"),
        )
    )


def _root_of(path: str) -> str:
    folder = path if os.path.isdir(path) else os.path.dirname(path) or "."  # noqa: PTH112, PTH120
    done = _git(folder, "rev-parse", "--show-toplevel")
    if done.returncode:
        raise InputError(
            f"{path}: in no git repository, so that nothing is known to have changed",
            hint="leave --changed-since out, or scan a directory of a repository",
        )
    return os.path.realpath(os.fsdecode(done.stdout).strip())


def _changed(root: str, revision: str) -> list[str]:
    if (
        revision.startswith("-")
        or _git(root, "rev-parse", "--verify", "-q", f"{revision}^{{commit}}").returncode
    ):
        raise UsageError(
            f"--changed-since {revision}: no such revision in {root}",
            hint="in CI, fetch the history: a shallow clone knows its last commit alone",
        )
    return _names(root, "diff", "--name-only", "--no-renames", "-z", revision)


def _names(root: str, *words: str) -> list[str]:
    done = _git(root, *words)
    if done.returncode:
        raise InputError(f"git {words[0]} failed in {root}: {os.fsdecode(done.stderr).strip()}")
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def _git(folder: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False)
    except FileNotFoundError:
        raise InputError("--changed-since needs git, which is not installed") from None
