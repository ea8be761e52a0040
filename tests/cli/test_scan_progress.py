"""The progress of a scan on a real pseudo-terminal: what stands there meanwhile, and at the end."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from make_tree import make_tree

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

#: The command line, with all work that takes the given seconds shown as often as it can be; where
#: the third line is asked for, the user interrupts it.
SCAN = """
import sys
from specpreflight.cli import main, scan_progress
scan_progress.AFTER, scan_progress.EVERY = float(sys.argv.pop(1)), 0.0
line, interrupted = scan_progress._line, sys.argv.pop(1) == "interrupted"
def line_or_interrupt(done, most):
    if interrupted and most and done == 3:
        raise KeyboardInterrupt
    return line(done, most)
scan_progress._line = line_or_interrupt
main()
"""
BAR = re.compile(r"\[[#.]{20}\] \d+ of at most \d+ launches")


class Terminal:
    """A pseudo-terminal: the program's end, and what came out of it."""

    def __init__(self, columns: int = 100) -> None:
        self._ours, self.end = pty.openpty()
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self._parts: list[bytes] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):  # so says Linux where the last program has closed its end
            while part := os.read(self._ours, 65536):
                self._parts.append(part)

    def read(self) -> str:
        """Return all that the program has written, once it has ended."""
        os.close(self.end)
        self._reader.join()
        os.close(self._ours)
        return b"".join(self._parts).decode()


def screen(written: str) -> list[str]:
    """Return the lines that stay on a terminal: a carriage return goes back, ESC [ K wipes."""
    lines = [""]
    column = 0
    for piece in re.findall(r"\x1b\[K|\x1b\[[0-9;]*m|\r|\n|[^\x1b\r\n]+", written):
        if piece == "\n":
            lines.append("")
        if piece in ("\r", "\n"):
            column = 0
        elif piece == "\x1b[K":
            lines[-1] = lines[-1][:column]
        elif not piece.startswith("\x1b"):
            lines[-1] = lines[-1][:column] + piece + lines[-1][column + len(piece) :]
            column += len(piece)
    return lines


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    make_tree(tmp_path / "tree", 40, 2)
    return tmp_path / "tree"


def scan(
    tree: Path, *, after: float = 0, interrupted: bool = False, env: Any = None, **streams: Any
) -> Any:
    how = (str(after), "interrupted" if interrupted else "")
    command = [sys.executable, "-c", SCAN, *how, "scan", str(tree), "--no-env"]
    environment = {**os.environ, "TERM": "xterm", "XDG_CACHE_HOME": str(tree.parent / "cache")}
    return subprocess.run(command, check=False, env={**environment, **(env or {})}, **streams)


@pytest.fixture
def plain(tree: Path) -> tuple[list[str], list[str]]:
    """What stdout and stderr say where neither is a terminal."""
    ran = scan(tree, capture_output=True, text=True)
    assert "\r" not in ran.stdout + ran.stderr
    return ran.stdout.split("\n"), ran.stderr.split("\n")


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}])
def test_it_is_shown_on_stderr_and_gone_at_the_end(
    tree: Path, plain: tuple[list[str], list[str]], env: dict[str, str]
) -> None:
    terminal = Terminal()
    ran = scan(tree, env=env, stdout=subprocess.PIPE, stderr=terminal.end, text=True)
    written = terminal.read()
    assert len(BAR.findall(written)) >= 38
    assert "found" in written
    assert screen(written) == plain[1]
    if "FORCE_COLOR" not in env:
        assert ran.stdout.split("\n") == plain[0]
        assert "\x1b[3" not in written


def test_what_is_written_to_the_same_terminal_stands_above_it(
    tree: Path, plain: tuple[list[str], list[str]]
) -> None:
    terminal = Terminal()
    scan(tree, stdout=terminal.end, stderr=terminal.end)
    written = terminal.read()
    assert BAR.search(written)
    assert sorted(screen(written)) == sorted([*plain[0][:-1], *plain[1]])
    assert not [line for line in screen(written) if BAR.search(line)]


def test_a_line_is_never_wrapped(tree: Path, plain: tuple[list[str], list[str]]) -> None:
    terminal = Terminal(columns=30)
    scan(tree, stdout=subprocess.DEVNULL, stderr=terminal.end)
    written = terminal.read()
    assert max(len(line) for line in re.findall(r"\x1b\[K([^\r\n]*)", written)) == 29
    assert screen(written) == plain[1]


@pytest.mark.parametrize(
    ("how", "streams"),
    [
        pytest.param({"after": 3600}, {}, id="short work"),
        pytest.param({"env": {"TERM": "dumb"}}, {}, id="a terminal that cannot go back"),
        pytest.param({}, {"stderr": subprocess.PIPE}, id="stderr is piped"),
    ],
)
def test_it_is_not_shown(
    tree: Path, plain: tuple[list[str], list[str]], how: Any, streams: Any
) -> None:
    terminal = Terminal()
    ran = scan(tree, **{"stdout": terminal.end, "stderr": terminal.end, **streams}, **how)
    written = terminal.read() + (ran.stderr or b"").decode()
    assert not BAR.search(written)
    assert "\x1b[K" not in written
    assert sorted(screen(written)) == sorted([*plain[0][:-1], *plain[1]])


def test_it_is_not_shown_before_a_second_has_passed() -> None:
    from specpreflight.cli import scan_progress

    assert scan_progress.AFTER >= 1


def test_an_interrupted_scan_leaves_nothing_of_it(tree: Path) -> None:
    terminal = Terminal()
    ran = scan(tree, interrupted=True, stdout=subprocess.DEVNULL, stderr=terminal.end)
    written = terminal.read()
    assert BAR.search(written)
    assert ran.returncode == 130
    assert screen(written) == ["specpreflight: interrupted", ""]
