"""`env show`: what NCCL makes of the environment, where it came from, where it will be again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import running_process

from specpreflight.cli import main

STORY = (
    "NCCL_PROTO=LL",
    "NCCL_ALGO=Ring",
    "NCCL_P2P_LEVEL=SYS",
    "NCCL_MAX_NCHANNELS=16",
    "NCCL_BUFFSIZE=16777216",
    "NCCL_NTHREADS=512",
)
Run = Callable[..., "object"]


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("NCCL_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def options(*settings: str) -> list[str]:
    return [word for setting in settings for word in ("--env", setting)]


def show(run: Run, *words: str) -> dict[str, object]:
    ran = run("env", "show", "--format", "json", *words)
    assert ran.code == 0, ran.stderr
    return ran.data


def test_the_truth_of_the_issue(run: Run) -> None:
    data = show(run, "--no-env", "--nccl", "2.27.5", *options("NCCL_ALGO=tree"))
    [variable] = data["variables"]
    assert (variable["name"], variable["value"]) == ("NCCL_ALGO", "tree")
    assert variable["understood"] == "all:Tree"
    assert variable["effect"] == "used"
    assert variable["origin"]["kind"] == "flag"
    assert data["nccl"]["version"] == "2.27.5"
    assert isinstance(data["resolved"], dict)


@pytest.mark.parametrize("release", ["2.18.6", "2.23.4", "2.24.3", "2.27.5", "2.30.7"])
def test_the_storys_variables_are_fine_and_explained(run: Run, release: str) -> None:
    words = ("--no-env", "--nccl", release, *options(*STORY))
    data = show(run, *words)
    assert {one["effect"] for one in data["variables"]} == {"used"}
    assert {one["severity"] for one in data["findings"]} <= {"note"}
    text = run("env", "show", "-v", *words).stdout
    for setting in STORY:
        assert setting.partition("=")[0] in text
    assert "error" not in text
    assert "warning" not in text


@pytest.mark.parametrize(
    ("release", "setting", "understood", "effect"),
    [
        ("2.27.5", "NCCL_BUFFSIZE=16M", "16", "used"),
        ("2.27.5", "NCCL_P2P_DISABLE=true", "default", "default"),
        ("2.27.5", "NCCL_ALGO=\"Ring\"", None, "fatal"),
        ("2.23.4", "NCCL_ALGO=\"Ring\"", "all:none", "used"),
        ("2.27.5", "NCCL_ALGOS=Ring", None, "ignored"),
    ],
)  # fmt: skip
def test_values_that_are_not_what_they_look_like(
    run: Run, release: str, setting: str, understood: str | None, effect: str
) -> None:
    data = show(run, "--no-env", "--nccl", release, *options(setting))
    [variable] = data["variables"]
    assert understood is None or variable["understood"] == understood
    assert variable["effect"] == effect


def test_the_process_and_where_it_will_be_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NCCL_PROTO", "LL")
    [variable] = show(run)["variables"]
    assert variable["origin"]["kind"] == "environment"
    assert variable["survives"]["new_shell"]["answer"] == "no"
    (tmp_path / ".profile").write_text("export NCCL_PROTO=LL\n")
    [variable] = show(run)["variables"]
    assert variable["origin"]["path"].endswith(".profile")
    assert variable["survives"]["systemd_service"]["answer"] == "no"


def test_files_keep_their_lines(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text("#!/bin/sh\nexport NCCL_PROTO=LL\n")
    [variable] = show(run, "--no-env", str(tmp_path / "x.sh"))["variables"]
    assert variable["origin"]["line"] == 2


def test_dialects_of_env_files(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.env"
    path.write_text('NCCL_ALGO="Ring"\n')
    [variable] = show(run, "--no-env", "--env-file", str(path))["variables"]
    assert variable["value"] == "Ring"
    data = show(run, "--no-env", "--env-file", f"docker:{path}")
    assert data["variables"][0]["value"] == '"Ring"'
    assert "keeps the quotes" in data["notes"][0]


def test_nccl_conf_comes_last(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    conf = tmp_path / "my.conf"
    conf.write_text("NCCL_PROTO=LL\nNCCL_ALGO=Tree\n")
    monkeypatch.setenv("NCCL_CONF_FILE", str(conf))
    monkeypatch.setenv("NCCL_ALGO", "Ring")
    data = show(run, "--nccl", "2.27.5")
    values = {one["name"]: one["value"] for one in data["variables"]}
    assert (values["NCCL_ALGO"], values["NCCL_PROTO"]) == ("Ring", "LL")


@pytest.mark.parametrize(("release", "said"), [("2.27.5", True), ("2.18.6", False)])
def test_a_named_nccl_conf_that_adds_nothing_is_said(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, release: str, said: bool
) -> None:
    monkeypatch.setenv("NCCL_CONF_FILE", str(tmp_path / "none.conf"))
    notes = show(run, "--nccl", release)["notes"]
    assert any("none.conf is not here" in note for note in notes) == said


def test_what_the_engine_writes(run: Run) -> None:
    data = show(
        run, "--no-env", "--engine", "sglang@0.5.9", *options("NCCL_CUMEM_ENABLE=1")
    )  # fmt: skip
    [variable] = data["variables"]
    assert variable["effect"] in ("used", "changed-by-engine")
    assert data["engine_settings"]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")
def test_a_running_process(run: Run) -> None:
    with running_process({"NCCL_PROTO": "LL"}) as process:
        try:
            [variable] = show(run, "--pid", str(process.pid))["variables"]
        finally:
            process.kill()
    assert variable["value"] == "LL"


def test_a_containers_variables_are_not_this_shells(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NCCL_PROTO", "LL")
    path = tmp_path / "compose.yaml"
    path.write_text("services:\n  a:\n    image: x\n    environment: [NCCL_ALGO=Ring]\n")
    data = show(run, str(path))
    assert [one["name"] for one in data["variables"]] == ["NCCL_ALGO"]
    assert "do not reach it" in data["notes"][0]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["none.sh"], 4),
        (["."], 4),
        (["--pid", "0"], 2),
        (["--pid", "4000000"], 4),
        (["--env", "NCCL_ALGO"], 2),
        (["--nccl", "two"], 2),
        (["--engine", "sglang@0.0.1"], 2),
        (["--hardware", "none"], 2),
        (["--", "--tp", "8"], 2),
    ],
)
def test_bad_input_is_one_line(run: Run, words: list[str], code: int) -> None:
    ran = run("env", "show", *words)
    assert ran.code == code
    assert ran.stderr.startswith(("specpreflight: ", "Usage"))
    assert len(ran.stderr.splitlines()) <= 4
    assert ran.stdout == ""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_garbage_files_need_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.env"
    with path.open("wb") as stream:
        stream.truncate(50 << 20)
    code = (
        "import sys; from specpreflight.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally:\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    print(next(int(line.split()[1]) for line in lines if 'VmHWM' in line) // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "env", "show", "--env-file", str(path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 4
    assert "larger than 4 MiB" in done.stderr
    assert int(done.stdout) < 150


def test_json_is_ascii_and_whole(run: Run) -> None:
    ran = run("env", "show", "--no-env", "--format", "json", "--env", "NCCL_ALGO=\udcff")
    assert ran.stdout.isascii()
    json.loads(ran.stdout)


def test_no_variables(run: Run) -> None:
    assert "no NCCL variable is set" in run("env", "show", "--no-env").stdout


def test_commands_are_listed(run: Run) -> None:
    assert set(main.get_command(None, "env").list_commands(None)) == {"show", "write", "compare"}
