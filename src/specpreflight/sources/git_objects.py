"""A git repository read through its objects: no checkout, no index, no work tree is touched."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from specpreflight.errors import InputError, UsageError

_ENVIRONMENT: Final = {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}


class Commit(NamedTuple):
    """One commit: its full name, the day it was authored (ISO) and its subject."""

    sha: str
    date: str
    subject: str

    @property
    def short(self) -> str:
        """The first twelve digits of its name."""
        return self.sha[:12]


class Repository:
    """A repository, bare or with a work tree.

    Args:
        path: a folder in it.

    Raises:
        InputError: there is no git, or no repository at `path`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._git("rev-parse", "--git-dir")

    def commit(self, revision: str) -> Commit:
        """Return the commit that a revision names.

        Raises:
            UsageError: it names none.
        """
        try:
            found = self._git(
                "log", "-1", "--format=%H%x00%as%x00%s", "--end-of-options", revision, "--"
            )
        except InputError:
            raise UsageError(
                f"{self.path}: `{revision}` names no commit",
                hint="fetch it, or check the spelling",
            ) from None
        return _commit(found.rstrip("\n"))

    def commits_between(self, good: Commit, bad: Commit, below: str) -> list[Commit]:
        """Return the commits after `good` up to `bad` that touch a folder, oldest first.

        Merges are followed along their first parent: the line of the branch itself.

        Raises:
            UsageError: `bad` does not come after `good`.
        """
        try:
            self._git("merge-base", "--is-ancestor", good.sha, bad.sha)
        except InputError:
            raise UsageError(
                f"{self.path}: {good.short} is no ancestor of {bad.short}",
                hint="--good must be the older of two commits of one branch",
            ) from None
        found = self._git(
            "log", "--first-parent", "--reverse", "--format=%H%x00%as%x00%s",
            f"{good.sha}..{bad.sha}", "--", below or ".",
        )  # fmt: skip
        return [_commit(line) for line in found.splitlines()]

    def nearest_tag(self, commit: Commit) -> str | None:
        """Return the version tag that a commit is or follows, `None` without one."""
        try:
            return self._git(
                "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", commit.sha
            ).strip()
        except InputError:
            return None

    def find_files(self, commit: Commit, ending: str) -> list[str]:
        """Return the paths of a commit that end with `ending`, the shortest first."""
        names = self._git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit.sha)
        return sorted((name for name in names.split("\0") if name.endswith(ending)), key=len)

    def export(self, commit: Commit, folders: Sequence[str], suffix: str, into: Path) -> None:
        """Write the files of some folders that end with `suffix` below `into`."""
        listing = self._git(
            "ls-tree", "-r", "-z", "--full-tree", commit.sha, "--", *(folders or ["."])
        )
        wanted = []
        for entry in listing.rstrip("\0").split("\0"):
            about, _, name = entry.partition("\t")
            mode, kind, blob = (*about.split(), "", "", "")[:3]
            if kind == "blob" and mode.startswith("100") and name.endswith(suffix):
                wanted.append((blob, into / name))
        self._write(wanted)

    def _write(self, wanted: Sequence[tuple[str, Path]]) -> None:
        """Write blobs to files, read through one process."""
        reader = subprocess.Popen(
            ["git", "-C", str(self.path), "cat-file", "--batch"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **_ENVIRONMENT},
        )  # fmt: skip
        with reader:
            assert reader.stdin is not None
            assert reader.stdout is not None
            for blob, path in wanted:
                reader.stdin.write(f"{blob}\n".encode())
                reader.stdin.flush()
                head = reader.stdout.readline().split()
                if len(head) != 3:
                    raise InputError(
                        f"{self.path}: the blob {blob} is not there",
                        hint="the clone is partial; fetch the whole history",
                    )
                content = reader.stdout.read(int(head[2]))
                reader.stdout.read(1)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def _git(self, *words: str) -> str:
        command = ["git", "-C", str(self.path), *words]
        try:
            done = subprocess.run(
                command, capture_output=True, check=False, stdin=subprocess.DEVNULL,
                env={**os.environ, **_ENVIRONMENT},
            )  # fmt: skip
        except FileNotFoundError:
            raise InputError("git is not on the PATH") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise InputError(f"{self.path}: {said[0] if said else 'git ' + words[0] + ' failed'}")
        return done.stdout.decode("utf-8", "surrogateescape")


def _commit(line: str) -> Commit:
    sha, date, subject = line.split("\0", 2)
    return Commit(sha, date, subject)
