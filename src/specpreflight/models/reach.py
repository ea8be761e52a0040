"""Where a variable survives: which ways of starting a server still see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from specpreflight.models.frozen import dataclass

#: Whether a variable is there: certainly, certainly not, or it depends on what `why` says.
Answer = Literal["yes", "no", "depends"]

#: The ways of starting a server that the table answers for, in its order.
WAYS: Final = (
    "new shell",
    "ssh host command",
    "sudo",
    "systemd service",
    "container",
    "other nodes",
)


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a variable is there for one way of starting, and why."""

    answer: Answer
    why: str


def _reach(*answers: tuple[Answer, str]) -> Mapping[str, Reach]:
    return {way: Reach(*answer) for way, answer in zip(WAYS, answers, strict=True)}


def _same(times: int, answer: Answer, why: str) -> list[tuple[Answer, str]]:
    return [(answer, why)] * times


_SUDO: Final = ("no", "sudo resets the environment; sudo -E or --preserve-env=NAME keeps it")
_SERVICE: Final = ("no", "a service gets only what its unit says")
_CONTAINER: Final = ("no", "a container gets only -e, --env-file or its manifest")
_NODES: Final = ("no", "every node has an environment of its own")

#: By who set the variable: the kind of place.
REACH_OF: Final[Mapping[str, Mapping[str, Reach]]] = {
    "process": _reach(
        ("no", "it was typed or exported in this shell, or by what started it"),
        ("no", "ssh forwards nothing by itself"),
        _SUDO,
        _SERVICE,
        _CONTAINER,
        _NODES,
    ),
    "option": _reach(*_same(6, "no", "it was given to this command only")),
    "env-file": _reach(
        *_same(3, "no", "only a command that is given the file reads it"),
        ("depends", "with EnvironmentFile= in the unit"),
        ("depends", "with --env-file, or env_file in Compose"),
        ("depends", "if the file is on every node and given to each"),
    ),
    "session": _reach(
        ("yes", "PAM reads /etc/environment when a session begins"),
        ("yes", "sshd opens a PAM session"),
        ("depends", "where PAM's sudo configuration reads it, as on Debian"),
        ("no", "system services open no PAM session"),
        _CONTAINER,
        ("depends", "if the file is on every node"),
    ),
    "login": _reach(
        ("depends", "login shells only"),
        ("no", "ssh with a command starts no login shell"),
        ("depends", "sudo -i starts a login shell, of root"),
        _SERVICE,
        _CONTAINER,
        ("no", "launchers start no login shell"),
    ),
    "bash": _reach(
        ("yes", "bash reads ~/.bashrc"),
        ("yes", "bash reads ~/.bashrc when ssh starts it; it stands before the guard"),
        _SUDO,
        _SERVICE,
        _CONTAINER,
        ("depends", "if every node has the same ~/.bashrc and is started by ssh"),
    ),
    "terminal": _reach(
        ("yes", "interactive shells only"),
        ("no", "it stands behind the interactive guard"),
        _SUDO,
        _SERVICE,
        _CONTAINER,
        ("no", "it stands behind the interactive guard"),
    ),
    "script": _reach(
        *_same(3, "no", "only what the script starts gets it"),
        ("depends", "if the unit starts the script"),
        ("depends", "if the container starts the script"),
        ("depends", "if the script runs on every node"),
    ),
    "systemd": _reach(
        *_same(3, "no", "only the service gets it"),
        ("yes", "the unit sets it"),
        ("no", "unless the unit hands it on with -e"),
        ("depends", "if the unit is on every node"),
    ),
    "container": _reach(
        *_same(3, "no", "only the container gets it"),
        ("depends", "if the service starts this container"),
        ("yes", "the manifest sets it"),
        ("depends", "every replica gets it; other nodes need the same manifest"),
    ),
    "nccl.conf": _reach(
        *_same(2, "yes", "NCCL reads the file itself"),
        ("depends", "/etc/nccl.conf yes; of ~/.nccl.conf root's is read"),
        ("depends", "/etc/nccl.conf yes; ~/.nccl.conf if the service runs as this user"),
        ("no", "unless the file is mounted into the container"),
        ("depends", "if the file is on every node"),
    ),
    "running": _reach(*_same(6, "no", "it is what the process was started with")),
}


def combine(kinds: list[str]) -> Mapping[str, Reach]:
    """Return the reach of a variable that several places set alike: the best answer of each."""
    order = ("yes", "depends", "no")
    return {
        way: min(
            (REACH_OF[kind][way] for kind in kinds), key=lambda reach: order.index(reach.answer)
        )
        for way in WAYS
    }
