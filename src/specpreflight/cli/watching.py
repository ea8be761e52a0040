"""`run --watch` and `run --wait-ready`: start a command, and read its output for what stops it.

With `--watch` the command stays in the foreground and its output is passed on; with `--wait-ready`
alone it is left running once it answers, its output in a file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final, Literal

import click

from specpreflight.cli.diagnose import show_diagnosis
from specpreflight.engines.logs.watch import Watcher
from specpreflight.errors import InputError
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.sources.health import Health
from specpreflight.sources.log_follower import follow_blocks
from specpreflight.sources.log_reader import unwrap
from specpreflight.sources.process_output import copy_on, pass_on

_End = Literal["ready", "dead", "ended", "late"]

#: Seconds in which a command that is dying may end by itself, and one that was told to.
_GRACE: Final = 5.0
_FORWARDED: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@dataclass(frozen=True, slots=True)
class Watching:
    """How a command is watched.

    Attributes:
        stays: in the foreground, until the command ends (`--watch`).
        url: the health endpoint that says when it is up, else its log does.
        timeout: seconds until it must be up, or `None`.
        log: the file for its output where it is left running.
    """

    stays: bool
    url: str | None = None
    timeout: float | None = None
    log: Path | None = None


def run_watched(program: str, words: Sequence[str], watching: Watching) -> int:
    """Start a command, watch it, and return the exit code.

    That is 1 with a diagnosis on stderr after a fatal line or when the time is over, in both cases
    with the command ended; else the command's own (128 and the signal that ended it), or 0 where it
    is left running.

    Raises:
        UsageError: the health endpoint is no URL.
        InputError: the program cannot be started, the file for its output not be written, or
            another server answers at the endpoint.
    """
    asking = _asking(watching.url)
    log = None if watching.stays else _log_file(watching.log)
    began = monotonic()
    process = _start(program, words, log)
    blocks = pass_on(process) if log is None else copy_on(follow_blocks(str(log)))
    watcher = Watcher(unwrap)
    with _forwarded_signals(process), asking as health:
        end = _wait(blocks, watcher, process, health, watching.timeout)
        seconds = monotonic() - began
        if end == "ready" and log is not None:
            click.echo(
                f"specpreflight: up after {seconds:.0f} s; process {process.pid} runs on, its "
                f"output goes to {log}",
                err=True,
            )
            process.returncode = 0  # it is left running, which is no mistake
            return 0
        if end == "ready":
            click.echo(f"specpreflight: up after {seconds:.0f} s", err=True)
            for block in blocks:
                watcher.read(block)
        else:
            _read_rest(blocks, watcher, process)
    code = _wait_for(process) if end in ("ready", "ended") else _terminate(process)
    return _report(end, watcher.diagnosis, code, seconds, str(log or "-"))


def _asking(url: str | None) -> AbstractContextManager[Health | None]:
    if url is None:
        return nullcontext()
    health = Health(url)
    if health.answers():
        raise InputError(
            f"{url} answers already, before the command was started",
            hint="end the server that listens there, or give another port",
        )
    return health


def _wait(
    blocks: Iterator[bytes],
    watcher: Watcher,
    process: subprocess.Popen[bytes],
    health: Health | None,
    timeout: float | None,
) -> _End:
    """Read until the command is up or dead, has ended, or had its time."""
    began = monotonic()
    for block in blocks:
        state = watcher.read(block)
        if state == "dead":
            return "dead"
        if health.is_up if health else state == "ready":
            return "ready"
        if not block and process.poll() is not None:
            return "ended"
        if timeout is not None and monotonic() - began > timeout:
            return "late"
    return "ended"


def _read_rest(blocks: Iterator[bytes], watcher: Watcher, process: subprocess.Popen[bytes]) -> None:
    """Read what a command still writes while it ends, for a while."""
    began = monotonic()
    for block in blocks:
        watcher.read(block)
        if (not block and process.poll() is not None) or monotonic() - began > _GRACE:
            return


def _report(end: _End, found: Diagnosis, code: int, seconds: float, log: str) -> int:
    if found.healthy is False:
        show_diagnosis(found, log, to_stderr=True)
        return 1
    if end == "late":
        click.echo(f"specpreflight: not up after {seconds:.0f} s; the command was ended", err=True)
        if found.engine is not None:
            show_diagnosis(found, log, to_stderr=True)
        return 1
    if end == "ended":
        click.echo(f"specpreflight: the command ended with {code} before it was up", err=True)
    return code


def _log_file(given: Path | None) -> Path:
    if given is None:
        descriptor, name = tempfile.mkstemp(prefix="specpreflight-", suffix=".log")
        os.close(descriptor)
        return Path(name)
    try:
        given.touch()
    except OSError as error:
        raise InputError(f"{given}: cannot be written: {(error.strerror or '').lower()}") from None
    return given


def _start(program: str, words: Sequence[str], log: Path | None) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own, its output in pipes or in a file."""
    try:
        if log is None:
            return subprocess.Popen(
                list(words),
                executable=program,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        with log.open("wb") as output:
            return subprocess.Popen(
                list(words),
                executable=program,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise InputError(f"{program}: {(error.strerror or str(error)).lower()}") from None


def _wait_for(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a command as a shell would, its children ended with it."""
    code = process.wait()
    _signal(process, signal.SIGKILL)
    return code if code >= 0 else 128 - code


def _terminate(process: subprocess.Popen[bytes]) -> int:
    """End a command and its children, gently first."""
    _signal(process, signal.SIGTERM)
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
    return _wait_for(process)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


@contextmanager
def _forwarded_signals(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass the signals that are meant for the command on to it and its children."""
    before = {
        number: signal.signal(number, lambda number, _: _signal(process, number))
        for number in _FORWARDED
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
