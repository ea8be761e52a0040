"""The command line of a running process, and where it runs (`/proc/PID`)."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from specpreflight.errors import InputError
from specpreflight.sources.process_environ import process_errors

_PROC: Final = Path("/proc")


class RunningProcess(NamedTuple):
    """A process as it was started, and its working directory."""

    words: tuple[str, ...]
    directory: Path

    @property
    def interpreter(self) -> str | None:
        """The program's file, `None` where only a name was given."""
        program = self.words[0]
        return str(self.directory / program) if "/" in program else None


def read_running_process(pid: int, proc: Path = _PROC) -> RunningProcess:
    """Return what a process was started with.

    Raises:
        InputError: there is none, it belongs to another user, or it has no command line.
    """
    folder = proc / str(pid)
    with process_errors(pid):
        data = (folder / "cmdline").read_bytes()
        directory = (folder / "cwd").resolve(strict=True)
    words = tuple(
        word.decode("utf-8", "surrogateescape") for word in data.rstrip(b"\0").split(b"\0")
    )
    if len(words) < 2:
        raise InputError(
            f"--pid {pid}: it has given itself another name",
            hint="name the process that was started (its parent), not a worker of it",
        )
    return RunningProcess(words, directory)
