"""The environment a running process was started with (`/proc/PID/environ`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from specpreflight.errors import InputError, UsageError
from specpreflight.models.finding import Origin
from specpreflight.models.launch import Variable
from specpreflight.sources.text_file import LARGEST

_PROC: Final = Path("/proc")


def read_process_environ(pid: int, proc: Path = _PROC) -> dict[str, Variable]:
    """Return the variables of a running process, as they were when it started.

    What the process has set itself since then is not in there.

    Raises:
        InputError: there is no such process, or it belongs to another user.
        UsageError: not a number that a process can have.
    """
    if pid < 1:
        raise UsageError(f"--pid {pid}: not the number of a process")
    path = proc / str(pid) / "environ"
    with process_errors(pid), path.open("rb") as stream:
        data = stream.read(LARGEST)
    return dict(_variables(data, str(path)))


@contextmanager
def process_errors(pid: int) -> Iterator[None]:
    """Say of what fails below `/proc/PID` what it means for the process.

    Raises:
        InputError: there is no such process, or it belongs to another user.
    """
    try:
        yield
    except (FileNotFoundError, ProcessLookupError):
        raise InputError(
            f"--pid {pid}: no such process", hint="it ended, or runs on another machine"
        ) from None
    except PermissionError:
        raise InputError(
            f"--pid {pid}: the process belongs to another user", hint="run with sudo"
        ) from None
    except OSError as error:
        raise InputError(f"--pid {pid}: {(error.strerror or str(error)).lower()}") from None


def _variables(data: bytes, path: str) -> list[tuple[str, Variable]]:
    read = []
    for entry in data.split(b"\0"):
        name, equals, value = entry.decode("utf-8", "surrogateescape").partition("=")
        if equals and name:
            read.append((name, Variable(name, value, Origin("file", path=path))))
    return read
