"""A flag or a variable goes into the file that starts the engine, comments and layout kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.launch_change import LaunchChange
from specpreflight.fixes.launch_file import edit_launch
from specpreflight.models.command import Command
from specpreflight.sources.launch_command import read_launch_text

SCRIPT = """#!/usr/bin/env bash
# --tp-size 4 was too small
export NCCL_DEBUG=INFO   # noisy

python -m sglang.launch_server \\
  --model-path /models/target \\
  --tp-size 8 2>&1 | tee server.log
"""

ONE_LINE = "NCCL_DEBUG=INFO python -m sglang.launch_server --model-path m --tp-size=8\n"

COMPOSE = """services:
  sglang:
    image: lmsysorg/sglang:v0.5.9
    environment:
      NCCL_DEBUG: "INFO"  # noisy
    command:
      - python3
      - -m
      - sglang.launch_server
      - --model-path
      - /models/target
      - --tp-size
      - "8"
"""

FLOW = """services:
  sglang:
    image: lmsysorg/sglang:v0.5.9
    environment: [NCCL_DEBUG=INFO]
    command: ["python3", "-m", "sglang.launch_server", "--model-path", "m", "--tp-size", "8"]
"""

UNIT = """[Service]
Environment=NCCL_DEBUG=INFO
ExecStart=/opt/venv/bin/python -m sglang.launch_server \\
    --model-path /models/target \\
    --tp-size 8
Restart=always
"""

MANIFEST = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: sglang
spec:
  template:
    spec:
      containers:
        - name: sglang
          image: lmsysorg/sglang:v0.5.9
          command: ["python3", "-m", "sglang.launch_server"]
          args:
            - --model-path
            - /models/target
            - --tp-size
            - "8"
          env:
            - name: NCCL_DEBUG
              value: INFO
"""

DOCKER = """docker run --gpus all -e NCCL_DEBUG=INFO \\
  lmsysorg/sglang:v0.5.9 python -m sglang.launch_server \\
  --model-path m --tp-size 8
"""

FILES = {
    "launch.sh": SCRIPT,
    "one-line.sh": ONE_LINE,
    "crlf.sh": SCRIPT.replace("\n", "\r\n").replace("\\\r\n", "\\\n"),
    "compose.yaml": COMPOSE,
    "flow.yaml": FLOW,
    "sglang.service": UNIT,
    "deployment.yaml": MANIFEST,
    "docker.sh": DOCKER,
}


def edit(name: str, change: LaunchChange, text: str | None = None) -> tuple[str, Command]:
    def read(edited: str) -> Command:
        return read_launch_text(edited, name)

    edited = edit_launch(FILES[name] if text is None else text, name, change, read)
    return edited, read(edited)


def added(name: str, change: LaunchChange) -> list[str]:
    before, after = FILES[name].split("\n"), edit(name, change)[0].split("\n")
    assert [line for line in before if line not in after] == []
    return [line for line in after if line not in before]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (LaunchChange({"--tp-size": "4"}), ["--tp-size", "4"]),
        (LaunchChange({"--context-length": "131072"}), ["--context-length", "131072"]),
    ],
)
def test_the_engine_gets_the_flag(name: str, change: LaunchChange, words: list[str]) -> None:
    _, command = edit(name, change)
    argv = " ".join(command.argv).replace("=", " ").split(" ")
    assert argv[argv.index(words[0]) + 1] == words[1]
    assert argv.count(words[0]) == 1


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("variable", ["NCCL_DEBUG", "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"])
def test_the_engine_gets_the_variable(name: str, variable: str) -> None:
    _, command = edit(name, LaunchChange(environment={variable: "1"}))
    assert command.seen_by_engine()[variable].value == "1"


@pytest.mark.parametrize("name", FILES)
def test_a_bare_flag(name: str) -> None:
    _, command = edit(name, LaunchChange({"--trust-remote-code": None}))
    assert "--trust-remote-code" in command.argv


@pytest.mark.parametrize("name", FILES)
def test_a_second_time_nothing_changes(name: str) -> None:
    change = LaunchChange({"--context-length": "4096"}, {"SGLANG_ALLOW": "1"})
    once, _ = edit(name, change)
    assert edit(name, change, once)[0] == once


CONTEXT = LaunchChange({"--context-length": "131072"})
ALLOW = LaunchChange(environment={"SGLANG_ALLOW": "1"})


@pytest.mark.parametrize(
    ("name", "change", "lines"),
    [
        ("launch.sh", CONTEXT, ["  --context-length 131072 \\"]),
        ("compose.yaml", CONTEXT, ["      - --context-length", '      - "131072"']),
        ("deployment.yaml", CONTEXT, ["            - --context-length", '            - "131072"']),
        ("sglang.service", CONTEXT, ["    --context-length 131072 \\"]),
        ("sglang.service", ALLOW, ["Environment=SGLANG_ALLOW=1"]),
        ("compose.yaml", ALLOW, ['      SGLANG_ALLOW: "1"']),
        (
            "deployment.yaml",
            ALLOW,
            ["            - name: SGLANG_ALLOW", '              value: "1"'],
        ),
    ],
)
def test_the_line_looks_like_its_neighbours(
    name: str, change: LaunchChange, lines: list[str]
) -> None:
    assert added(name, change) == lines


def test_a_comment_is_not_edited() -> None:
    edited, _ = edit("launch.sh", LaunchChange({"--tp-size": "2"}))
    assert "# --tp-size 4 was too small\n" in edited
    assert "  --tp-size 2 2>&1 | tee server.log\n" in edited


def test_values_that_a_shell_must_not_see() -> None:
    config = '{"method": "eagle3", "note": "it\'s $HOME"}'
    _, command = edit("launch.sh", LaunchChange({"--speculative-config": config}))
    assert config in command.argv


@pytest.mark.parametrize(
    "text",
    [
        # the value comes from elsewhere: replacing it here would change something else as well
        'LEN="--context-length 4096"\npython -m sglang.launch_server $LEN --model-path $LEN\n',
        # no flag to go by
        "python -m sglang.launch_server\n",
    ],
)
def test_where_no_place_is_found_a_human_is_told_what_to_add(text: str) -> None:
    with pytest.raises(UsageError, match="no place was found") as caught:
        edit("launch.sh", CONTEXT, text)
    assert caught.value.hint == "add by hand: --context-length 131072"


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["flag", "variable"])
def test_the_collected_launch_files(kind: str, shared: Path) -> None:
    """Most of them take a new flag and a new variable; the others are refused, never damaged."""
    taken = refused = 0
    for path in sorted((shared / "launches").iterdir()):
        if path.is_dir() or path.name.endswith(".expect.json"):
            continue
        text = path.read_text(encoding="utf-8")
        read = reader(str(path))
        try:
            before = read(text)
        except InputError:
            continue
        flag = "--max-model-len" if before.engine == "vllm" else "--context-length"
        change = LaunchChange({flag: "131072"}) if kind == "flag" else ALLOW
        try:
            after = read(edit_launch(text, str(path), change, read))
        except UsageError:
            refused += 1
            continue
        taken += 1
        assert (before.engine, before.entry) == (after.engine, after.entry)
    assert taken > 8 * refused


def reader(name: str) -> Callable[[str], Command]:
    return lambda text: read_launch_text(text, name)
