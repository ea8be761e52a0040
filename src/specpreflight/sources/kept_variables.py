"""Read variables back from the kinds of file that `env write` makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from specpreflight.models.nccl import Release
from specpreflight.sources.dotenv import read_dotenv
from specpreflight.sources.env_file import read_docker_lines
from specpreflight.sources.nccl_conf import parse_nccl_conf
from specpreflight.sources.shell import Shell
from specpreflight.sources.systemd_environment import resolve_specifiers
from specpreflight.sources.systemd_syntax import read_settings, split_words

_NEWEST: Final = Release(2, 30, 7)


def read_kept_variables(text: str, target: str, name: str) -> dict[str, str]:
    """Return what the reader of a target (see `fixes/environment_file.py`) gets from its text.

    `name` is the compose service.

    Raises:
        InputError: the text is not of that kind.
    """
    return dict(_READERS[target](text, name))


def _shell(text: str, name: str) -> Iterator[tuple[str, str]]:
    shell = Shell(lambda execution: None, lambda path: None, {})
    shell.run(text)
    for known in shell.variables.exported():
        yield known.name, known.value or ""


def _dotenv(text: str, name: str) -> Iterator[tuple[str, str]]:
    for line in read_dotenv(text, "the env file", {}):
        if line.value is not None:
            yield line.name, line.value


def _docker(text: str, name: str) -> Iterator[tuple[str, str]]:
    for line in read_docker_lines(text, "the env file", {}):
        yield line.name, line.value or ""


def _nccl_conf(text: str, name: str) -> Iterator[tuple[str, str]]:
    found: dict[str, str] = {}
    for line in parse_nccl_conf(text.encode("utf-8", "surrogateescape"), _NEWEST):
        found.setdefault(line.name, line.value or "")
    yield from found.items()


def _systemd(text: str, name: str) -> Iterator[tuple[str, str]]:
    for setting in read_settings(text):
        if setting.section == "Service" and setting.name == "Environment":
            for word in split_words(setting.value).words:
                key, _, value = word.partition("=")
                yield key, resolve_specifiers(value, name)


def _compose(text: str, name: str) -> Iterator[tuple[str, str]]:
    from specpreflight.sources.yaml_text import read_yaml

    [document] = read_yaml(text, "the compose file")
    environment = document["services"][name].get("environment") or {}
    pairs = environment.items() if isinstance(environment, Mapping) else _pairs(environment)
    for key, value in pairs:
        yield str(key), str(value).replace("$$", "$")


def _pairs(items: list[object]) -> Iterator[tuple[str, str]]:
    for item in items:
        key, _, value = str(item).partition("=")
        yield key, value


def _kubernetes(text: str, name: str) -> Iterator[tuple[str, str]]:
    from specpreflight.sources.yaml_text import read_yaml

    for document in read_yaml(text, "the manifest"):
        yield from _of_manifest(document)


def _of_manifest(node: object) -> Iterator[tuple[str, str]]:
    """Yield a ConfigMap's data, and the `env:` lists of containers anywhere below."""
    if isinstance(node, list):
        for item in node:
            yield from _of_manifest(item)
    if not isinstance(node, Mapping):
        return
    if node.get("kind") == "ConfigMap" and isinstance(node.get("data"), Mapping):
        yield from ((str(key), str(value)) for key, value in node["data"].items())
    for key, value in node.items():
        if key == "env" and isinstance(value, list):
            for entry in value:
                if isinstance(entry, Mapping) and "value" in entry:
                    yield str(entry["name"]), str(entry["value"]).replace("$$(", "$(")
        else:
            yield from _of_manifest(value)


_READERS: Final[Mapping[str, Callable[[str, str], Iterator[tuple[str, str]]]]] = {
    "shell": _shell,
    "dotenv": _dotenv,
    "docker": _docker,
    "nccl.conf": _nccl_conf,
    "systemd": _systemd,
    "compose": _compose,
    "kubernetes": _kubernetes,
}
