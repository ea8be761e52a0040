"""`run --watch` and `run --wait-ready`: a server process that prints real-shaped logs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from engine_logs import Sglang
from launches import LLAMA, LLAMA_EAGLE3

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups of POSIX")

#: Prints the lines of a log, answers at a port if one is given, and waits to be ended.
SERVER = """\
#!{python}
import http.server, os, signal, sys, threading

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words):
        pass

print("to stdout", flush=True)
sys.stderr.write(open(os.environ["FAKE_LOG"]).read())
sys.stderr.flush()
signal.signal(signal.SIGTERM, lambda *_: os._exit(int(os.environ.get("FAKE_CODE", "0"))))
if port := os.environ.get("FAKE_PORT"):
    threading.Thread(
        target=http.server.HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever, daemon=True
    ).start()
if os.environ.get("FAKE_ENDS"):
    sys.exit(int(os.environ["FAKE_ENDS"]))
signal.pause()
"""


class World:
    """A folder with a target, a draft, and an `sglang` that prints a log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        engine = folder / "bin" / "sglang"
        engine.write_text(SERVER.format(python=sys.executable))
        engine.chmod(0o755)
        for name, config in (("target", LLAMA), ("draft", LLAMA_EAGLE3)):
            (folder / name).mkdir()
            (folder / name / "config.json").write_text(json.dumps(config))

    def start(self, log: Sglang, *options: str, **variables: str) -> subprocess.Popen[str]:
        (self.folder / "fake.log").write_text(log.text)
        words = [
            *(sys.executable, "-m", "specpreflight", "run", "--engine", "sglang@0.5.11", "--force"),
            *(*options, "--", "sglang", "serve", "--model-path", "target"),
            *("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "draft"),
        ]
        kept = {name: text for name, text in os.environ.items() if name[:5] != "NCCL_"}
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        environment = {**kept, "PATH": path, "FAKE_LOG": str(self.folder / "fake.log"), **variables}
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, log: Sglang, *options: str, **variables: str) -> tuple[int, str, str]:
        with self.start(log, *options, **variables) as process:
            stdout, stderr = process.communicate(timeout=60)
            return process.returncode, stdout, stderr


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def dead() -> Sglang:
    log = Sglang("0.5.11").start("DW")
    return log.die("KeyError: 'lm_head.weight'", ["sglang/srt/models/llama_eagle3.py:load_weights"])


def healthy() -> Sglang:
    return Sglang("0.5.11").start("RUN").serve([2.0] * 6)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("ends", ["", "1"])
def test_a_fatal_line_ends_it(world: World, ends: str) -> None:
    code, stdout, stderr = world.run(dead(), "--watch", FAKE_ENDS=ends)
    assert code == 1
    assert stdout == "to stdout\n"
    assert "died while loading the draft's weights after" in stderr
    assert "L-W-KEY" in stderr
    assert "KeyError: 'lm_head.weight'" in stderr


def test_a_fatal_line_ends_the_waiting(world: World, free_port: str) -> None:
    url = f"http://127.0.0.1:{free_port}/health"
    code, stdout, stderr = world.run(dead(), "--wait-ready", url, "--timeout", "600")
    assert code == 1
    assert "to stdout" in stdout
    assert "L-W-KEY" in stderr


def test_the_output_is_passed_on_and_the_exit_code_is_the_commands(world: World) -> None:
    log = healthy()
    code, stdout, stderr = world.run(log, "--watch", FAKE_ENDS="7")
    assert code == 7
    assert stdout == "to stdout\n"
    assert log.text.replace("\r", "\n") in stderr
    assert "died" not in stderr


def test_a_signal_is_passed_on(world: World, free_port: str) -> None:
    url = f"http://127.0.0.1:{free_port}/health"
    options = ("--watch", "--wait-ready", url)
    with world.start(healthy(), *options, FAKE_PORT=free_port, FAKE_CODE="42") as process:
        assert process.stderr is not None
        while "up after" not in (line := process.stderr.readline()):
            assert line
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 42


def test_it_is_left_running_once_it_answers(world: World, free_port: str) -> None:
    url = f"http://127.0.0.1:{free_port}/health"
    options = ("--wait-ready", url, "--timeout", "600", "--log", "server.log")
    code, _, stderr = world.run(healthy(), *options, FAKE_PORT=free_port)
    assert code == 0
    assert "runs on, its output goes to server.log" in stderr
    pid = int(stderr.partition("process ")[2].split()[0])
    assert is_running(pid)
    os.kill(pid, signal.SIGKILL)
    assert "ready to roll" in (world.folder / "server.log").read_text()


def test_what_is_not_up_in_time_is_ended(world: World, free_port: str) -> None:
    url = f"http://127.0.0.1:{free_port}/health"
    log = Sglang("0.5.11").start("TW")
    code, _, stderr = world.run(log, "--wait-ready", url, "--timeout", "0.5")
    assert code == 1
    assert "not up after" in stderr
    assert "the log ends while loading the target's weights" in stderr


def test_a_command_that_ends_before_it_is_up(world: World, free_port: str) -> None:
    url = f"http://127.0.0.1:{free_port}/health"
    log = Sglang("0.5.11").start("TW")
    code, _, stderr = world.run(log, "--wait-ready", url, FAKE_ENDS="3")
    assert code == 3
    assert "the command ended with 3 before it was up" in stderr


def test_another_server_at_the_endpoint(world: World, free_port: str) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "http.server", free_port, "--bind", "127.0.0.1"],
        cwd=world.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with server:
        assert server.stdout is not None
        server.stdout.readline()
        code, _, stderr = world.run(healthy(), "--wait-ready", f"http://127.0.0.1:{free_port}/")
        server.terminate()
    assert code == 4
    assert "answers already" in stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--timeout", "3"), "need --watch or --wait-ready"),
        (("--wait-ready", "localhost:30000"), "is no URL of a health endpoint"),
        (("--wait-ready", "ftp://h/x"), "is no URL of a health endpoint"),
        (("--watch", "--timeout", "0"), "--timeout"),
    ],
)
def test_options_that_make_no_sense(world: World, options: tuple[str, ...], words: str) -> None:
    code, _, stderr = world.run(healthy(), *options)
    assert code == 2
    assert words in stderr


def test_a_log_file_that_cannot_be_written(world: World, free_port: str) -> None:
    url = f"http://127.0.0.1:{free_port}/health"
    code, _, stderr = world.run(healthy(), "--wait-ready", url, "--log", "no/such/folder.log")
    assert (code, "no/such/folder.log: cannot be written" in stderr) == (4, True)
