"""Every system call of a fix fails, or the process is killed at it; the file stays whole.

A fix is run once to list its system calls. Then it is run again in a child process for each of
them: the call fails, or the process is killed before it or in the middle of a write.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fixing import FIXED, KIMI, kimi_plan

from specpreflight.errors import InputError
from specpreflight.fixes.apply import apply_plans
from specpreflight.fixes.undo import read_history, undo_last

CALLS = (
    "open", "read", "write", "close", "fsync", "fchmod", "fchown", "fstat", "stat",
    "replace", "link", "unlink", "mkdir", "listdir", "listxattr", "getxattr", "setxattr",
)  # fmt: skip

FAULTS = ("ENOSPC", "EIO", "killed before", "killed halfway")


@dataclass(frozen=True)
class Point:
    """The `number`-th system call of a fix."""

    number: int
    call: str
    target: str

    def __str__(self) -> str:
        return f"{self.number:02}-{self.call}-{self.target}"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def watched(at: Callable[[int, str, tuple[Any, ...]], Any]) -> Iterator[None]:
    """Run `at(number, name, arguments)` before each system call; it may return a replacement."""
    number = 0
    real: dict[tuple[Any, str], Any] = {}

    def watch(module: Any, name: str) -> None:
        original = real[module, name] = getattr(module, name)

        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal number
            number += 1
            replacement = at(number, name, arguments)
            if replacement is not None:
                return replacement(original, *arguments, **options)
            return original(*arguments, **options)

        setattr(module, name, call)

    for name in CALLS:
        if hasattr(os, name):
            watch(os, name)
    watch(fcntl, "flock")
    try:
        yield
    finally:
        for (module, name), original in real.items():
            setattr(module, name, original)


def list_points() -> list[Point]:
    points: list[Point] = []

    def note(number: int, name: str, arguments: tuple[Any, ...]) -> None:
        target = Path(arguments[0]).name if isinstance(arguments[0], (str, Path)) else "descriptor"
        points.append(Point(number, name, target))

    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "draft"
        directory.mkdir()
        (directory / "config.json").write_bytes(KIMI)
        plans = kimi_plan(directory)
        with watched(note):
            apply_plans(plans)
    return points


POINTS = list_points()
RENAME = next(point.number for point in POINTS if point.call == "replace")
CASES = [
    pytest.param(point, fault, id=f"{point}-{fault.replace(' ', '-')}")
    for point in POINTS
    for fault in FAULTS
    if fault != "killed halfway" or point.call == "write"
]


def inject(point: Point, fault: str) -> Callable[[int, str, tuple[Any, ...]], Any]:
    def fail(original: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if fault.startswith("E"):
            code = getattr(errno, fault)
            if point.call == "close":
                original(*arguments)
            raise OSError(code, os.strerror(code))
        if fault == "killed halfway":
            original(arguments[0], arguments[1][: len(arguments[1]) // 2])
        die()

    return lambda number, name, _: fail if (number, name) == (point.number, point.call) else None


def fix_in_child(directory: Path, point: Point, fault: str) -> tuple[bool, str]:
    """Run the fix with a fault; return whether it was killed, and the error it reported."""
    plans = kimi_plan(directory)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        message = ""
        try:
            with watched(inject(point, fault)):
                apply_plans(plans)
        except InputError as error:
            message = error.message
        except BaseException as error:
            message = f"traceback: {error!r}"
        os.write(writing, message.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        message = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status), message


def test_the_table_is_long_enough() -> None:
    assert len(POINTS) >= 20
    assert {"open", "write", "fsync", "replace", "mkdir"} <= {point.call for point in POINTS}


@pytest.mark.parametrize(("point", "fault"), CASES)
def test_the_file_is_old_or_new_and_the_next_run_works(
    point: Point, fault: str, draft: Path
) -> None:
    config = draft / "config.json"
    killed, message = fix_in_child(draft, point, fault)

    assert killed is fault.startswith("killed")
    content = config.read_bytes()
    assert content in (KIMI, FIXED)
    if killed:
        assert content == (FIXED if point.number > RENAME else KIMI)
    else:
        assert "traceback" not in message
        assert (content == KIMI) == bool(message), message
        assert not message or message.startswith(f"{config}: ")
        assert [path.name for path in draft.glob(".*.tmp")] == []

    if content == KIMI:
        apply_plans(kimi_plan(draft))
    assert config.read_bytes() == FIXED
    assert kimi_plan(draft) == ()
    assert [path.name for path in draft.glob(".*.tmp")] == []
    assert [entry.state for entry in read_history(str(draft))].count("applied") == 1
    undo_last(str(draft))
    assert config.read_bytes() == KIMI


def test_short_writes_are_continued(draft: Path) -> None:
    def few_bytes(original: Callable[..., int], descriptor: int, data: Any) -> int:
        return original(descriptor, data[:7])

    with watched(lambda number, name, _: few_bytes if name == "write" else None):
        apply_plans(kimi_plan(draft))
    assert (draft / "config.json").read_bytes() == FIXED
    assert (draft / ".specpreflight" / "0001-config.json").read_bytes() == KIMI


def test_a_file_system_without_locks_or_attributes(draft: Path) -> None:
    def not_supported(*_: Any) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    with watched(lambda number, name, _: not_supported if name in ("flock", "listxattr") else None):
        (applied,) = apply_plans(kimi_plan(draft))
    assert applied.notes == ()
    assert (draft / "config.json").read_bytes() == FIXED
