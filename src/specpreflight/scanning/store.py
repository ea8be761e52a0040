"""Reports of earlier scans, by what they depend on, in `$XDG_CACHE_HOME/specpreflight/scan`.

An entry is one file that is written beside its place and renamed, so that two scans at once see
whole entries only. Its name is a digest of the contents of both checkpoints, the conditions of the
launch, and this installation with its engine data: nothing ever becomes stale, it is not found any
more. What nobody has found for a month is removed. Unpickling is restricted to the classes of a
report.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import stat
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from specpreflight.conditions import Conditions
from specpreflight.models.launch import Hardware
from specpreflight.scanning.checking import Checked

if TYPE_CHECKING:
    from specpreflight.scanning.runner import JobKey

_PACKAGE: Final = Path(__file__).parents[1]

_DAY: Final = 86_400.0

#: Seconds that an entry is kept for after its last use, to the day.
_KEPT: Final = 30 * _DAY

#: The file whose time says when unused entries were last looked for.
_STAMP: Final = "pruned"

#: Variables of a shell, a terminal or a CI job, which differ from run to run; no engine reads them.
_OF_THE_SESSION: Final = re.compile(
    r"_$|(OLD)?PWD$|SHLVL$|TERM|COLUMNS$|LINES$|LS_COLORS$|DISPLAY$|HIST|SSH_|XDG_|DBUS_|WINDOWID"
    r"|VTE_|GPG_|PYTEST_|CI_|GITHUB_|GITLAB_|RUNNER_|BUILDKITE|JENKINS_"
)


class Store:
    """The kept reports for some conditions."""

    def __init__(self, folder: Path, conditions: Sequence[Conditions]) -> None:
        self._folder = folder
        self._conditions = [_digest_of(one) for one in conditions]

    def get(self, key: JobKey) -> Checked | None:
        """Return what is kept, `None` where it is not there or cannot be read."""
        try:
            data = _read_used(self._path(key))
            kept = _Unpickler(io.BytesIO(data)).load()
        except (OSError, pickle.UnpicklingError, EOFError, AttributeError, ValueError, TypeError):
            return None
        return kept if isinstance(kept, Checked) else None

    def put(self, key: JobKey, checked: Checked) -> None:
        """Keep a report; a cache that cannot be written is no failure of a scan."""
        path = self._path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as scratch:
                pickle.dump(checked, scratch, pickle.HIGHEST_PROTOCOL)
            Path(scratch.name).replace(path)

    def _path(self, key: JobKey) -> Path:
        digest = blake2b(self._conditions[key.conditions], digest_size=20)
        digest.update(repr(key[1:]).encode())
        name = digest.hexdigest()
        return self._folder / name[:2] / name[2:]


def _read_used(path: Path) -> bytes:
    """Return what an entry holds, and note that it was used; once a day will do."""
    with path.open("rb") as file:
        if not _is_recent(os.fstat(file.fileno()).st_mtime, _DAY):
            with contextlib.suppress(OSError):  # a cache that others fill may only be read
                os.utime(path)
        return file.read()


def _is_recent(moment: float, seconds: float) -> bool:
    """Return whether a time of a file is at most so many seconds ago; one to come is not."""
    return 0 <= time.time() - moment <= seconds


def prune(folder: Path) -> None:
    """Remove the entries that were not used for a month; look for them once a day at most.

    Two scans may do so at once, and others look up and keep reports meanwhile: what is gone is not
    found, and is checked again. What cannot be removed stays.
    """
    stamp = folder / _STAMP
    with contextlib.suppress(OSError):
        if stamp.exists() and _is_recent(stamp.stat().st_mtime, _DAY):
            return
        stamp.touch()
        for shelf in folder.glob("[0-9a-f][0-9a-f]"):
            for path in shelf.iterdir():
                _remove_unused(path)


def _remove_unused(path: Path) -> None:
    with contextlib.suppress(OSError):
        found = path.lstat()
        if stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime > _KEPT:
            path.unlink()


class _Unpickler(pickle.Unpickler):
    """Reads the classes of a report, and no other."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that is defined in one of the modules a report is made of."""
        if module.startswith(("specpreflight.models.", "specpreflight.scanning.checking")):
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not part of a report")


def open_store(conditions: Sequence[Conditions]) -> Store | None:
    """Return the user's store, pruned, or `None` where a launch depends on more than its key tells.

    That is an engine's source tree, NCCL as it is installed, or a file that a flag names.
    """
    for one in conditions:
        names = [*one.environment, *one.facts]
        if (
            one.engine.path is not None
            or one.hardware not in (None, Hardware())
            or any(name.upper().startswith("NCCL") for name in names)
            or any(_may_be_file(word) for word in one.words)
        ):
            return None
    base = os.environ.get("XDG_CACHE_HOME")
    cache = Path(base) if base else Path.home() / ".cache"
    folder = cache / "specpreflight" / "scan"
    prune(folder)
    return Store(folder, conditions)


def _may_be_file(word: str) -> bool:
    return os.sep in word or os.path.lexists(word.rpartition("=")[2])


def _digest_of(conditions: Conditions) -> bytes:
    environment = sorted(
        (name, variable.value, str(variable.origin))
        for name, variable in conditions.environment.items()
        if variable.origin.kind != "environment" or not _OF_THE_SESSION.match(name)
    )
    text = repr((_installation(), conditions.engine, conditions.words, environment))
    return blake2b(text.encode(), digest_size=20).digest()


@cache
def _installation() -> list[tuple[str, int, int]]:
    """Return what tells this version, and the engine data in it, from any other."""
    root = str(_PACKAGE)
    files = (f"{folder}/{name}" for folder, _, names in os.walk(root) for name in names)
    stats = ((path, os.stat(path)) for path in sorted(files) if not path.endswith(".pyc"))  # noqa: PTH116
    return [(path[len(root) :], found.st_size, found.st_mtime_ns) for path, found in stats]
