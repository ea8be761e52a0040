"""`specpreflight record` and `check --against`, as a user types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from engine_trees import write_tree
from launches import EAGLE3_FLAGS, LLAMA, LLAMA_EAGLE3, change, write_checkpoint
from release_tree import MODEL_CONFIG, release_files
from ssh_server import SshServer, server, start

from specpreflight.models.schema import lock_schema

__all__ = ["server", "start"]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
Run = Callable[..., Any]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a pair that works, to be in."""
    write_checkpoint(tmp_path / "target", change(LLAMA, max_position_embeddings=262144))
    write_checkpoint(tmp_path / "draft", change(LLAMA_EAGLE3, max_position_embeddings=262144))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(run: Run, *words: str) -> Any:
    ran = run("record", "target", "draft", "--engine", "sglang@0.5.9", "--no-env", *words)
    assert ran.code == 0, ran.stderr
    return ran


def against(run: Run, *words: str, engine: str = "sglang@0.5.9") -> Any:
    return run(
        "check", "target", "draft", "--against", "launch.lock.json", "--engine", engine,
        "--no-env", *words,
    )  # fmt: skip


def test_it_says_what_it_wrote(run: Run, here: Path) -> None:
    ran = record(run)
    assert ran.stdout == "wrote launch.lock.json: sglang 0.5.9, 3 flags, 0 variables, 2 files\n"
    data = json.loads((here / "launch.lock.json").read_text())
    assert data["format_version"] == "1"
    assert data["report"]["verdict"]["outcome"] == "starts"
    assert data["draft"]["config"]["max_position_embeddings"] == 262144
    assert list(data) == list(lock_schema()["properties"])


def test_the_file_keeps_to_its_schema(run: Run, here: Path) -> None:
    record(run, "--env", "NCCL_PROTO=LL", "--hardware", "h100", "--", *EAGLE3_FLAGS)
    published = json.loads((EXAMPLE.parents[1] / "docs" / "lock.schema.json").read_text())
    jsonschema.validate(json.loads((here / "launch.lock.json").read_text()), published)


def test_it_says_when_the_launch_does_not_work(run: Run, here: Path) -> None:
    write_checkpoint(here / "draft", LLAMA_EAGLE3)
    assert "note: by its report this launch does not work" in record(run).stdout


def test_nothing_changed(run: Run, here: Path) -> None:
    record(run)
    ran = against(run)
    assert ran.code == 0
    assert "nothing changed since launch.lock.json" in ran.stdout
    data = against(run, "--format", "json").data
    assert data["since"] == {"path": "launch.lock.json", "changes": [], "together": []}


def test_a_report_has_no_changes_unless_it_is_asked_for(run: Run, here: Path) -> None:
    assert "since" not in run("check", "target", "draft", "--no-env", "--format", "json").data


def test_every_change_is_told_with_what_comes_of_it(run: Run, here: Path) -> None:
    record(run, "--env", "NCCL_PROTO=LL", "--", *EAGLE3_FLAGS)
    write_checkpoint(here / "draft", LLAMA_EAGLE3)
    (here / "target" / "tokenizer.json").write_text("{}")
    ran = against(run, "--", *EAGLE3_FLAGS, "--context-length", "200000")
    assert ran.code == 1
    changed = ran.stdout.partition("changed since launch.lock.json\n")[2]
    lines = [line.strip() for line in changed.splitlines()]
    assert "the draft's config.json changed: max_position_embeddings 262144 → 131072" in lines
    assert "NCCL_PROTO was LL, is unset" in lines
    assert "--context-length not given → 200000" in lines
    assert "other files: target/tokenizer.json (new)" in lines
    told = "draft-context-shorter: now an error (refuses, draft-config): the draft's"
    assert lines[lines.index(told) - 1].startswith("the draft's config.json changed")
    assert max(map(len, changed.splitlines()[:-1])) <= 80


def test_another_release(run: Run, here: Path) -> None:
    write_checkpoint(here / "draft", LLAMA_EAGLE3)
    ran = run("record", "target", "draft", "--engine", "sglang@0.4.9", "--no-env")
    assert ran.code == 0
    told = " ".join(against(run).stdout.split())
    assert "engine 0.4.9 → 0.5.9" in told
    assert "this was a warning, is now an error (crashes, draft-config)" in told


def test_the_recorded_engine_is_taken_where_none_is_named(run: Run, here: Path) -> None:
    record(run)
    ran = run(
        "check", "target", "draft", "--against", "launch.lock.json", "--no-env", "--format", "json"
    )
    assert ran.data["engine"] == {
        "name": "sglang",
        "version": "0.5.9",
        "determined_by": "as recorded in launch.lock.json",
    }
    assert ran.data["since"]["changes"] == []


def test_without_a_launch_the_recorded_one_is_read_again(run: Run, here: Path) -> None:
    record(run, "--", *EAGLE3_FLAGS)
    ran = run("check", "--against", "launch.lock.json", "--no-env", "--format", "json")
    assert (ran.code, ran.data["since"]["changes"]) == (0, [])
    assert ran.data["resolved"]["num_steps"]["value"] == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        ("{", ":1: not JSON"),
        ("{}", "no recorded launch"),
        ("[]", "no recorded launch"),
        ('{"format_version": "9", "report": {}, "argv": []}', "format version '9', known is 1"),
        ('{"format_version": "1", "report": {}, "argv": []}', "/written_by: field required"),
    ],
)
def test_a_bad_lock(run: Run, here: Path, content: str | None, words: str) -> None:
    if content is not None:
        (here / "launch.lock.json").write_text(content)
    ran = against(run)
    assert ran.code == 4
    assert words in ran.stderr
    assert "launch.lock.json" in ran.stderr


