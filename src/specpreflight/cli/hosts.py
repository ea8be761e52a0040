"""The same check on several hosts: `--host A --host B`, or `ssh://{a,b,c}/path`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from specpreflight.cli import report_error
from specpreflight.errors import InputError, UsageError
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import Launch

if TYPE_CHECKING:
    from specpreflight.cli.check import Options

_BRACES = re.compile(r"\{([^{}/]*,[^{}/]*)\}")


def paths_on_hosts(paths: Sequence[str], hosts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the paths of one check for each host; one tuple where no host is named.

    With `hosts`, a path of this machine becomes that path of each host, a relative one below the
    ssh user's home. A URL whose host is a list in braces stands for one URL for each of them; the
    other paths are repeated.

    Raises:
        UsageError: two paths name different numbers of hosts.
    """
    if hosts:
        return [tuple(path_on_host(path, host) for path in paths) for host in hosts]
    variants = [_expand(path) for path in paths]
    counts = {len(one) for one in variants if len(one) > 1}
    if len(counts) > 1:
        raise UsageError(
            "the paths name different numbers of hosts: " + " ".join(paths),
            hint="write the same hosts in both, in the same order",
        )
    count = counts.pop() if counts else 1
    return [
        tuple(one[index] if len(one) > 1 else one[0] for one in variants) for index in range(count)
    ]


def urls_of(paths: Sequence[str], hosts: Sequence[str]) -> list[str]:
    """Return all that is to be reached for a check: the hosts, and the paths on them."""
    on_hosts = [path for one in paths_on_hosts(paths, hosts) for path in one]
    return [*(f"ssh://{host}" for host in hosts), *on_hosts]


def each_host(paths: Sequence[str]) -> tuple[str, ...]:
    """Return paths with a URL for each host of a list in braces."""
    return tuple(one for path in paths for one in _expand(path))


def load_on_hosts(options: Options) -> tuple[list[Launch], int]:
    """Read the launch on each host, and return what was read with the exit code so far.

    A host that cannot be reached is said on stderr and stops no other.

    Raises:
        UsageError: the arguments do not name a launch.
    """
    launches: list[Launch] = []
    code = 0
    hosts = options.hosts or repeat(None)
    for paths, host in zip(paths_on_hosts(options.paths, options.hosts), hosts, strict=False):
        try:
            launches += _load(options._replace(paths=paths), host)
        except InputError as error:
            report_error(error)
            code = error.exit_code
    return (with_copies(launches) if len(launches) > 1 else launches), code


def _load(options: Options, host: str | None) -> list[Launch]:
    if host is not None:
        from specpreflight.cli.host_launch import load_there

        return load_there(options, host)
    if options.pid is not None:
        from specpreflight.cli.host_launch import load_process

        return load_process(options, options.pid)
    from specpreflight.cli.loading import load_launches

    return load_launches(options)


def with_copies(launches: Sequence[Launch]) -> list[Launch]:
    """Return the launches, each knowing the copies of its checkpoints that could be read."""
    copies: Mapping[str, tuple[Checkpoint, ...]] = {
        "target": _readable(one.target for one in launches),
        "draft": _readable(one.draft for one in launches),
    }
    return [replace(one, facts={**one.facts, "copies": copies}) for one in launches]


def _readable(checkpoints: Iterable[Checkpoint | None]) -> tuple[Checkpoint, ...]:
    return tuple(one for one in checkpoints if one is not None and one.problem is None)


def path_on_host(path: str, host: str) -> str:
    """Return the URL of a path on a host; a relative one begins at the ssh user's home."""
    if "://" in path:
        return path
    return f"ssh://{host}{path}" if PurePosixPath(path).is_absolute() else f"ssh://{host}/~/{path}"


def _expand(path: str) -> list[str]:
    scheme, separator, rest = path.partition("://")
    host, slash, place = rest.partition("/")
    braces = _BRACES.search(host) if scheme in {"ssh", "sftp"} else None
    if braces is None:
        return [path]
    return [
        f"{scheme}{separator}{host[: braces.start()]}{name}{host[braces.end() :]}{slash}{place}"
        for name in braces[1].split(",")
    ]
