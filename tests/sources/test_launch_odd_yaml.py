"""Manifests and compose files whose parts have wrong types: those parts are left out."""

from __future__ import annotations

import pytest

from specpreflight.errors import InputError
from specpreflight.models.command import Command
from specpreflight.sources.launch_command import read_launch_text

COMPOSE = """
services:
  llm:
    image: lmsysorg/sglang:v0.5.9
    env_file: {env_file}
    environment: {environment}
    volumes: {volumes}
    command: python3 -m sglang.launch_server --model-path m
"""
POD = """
kind: Pod
spec:
  volumes: {volumes}
  containers:
    - image: lmsysorg/sglang:v0.5.9
      command: [python3, -m, sglang.launch_server, --model-path, m]
      envFrom: {env_from}
      env: {env}
---
kind: ConfigMap
metadata: {metadata}
data: {data}
"""
ODD = ("null", "1", "x", "[]", "{}", "[1, null, [a]]", "{a: [b]}", "2020-01-01", "[{a: {b: c}}]")


def environment(command: Command) -> dict[str, str | None]:
    return {variable.name: variable.value for variable in command.environment}


def compose(**parts: str) -> Command:
    text = COMPOSE.format(**{"env_file": "null", "environment": "null", "volumes": "null"} | parts)
    return read_launch_text(text, "compose.yaml")


def pod(**parts: str) -> Command:
    usual = {
        "volumes": "[{name: v, configMap: {name: c}}]",
        "env_from": "[{configMapRef: {name: c}}]",
        "env": "[{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]",
        "metadata": "{name: c}",
        "data": "{k: v}",
    }
    return read_launch_text(POD.format(**usual | parts), "pod.yaml")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("part", ["env_file", "environment", "volumes"])
def test_compose(part: str, odd: str) -> None:
    assert compose(**{part: odd}).argv == ("--model-path", "m")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("part", ["volumes", "env_from", "env", "metadata", "data"])
def test_manifest(part: str, odd: str) -> None:
    assert pod(**{part: odd}).argv == ("--model-path", "m")


@pytest.mark.parametrize(
    "env",
    [
        "[{name: A, valueFrom: {configMapKeyRef: {name: [c], key: k}}}]",
        "[{name: A, valueFrom: {configMapKeyRef: {name: c, key: [k]}}}]",
        "[{name: A, valueFrom: {configMapKeyRef: {name: c, key: {a: b}}}}]",
        "[{name: A, valueFrom: {configMapKeyRef: [c]}}]",
        "[{name: A, valueFrom: x}]",
    ],
)
def test_a_reference_that_names_nothing_stays_open(env: str) -> None:
    assert environment(pod(env=env, env_from="null")) == {"A": "${A}"}


@pytest.mark.parametrize("name", ["[c]", "{a: b}", "null", "d"])
def test_all_of_a_map_that_is_not_there(name: str) -> None:
    assert environment(pod(env="null", env_from=f"[{{configMapRef: {{name: {name}}}}}]")) == {}


@pytest.mark.parametrize("name", ["c", "1"])
def test_all_of_a_map(name: str) -> None:
    reference = f"[{{configMapRef: {{name: {name}}}}}]"
    command = pod(metadata=f"{{name: {name}}}", env="null", env_from=reference)
    assert environment(command) == {"k": "v"}


@pytest.mark.parametrize(
    ("scalar", "kind"),
    [
        ("2020-99-99", "timestamp"),
        ("!!timestamp x", "timestamp"),
        ("!!int x", "int"),
        ("!!float x", "float"),
        ("!!bool x", "bool"),
        ("0x_", "int"),
        pytest.param(5000 * "9", "int", id="5000 digits"),
    ],
)
@pytest.mark.parametrize("text", ["a: 1\nb: {}\n", "a: 1\n? {}\n: 1\n"], ids=["value", "key"])
def test_a_scalar_that_its_type_does_not_have(text: str, scalar: str, kind: str) -> None:
    with pytest.raises(InputError) as raised:
        read_launch_text(text.format(scalar), "x.yaml")
    message = f"x.yaml:2: not valid YAML (a value of type {kind} that is none)"
    assert raised.value.message == message


@pytest.mark.parametrize("line", ["@", "@@", "start", "call", '""', "@ start", "^"])
def test_a_batch_file_with_a_line_of_nothing(line: str) -> None:
    text = f"@echo off\n{line}\nsglang serve --model-path m\n"
    assert read_launch_text(text, "run.bat").argv == ("--model-path", "m")
