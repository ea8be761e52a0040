"""`run`: a real process that checks, and becomes the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ENGINE = """\
#!{python}
import json, os, signal, sys, time
if "--sleep" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(42))
    print(os.getpid(), flush=True)
    time.sleep(60)
names = ("SIGPIPE", "SIGINT", "SIGXFSZ")
print(json.dumps({{
    "argv": sys.argv[1:],
    "environment": {{k: v for k, v in os.environ.items() if k[:5] in ("NCCL_", "SGLAN")}},
    "pid": os.getpid(),
}}))
sys.exit(7)
"""

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "torch_dtype": "bfloat16",
}


class World:
    """A folder with a target, a draft, and an `sglang` that only prints what it got."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        engine = folder / "bin" / "sglang"
        engine.write_text(ENGINE.format(python=sys.executable))
        engine.chmod(0o755)
        draft = {
            **CONFIG,
            "architectures": ["LlamaForCausalLMEagle3"],
            "num_hidden_layers": 1,
            "draft_vocab_size": 32000,
        }
        for name, config in (("target", CONFIG), ("draft", draft)):
            (folder / name).mkdir()
            (folder / name / "config.json").write_text(json.dumps(config))

    def shorten_draft(self) -> None:
        path = self.folder / "draft" / "config.json"
        config = json.loads(path.read_text())
        path.write_text(json.dumps({**config, "max_position_embeddings": 2048}))

    @property
    def command(self) -> list[str]:
        return [
            *("sglang", "serve", "--model-path", "target", "--speculative-algorithm", "EAGLE3"),
            *("--speculative-draft-model-path", "draft"),
        ]

    def environment(self, **variables: str) -> dict[str, str]:
        inherited = {name: text for name, text in os.environ.items() if name[:5] != "NCCL_"}
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return {**inherited, "PATH": path, "HOME": str(self.folder), **variables}

    def words(self, *options: str, extra: tuple[str, ...] = ()) -> list[str]:
        return [
            *(sys.executable, "-m", "specpreflight", "run", "--engine", "sglang@0.5.11"),
            *(*options, "--", *self.command, *extra),
        ]

    def run(self, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*options),
            cwd=self.folder,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_exit_code_is_the_engines(world: World) -> None:
    done = world.run()
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout)["argv"] == world.command[1:]


def test_the_environment_is_the_checked_one(world: World) -> None:
    (world.folder / "x.env").write_text('NCCL_ALGO="Ring"\nNCCL_PROTO=LL\nNCCL_DEBUG=WARN\n')
    done = world.run("--env-file", "x.env", "--env", "NCCL_PROTO=LL128", NCCL_DEBUG="INFO")
    seen = json.loads(done.stdout)["environment"]
    assert seen["NCCL_ALGO"] == "Ring"
    assert seen["NCCL_PROTO"] == "LL128"
    assert seen["NCCL_DEBUG"] == "WARN"


def test_findings_keep_it_from_starting(world: World) -> None:
    world.shorten_draft()
    done = world.run()
    assert done.returncode == 1
    assert done.stdout == ""
    assert "draft-context-shorter" in done.stderr


def test_force_starts_and_says_so(world: World) -> None:
    world.shorten_draft()
    done = world.run("--force")
    assert done.returncode == 7
    assert "starting anyway (--force)" in done.stderr


def test_a_bad_value_in_an_env_file(world: World) -> None:
    (world.folder / "x.env").write_text('NCCL_ALGO="Ring"\n')
    done = world.run("--env-file", "docker:x.env", "--nccl", "2.27.5")
    assert done.returncode == 1
    assert "nccl-list-not-understood" in done.stderr
    assert "x.env:1" in done.stderr


def test_warnings_stop_it_where_asked(world: World) -> None:
    assert world.run("--env", "NCCL_NOTHING=1").returncode == 7
    assert world.run("--env", "NCCL_NOTHING=1", "--fail-on", "warning").returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no exec there")
def test_signals_reach_the_engine(world: World) -> None:
    with subprocess.Popen(
        world.words(extra=("--sleep",)),
        cwd=world.folder,
        env=world.environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 42


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_no_signal_is_left_ignored(world: World) -> None:
    engine = world.folder / "bin" / "sglang"
    engine.write_text("#!/bin/sh\nexec grep SigIgn /proc/self/status\n")
    done = world.run()
    assert int(done.stdout.split()[1], 16) & (1 << (signal.SIGPIPE - 1)) == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "no command given"),
        (["--"], 2, "no command given"),
        (["--", "no-such-program"], 4, "no such command"),
        (["--", "true"], 4, "no launch of SGLang or vLLM found"),
        (["--env-file", "none.env", "--", "true"], 4, "no such file"),
        (["--ignore", "no-such-rule", "--", "true"], 2, "no-such-rule"),
    ],
)
def test_bad_input(world: World, words: list[str], code: int, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "specpreflight", "run", *words],
        cwd=world.folder,
        env=world.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == code
    assert message in done.stderr


def test_force_starts_what_is_no_launch(world: World) -> None:
    words = [sys.executable, "-m", "specpreflight", "run", "--force", "--", "true"]
    done = subprocess.run(words, env=world.environment(), capture_output=True, text=True)
    assert done.returncode == 0
    assert "starting anyway" in done.stderr


def test_a_script_without_a_first_line(world: World) -> None:
    engine = world.folder / "bin" / "sglang"
    engine.write_text("exit 0\n")
    done = world.run()
    assert done.returncode == 4
    assert "started with: sh SCRIPT" in done.stderr