def test_a_checkpoint_that_is_not_there(run: Run, here: Path) -> None:
    ran = run("record", "nowhere", "draft", "--no-env")
    assert ran.code == 4
    assert not (here / "launch.lock.json").exists()


def test_a_file_that_cannot_be_written(run: Run, here: Path) -> None:
    ran = run("record", "target", "draft", "--no-env", "--output", "no/such/folder.json")
    assert ran.code == 4
    assert "no/such/folder.json: cannot be written" in ran.stderr


def test_a_script_and_its_log_are_the_same_launch(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLE)
    script = run("record", "launch-2-steps.sh", "--engine", "sglang@0.5.9", "--output", "-").data
    ran = run("record", "launch-2-steps.log", "--output", "-")
    assert ran.code == 0
    log = ran.data
    assert log["argv"] == script["argv"]
    assert log["target"]["files"] == script["target"]["files"]
    assert log["report"]["engine"]["version"] == "0.5.9"
    variables = log["report"]["inputs"]["environment"]
    assert variables.pop("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN") == "1"
    assert variables == script["report"]["inputs"]["environment"]


def test_a_log_of_a_launch_that_died_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLE)
    ran = run("record", "launch-3-steps.log", "--output", "-")
    assert ran.code == 0
    assert "the launch of launch-3-steps.log died (L-CTX-DRAFT)" in ran.stderr


def test_a_log_without_its_command(run: Run, here: Path) -> None:
    """The flags are those that differ from the release's defaults."""
    lines = (EXAMPLE / "launch-2-steps.log").read_text().splitlines(keepends=True)
    (here / "server.log").write_text("".join(line for line in lines if not line.startswith("+")))
    argv = run("record", "server.log", "--output", "-").data["argv"]
    given = dict(pairwise(argv))
    assert given["--speculative-num-steps"] == "2"
    assert given["--speculative-algorithm"] == "EAGLE3"
    assert given["--model-path"] == "target"
    assert "--trust-remote-code" in argv
    assert "--random-seed" not in argv


# A running server

needs_proc = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="no /proc here")


@contextmanager
def sglang_server(folder: Path, *words: str, environment: dict[str, str]) -> Iterator[int]:
    """Start a process that has a server's command line; it waits to be killed."""
    package = folder / "modules" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "launch_server.py").write_text(
        "import sys\nsys.stdout.write('up\\n')\nsys.stdout.flush()\nsys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "sglang.launch_server", *words],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(folder / "modules"), **environment},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    try:
        yield process.pid
    finally:
        process.kill()
        process.communicate()


@needs_proc
def test_a_running_server(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--model-path", "target", "--speculative-draft-model-path", "draft", *EAGLE3_FLAGS)
    environment = {"NCCL_PROTO": "LL", "HF_TOKEN": "hf_planted-secret", "EDITOR": "vi"}
    (here / "elsewhere").mkdir()
    with sglang_server(here, *words, "--api-key", "planted-secret", environment=environment) as pid:
        monkeypatch.chdir(here / "elsewhere")
        ran = run("record", "--pid", str(pid), "--engine", "sglang@0.5.9", "--output", "-")
    assert ran.code == 0, ran.stderr
    assert "planted-secret" not in ran.stdout
    lock = ran.data
    assert lock["report"]["inputs"]["environment"] == {
        "HF_TOKEN": "<redacted>", "NCCL_PROTO": "LL",
    }  # fmt: skip
    assert lock["draft"]["config"]["max_position_embeddings"] == 262144
    assert lock["argv"][:2] == ["--model-path", "target"]


@needs_proc
def test_a_process_that_starts_no_engine(run: Run, here: Path) -> None:
    ran = run("record", "--pid", str(os.getpid()))
    assert ran.code == 4


def test_checkpoints_on_another_machine(run: Run, here: Path, server: SshServer) -> None:
    urls = [server.url(here / role) for role in ("target", "draft")]
    ran = run("record", *urls, "--no-env", "--output", "far.lock.json", "--engine", "sglang@0.5.9")
    assert ran.code == 0, ran.stderr
    far = json.loads((here / "far.lock.json").read_text())
    record(run)
    near = json.loads((here / "launch.lock.json").read_text())
    name = "config.json"
    assert far["draft"]["files"][name] == near["draft"]["files"][name]
    assert far["report"]["verdict"] == near["report"]["verdict"]


def test_no_such_process(run: Run, here: Path) -> None:
    ran = run("record", "--pid", str(2**22 + 1))
    assert ran.code == 4
    assert "no such process" in ran.stderr


def test_a_process_and_a_command(run: Run, here: Path) -> None:
    ran = run("record", "--pid", "1", "--", "python", "-m", "sglang.launch_server")
    assert ran.code == 2


def test_an_installed_engine(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    site = here / "venv" / "lib" / "python3.12" / "site-packages"
    write_tree(site, {**release_files("0.5.9"), "version.py": '__version__ = "0.5.9"\n'})
    (site / "torch-2.9.1.dist-info").mkdir()
    engine = f"sglang@{site}"
    assert run("record", "target", "draft", "--no-env", "--engine", engine).code == 0
    lock = json.loads((here / "launch.lock.json").read_text())
    assert lock["libraries"] == {"torch": "2.9.1"}
    assert (lock["source"]["kind"], lock["source"]["path"]) == ("tree", str(site / "sglang"))
    assert "nothing changed" in against(run, engine=engine).stdout
    with (site / "sglang" / MODEL_CONFIG).open("a") as file:
        file.write("\n")
    (site / "torch-2.9.1.dist-info").rename(site / "torch-2.10.0.dist-info")
    told = against(run, engine=engine).stdout
    assert "(the files of sglang 0.5.9 changed)" in told
    assert "libraries: torch 2.9.1 → 2.10.0" in told
