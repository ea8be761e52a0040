"""Which kind of file holds a launch, and who reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from specpreflight.errors import InputError
from specpreflight.models.command import variable
from specpreflight.sources import flag_files, keyword_arguments, systemd_unit, windows_batch
from specpreflight.sources.engine_config import is_flag_mapping, read_flag_mapping
from specpreflight.sources.entry_points import Entry, engine_of_flags
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.yaml_text import YamlList, YamlMap, read_yaml

#: Reads a text into a tracer, with the caller's variables and a script's arguments.
Reader = Callable[[str, Tracer, Mapping[str, str], tuple[str, ...]], None]

_IMPORT = re.compile(r"^(?:import|from) \w", re.MULTILINE)
_YAML_START = re.compile(r"(?:---|%YAML|[\w./-]+\s*:(?:\s|$)|- [\w\"'{\[-])")
_CORE_GROUPS = re.compile(
    r"(?:v1|apps/v1|batch/v1|extensions/v1beta1|leaderworkerset\.x-k8s\.io/v1)"
)
_FUNCTION = re.compile(r"^\s*(function\s+\w+|\w+\s*\(\))\s*\{", re.MULTILINE)
_SETS_VARIABLE = re.compile(r"export\s|\w+=\S*$")
_STARTS_CONTAINER = re.compile(r"(sudo\s+)?(docker|podman|nerdctl)\s")
_STATEMENT = re.compile(r"(cd|if|for|while|source|conda|set)\s")


def find_form(text: str, name: str) -> tuple[str, Reader]:
    """Return the form of a launch file and its reader.

    Raises:
        InputError: YAML or JSON that cannot be read.
    """
    suffix = name.lower().rpartition(".")[2] if "." in name else ""
    if systemd_unit.is_unit(text):
        return "systemd", systemd_unit.read_unit
    if suffix == "json" or (text.lstrip().startswith(("{", "[")) and _is_json(text)):
        return _json_form(text, name)
    if suffix in ("yaml", "yml") or (suffix not in ("sh", "bash", "py") and _looks_yaml(text)):
        return _yaml_form(text, name)
    if _IMPORT.search(text):
        from specpreflight.sources import python_launcher

        if python_launcher.is_python(text):
            return "python-launcher", python_launcher.read_python
    if suffix in ("bat", "cmd", "ps1") or windows_batch.is_batch(text):
        return "windows", windows_batch.read_batch
    if flag_files.is_flag_list(text):
        return "flags-list", flag_files.read_flag_list
    if suffix == "env" or flag_files.is_env_file(text):
        return "env-file", flag_files.read_env_file
    return _shell_form(text), read_shell


def read_shell(
    text: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
) -> None:
    """Read a shell script, or a command as somebody pasted it."""
    tracer.run_script(text, Process((), given=given), arguments)


def _shell_form(text: str) -> str:
    if re.search(r"^#SBATCH\b", text, re.MULTILINE):
        return "sbatch"
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    commands = [line for line in lines if not _SETS_VARIABLE.match(line)]
    if commands and _STARTS_CONTAINER.match(commands[0]):
        return "docker-run"
    if text.startswith("#!"):
        return "benchmark-script" if _FUNCTION.search(text) else "shell-script"
    continued = any(line.endswith("\\") or line.startswith("-") for line in commands)
    if any(map(_STATEMENT.match, commands)) or (continued and len(commands) < len(lines)):
        return "shell-script"
    return "shell-multiline" if continued else "shell-oneline"


def _looks_yaml(text: str) -> bool:
    """Say whether the first line that says something begins a YAML document."""
    lines = (line for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#")
    first = next(lines, "")
    return _YAML_START.match(first) is not None and not first.rstrip().endswith("\\")


def _yaml_form(text: str, name: str) -> tuple[str, Reader]:
    from specpreflight.sources.compose_file import is_compose, read_compose
    from specpreflight.sources.manifest import read_manifest
    from specpreflight.sources.vllm_recipe import is_vllm_recipe, read_vllm_recipe

    documents = read_yaml(text, name)
    first = next((document for document in documents if isinstance(document, YamlMap)), None)
    composed = [document for document in documents if is_compose(document)]
    if composed:

        def compose(
            _: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
        ) -> None:
            for document in composed:
                read_compose(document, tracer, given)

        return "compose", compose

    def manifest(
        _: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
    ) -> None:
        read_manifest(documents, tracer, given)

    if first is None:
        return "cmdlist-yaml", manifest
    if is_vllm_recipe(first):
        recipe = first

        def read_recipe(
            _: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
        ) -> None:
            read_vllm_recipe(recipe, tracer, given)

        return "recipe-yaml", read_recipe
    if "serveConfigV2" in text or "engine_kwargs" in text:
        return "ray", manifest
    if any(isinstance(document, YamlMap) and "apiVersion" in document for document in documents):
        core = any(
            isinstance(document, YamlMap)
            and _CORE_GROUPS.fullmatch(str(document.get("apiVersion", "")))
            for document in documents
        )
        return "kubernetes" if core else "kubernetes-custom", manifest
    if isinstance(first.get("run"), str):
        return "skypilot", _skypilot(first)
    if is_flag_mapping(first):
        return "config-yaml", _config(first)
    return _walked_form(first, text), manifest


def _walked_form(document: YamlMap, text: str) -> str:
    if re.search(r"^\s*(repository|extraArgs|modelSpec|replicaCount)\s*:", text, re.MULTILINE):
        return "helm-values"
    lists = [value for value in document.values() if isinstance(value, YamlList)]
    return "cmdlist-yaml" if len(lists) == len(document) else "recipe-yaml"


def _config(document: YamlMap) -> Reader:
    def read(_: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]) -> None:
        flags = ["--" + key for key in document]
        engine = engine_of_flags(flags) or "sglang"
        entry = {"sglang": "sglang.launch_server", "vllm": "vllm serve"}[engine]
        process = Process((), line=1)
        read_flag_mapping(document, tracer, process, f"{entry} --config FILE", engine)

    return read


def _skypilot(document: YamlMap) -> Reader:
    """Read a SkyPilot task: `run` in a shell that has `envs` exported."""

    def read(_: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]) -> None:
        environment = {}
        for section in ("envs", "secrets"):
            values = document.get(section)
            if not isinstance(values, YamlMap):
                continue
            for key in values:
                text = given.get(key, values.text(key))
                shown = f"${{{key}}}" if text is None else text
                environment[key] = variable(key, shown, tracer.path, values.lines[key])
        resources = document.get("resources")
        image = resources.get("image_id") if isinstance(resources, dict) else None
        image = image.removeprefix("docker:") if isinstance(image, str) else None
        process = Process((), environment, given, image=image)
        tracer.run_script(document["run"], process, line=document.lines["run"] + 1)

    return read


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _json_form(text: str, name: str) -> tuple[str, Reader]:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        where = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{name}{where}: not valid JSON") from None
    described = value.get("argv") if isinstance(value, dict) else value
    words = (
        [word for word in described or () if isinstance(word, str)]
        if (isinstance(described, list))
        else []
    )
    if not words:
        if keyword_arguments.is_keyword_arguments(value):
            return "keyword-arguments", keyword_arguments.reader_of(value)
        return _yaml_form(text, name)

    def read(_: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]) -> None:
        launch: dict[str, Any] = value if isinstance(value, dict) else {}
        set_ = launch.get("env") or launch.get("environment") or {}
        environment = {key: variable(key, str(text), name) for key, text in set_.items()}
        process = Process(tuple(words), environment, given, image=launch.get("image"))
        if not tracer.follow(process):
            engine = launch.get("engine") or engine_of_flags(words)
            tracer.found(Entry(engine, launch.get("entry") or "(none)", tuple(words)), process)

    return "json", read
