"""A launch command as it was understood: which engine would start, with which words and variables.

This is what reading a script, a manifest or a command line gives, before anybody asks what the
engine makes of it. Text that cannot be known from the file stays in place as a marker: `${NAME}`
for a variable that nobody sets, `$(command …)` for the output of a command, `$(NAME)` for a
Kubernetes reference without a target, `<name>` for a placeholder that a human should fill in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from specpreflight.models.finding import Origin
from specpreflight.models.frozen import dataclass
from specpreflight.models.launch import Variable

#: Prefixes with which a container runtime takes a variable of the host into the container.
CONTAINER_PREFIXES = ("SINGULARITYENV_", "APPTAINERENV_")

_NAME_MARKER = re.compile(r"\$\{[A-Za-z_0-9]\w*\}")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w./ -]*>")


@dataclass(frozen=True, slots=True)
class Lost:
    """Words that the shell takes as a command of their own, so that the engine never sees them.

    A missing backslash does it, a blank after one, or a comment inside a continued command.
    """

    words: tuple[str, ...]
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One engine launch.

    Attributes:
        engine: `sglang`, `vllm`, or `None` where neither the entry point nor a flag says it.
        engine_version: the tag of the image, or `None`.
        image: the whole image name, or `None`.
        form: how the launch was given (`shell-script`, `docker-run`, `compose`, `systemd`, …).
        entry: the entry point that was found (`sglang.launch_server`, `vllm serve`,
            `image entrypoint`, …).
        argv: the engine's arguments after the entry point, as the shell, container, unit or
            manifest would pass them.
        environment: the variables that the launch itself sets for the engine's process.
        unresolved: markers in `argv`, `environment` and `image`, sorted; files that are missing.
        lost: what the shell never passes on.
        unexported: shell variables that are set where the engine starts, but not exported.
        service: the compose service, or the path of the container inside a manifest.
        interpreter: the program that runs the engine as written (`/opt/venv/bin/python`), which
            names the environment it is installed in.
        path_map: (inside, outside) directories of a container's volumes.
        directory: the working directory that the launch changes to, as written.
        path, line: where the command stands.
        command_index: its number among the engine launches of the file, from 0.
        others: the other engine launches of the file, in order.
        notes: what was assumed on the way, one line each.
        settings: flags that are given as variables, by the variable's name (`CONTEXT_LENGTH`);
            a unit or script that is not here turns them into words.
        config: the content of the YAML file that `--config` names, where it could be read; the
            keyword arguments themselves where the launch is `vllm.LLM(...)` as JSON.
    """

    engine: str | None
    entry: str
    argv: tuple[str, ...]
    form: str = "arguments"
    engine_version: str | None = None
    image: str | None = None
    environment: tuple[Variable, ...] = ()
    unresolved: tuple[str, ...] = ()
    lost: tuple[Lost, ...] = ()
    unexported: tuple[Variable, ...] = ()
    service: str | None = None
    interpreter: str | None = None
    path_map: tuple[tuple[str, str], ...] = ()
    directory: str | None = None
    path: str | None = None
    line: int | None = None
    command_index: int = 0
    others: tuple[Command, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] | None = None

    def seen_by_engine(self) -> Mapping[str, Variable]:
        """Return the variables as the engine's process sees them.

        Singularity and Apptainer hand `SINGULARITYENV_X` of the host on as `X`.
        """
        seen = {variable.name: variable for variable in self.environment}
        for variable in self.environment:
            for prefix in CONTAINER_PREFIXES:
                if variable.name.startswith(prefix):
                    inner = variable.name.removeprefix(prefix)
                    seen[inner] = replace(variable, name=inner)
        return seen

    def outside(self, path: str) -> str:
        """Return where a path inside the container lies outside it; itself where no volume fits."""
        return outside(self.path_map, path)


def outside(path_map: Sequence[tuple[str, str]], path: str) -> str:
    """Return where a path lies outside a container with these (inside, outside) volumes."""
    best = ("", "")
    for inside, host in path_map:
        inside = inside.rstrip("/")
        fits = path == inside or path.startswith(inside + "/")
        if fits and len(inside) >= len(best[0]):
            best = (inside, host.rstrip("/") or "/")
    return best[1] + path[len(best[0]) :] if best[1] else path


def find_markers(texts: Iterable[str]) -> tuple[str, ...]:
    """Return what the texts hold that is not known, sorted: variables, commands, placeholders."""
    found: set[str] = set()
    for text in texts:
        found.update(_NAME_MARKER.findall(text))
        found.update(_PLACEHOLDER.findall(text))
        found.update(_substitutions(text))
    return tuple(sorted(found))


def _substitutions(text: str) -> Iterator[str]:
    """Yield each outermost `$(…)` with its parentheses balanced."""
    start = text.find("$(")
    while start >= 0:
        depth = 0
        for at in range(start + 1, len(text)):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            if depth == 0:
                yield text[start : at + 1]
                break
        else:
            return
        start = text.find("$(", at)


def variable(
    name: str, value: str | None, path: str | None = None, line: int | None = None
) -> Variable:
    """Return a variable with the place that sets it."""
    return Variable(name, value, Origin("environment", path=path, line=line, name=name))
