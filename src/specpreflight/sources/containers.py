"""What `docker run`, `srun` and `singularity exec` hand to the process inside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

# Options of `docker run` and `podman run` without a value (docs.docker.com, docs.podman.io); all
# others take one.
_SWITCH = re.compile(
    "detach|interactive|tty|rm|init|privileged|publish-all|read-only|no-healthcheck"
    "|oom-kill-disable|sig-proxy|disable-content-trust|help|quiet|replace|tls-verify|no-hosts"
    "|env-host|http-proxy|rootfs|read-only-tmpfs|passwd|no-hostname|unsetenv-all"
)
_SHORT_SWITCHES = "ditPq"
_SANDBOX_VALUE = re.compile(
    "-B|--bind|--env|--env-file|-H|--home|-W|--workdir|--pwd|-S|--scratch|-o|--overlay|--network"
    "|--mount|--cpus|--memory|--app|--security|--dns|--hostname"
)


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """A container: `environment` values are `None` where the host's value is passed through."""

    image: str | None
    words: tuple[str, ...]
    environment: tuple[tuple[str, str | None], ...] = ()
    env_files: tuple[str, ...] = ()
    path_map: tuple[tuple[str, str], ...] = ()
    entrypoint: tuple[str, ...] | None = None
    directory: str | None = None


def read_run(words: Sequence[str]) -> ContainerRun | None:
    """Read `docker [options] run|create|exec [options] image [command]`."""
    verb = next((at for at, word in enumerate(words) if word in ("run", "create", "exec")), None)
    if verb is None:
        return None
    environment: list[tuple[str, str | None]] = []
    env_files: list[str] = []
    path_map: list[tuple[str, str]] = []
    entrypoint: tuple[str, ...] | None = None
    directory = None
    rest = list(words[verb + 1 :])
    while rest and rest[0].startswith("-") and rest[0] != "-":
        for name, value in _option(rest):
            if name in ("e", "env"):
                key, found, text = value.partition("=")
                environment.append((key, text if found else None))
            elif name == "env-file":
                env_files.append(value)
            elif name in ("v", "volume"):
                path_map.extend(read_volume(value))
            elif name == "mount":
                path_map.extend(_read_mount(value))
            elif name == "entrypoint":
                entrypoint = (value,) if value else ()
            elif name in ("w", "workdir"):
                directory = value
    if not rest:
        return None
    image = None if words[verb] == "exec" else rest[0].removeprefix("docker://")
    return ContainerRun(
        image,
        tuple(rest[1:]),
        tuple(environment),
        tuple(env_files),
        tuple(path_map),
        entrypoint,
        directory,
    )


def _option(rest: list[str]) -> Iterator[tuple[str, str]]:
    """Take the option at the front; yield (name, value) for each letter that has a value."""
    word = rest.pop(0)
    if word.startswith("--"):
        name, found, value = word[2:].partition("=")
        if not found and not _SWITCH.fullmatch(name):
            value = rest.pop(0) if rest else ""
        yield name, value
        return
    for at, letter in enumerate(word[1:], start=1):
        if letter in _SHORT_SWITCHES:
            continue
        attached = word[at + 1 :].removeprefix("=")
        yield letter, attached or (rest.pop(0) if rest else "")
        return


def read_volume(text: str) -> Iterator[tuple[str, str]]:
    """Yield (inside, outside) of `outside:inside[:options]`; named volumes have no outside."""
    windows = re.match(r"[A-Za-z]:[\\/]", text)
    start = 2 if windows else 0
    outside, found, rest = text[start:].partition(":")
    outside = text[:start] + outside
    inside = rest.partition(":")[0]
    if found and inside.startswith("/") and re.match(r"[./~$]|[A-Za-z]:", outside):
        yield inside, outside


def _read_mount(text: str) -> Iterator[tuple[str, str]]:
    fields = dict(part.partition("=")[::2] for part in text.split(","))
    outside = fields.get("source") or fields.get("src")
    inside = fields.get("target") or fields.get("dst") or fields.get("destination")
    if outside and inside and fields.get("type", "bind") == "bind":
        yield inside, outside


def read_sandbox(
    words: Sequence[str],
) -> tuple[str | None, tuple[tuple[str, str], ...], Sequence[str]]:
    """Read what follows `singularity exec`: the image (if it names one), binds, the command."""
    path_map: list[tuple[str, str]] = []
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option, found, value = words[at].partition("=")
        if not found and _SANDBOX_VALUE.fullmatch(option):
            at += 1
            value = words[at] if at < len(words) else ""
        if option in ("-B", "--bind"):
            for bind in value.split(","):
                path_map.extend(read_volume(bind if ":" in bind else f"{bind}:{bind}"))
        at += 1
    if at >= len(words):
        return None, (), ()
    image = words[at]
    named = image.startswith("docker://")
    return image.removeprefix("docker://") if named else None, tuple(path_map), words[at + 1 :]


@dataclass(frozen=True, slots=True)
class StepOptions:
    """The options of `srun` that reach the process, and the words that are left."""

    words: tuple[str, ...]
    image: str | None = None
    path_map: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    replaces_environment: bool = False


def read_srun(words: Sequence[str]) -> StepOptions:
    """Read `srun [options] command …` (slurm.schedmd.com/srun.html, Pyxis' README)."""
    rest = list(words[1:])
    left: list[str] = []
    image = None
    path_map: list[tuple[str, str]] = []
    environment: list[tuple[str, str]] = []
    replaces = False
    while rest:
        word = rest.pop(0)
        name, found, value = word.partition("=")
        if name not in ("--container-image", "--container-mounts", "--export"):
            left.append(word)
            if not word.startswith("-") and _is_program(word):
                left.extend(rest)
                break
            continue
        if not found:
            value = rest.pop(0) if rest else ""
        if name == "--container-image":
            image = value.removeprefix("docker://")
        elif name == "--container-mounts":
            for mount in value.split(","):
                path_map.extend(read_volume(mount))
        else:
            parts = value.split(",")
            replaces = "ALL" not in parts
            environment.extend(
                (key, text) for key, is_set, text in (p.partition("=") for p in parts) if is_set
            )
    return StepOptions(tuple(left), image, tuple(path_map), tuple(environment), replaces)


def read_mpi_exports(words: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return what `mpirun -x NAME[=VALUE]` hands on."""
    options = [word for option, word in pairwise(words) if option == "-x"]
    return [
        (name, value if equals else None)
        for name, equals, value in (option.partition("=") for option in options)
    ]


def _is_program(word: str) -> bool:
    return re.search(r"(?:^|/)(\w*sh|python[\d.]*|env|sglang|vllm)$", word) is not None
