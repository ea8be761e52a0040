"""Who to connect to, and whether to trust it: ssh URLs, ssh_config, known_hosts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from specpreflight.errors import InputError, UsageError

if TYPE_CHECKING:
    import paramiko

_CONFIG_FILES = ("~/.ssh/config", "/etc/ssh/ssh_config")
_USER_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
_SYSTEM_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
_INCLUDE = re.compile(r"\s*include(?:\s*=\s*|\s+)(.*)", re.IGNORECASE)

#: More jumps than this are a circle in ssh_config; files deeper than this OpenSSH does not read.
_MOST_JUMPS = 8
_MOST_INCLUDES = 16


@dataclass(frozen=True, slots=True)
class SshAddress:
    """A place on a host as the user wrote it; `path` without a leading `/` starts at home."""

    host: str
    path: str
    user: str | None = None
    port: int | None = None

    @property
    def origin(self) -> str:
        """The URL of the host, without a path."""
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"ssh://{user}{host}{port}"


@dataclass(frozen=True, slots=True)
class SshSettings:
    """How a host is reached, after ssh_config had its say; names of files are expanded.

    Attributes:
        uses_only_these: neither an agent nor the usual key files are tried.
        key_name: what the host is called in known_hosts.
        jump: the host that the connection goes through (`ProxyJump`).
    """

    host: str
    port: int
    user: str | None
    identity_files: tuple[str, ...]
    uses_only_these: bool
    known_hosts: tuple[str, ...]
    key_name: str
    jump: SshSettings | None = None

    @property
    def accepting_file(self) -> Path:
        """The file to which the key of a new host is added."""
        return Path(self.known_hosts[0])


def parse_ssh_url(url: str) -> SshAddress:
    """Read `ssh://[user@]host[:port]/path`, or `sftp://…`; `/~/` begins a path at home.

    Raises:
        UsageError: it is no such URL, or it holds a password.
    """
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{url}: {error}", hint="write ssh://user@host/path") from None
    if not parts.hostname:
        raise UsageError(f"{url}: names no host", hint="write ssh://user@host/path")
    if parts.password is not None:
        raise UsageError(
            f"a password stands in the URL of {parts.hostname}",
            hint="everybody on this machine can read it; use a key or an agent",
        )
    path = unquote(parts.path) or "."
    return SshAddress(parts.hostname, path.removeprefix("/~/"), parts.username, port)


def resolve_settings(address: SshAddress, jumps: tuple[str, ...] = ()) -> SshSettings:
    """Return how ssh_config says that a host is reached.

    Args:
        address: the host.
        jumps: the hosts to go through on the way, first one first; ssh_config's if not given.

    Raises:
        InputError: a configuration that cannot be read.
        UsageError: the host is behind a command, or the jumps go in a circle.
    """
    return _resolve(address, jumps, _MOST_JUMPS)


def _resolve(address: SshAddress, jumps: tuple[str, ...], most: int) -> SshSettings:
    found = _look_up(address.host)
    jumps = jumps or _jumps(found)
    if not jumps and found.get("proxycommand", "none") != "none":
        raise UsageError(
            f"{address.host}: ssh_config reaches it by ProxyCommand, which is not supported",
            hint="write ProxyJump, or mount it (sshfs)",
        )
    if jumps and not most:
        raise UsageError(
            f"{address.host}: the ProxyJump of ssh_config goes in a circle", hint="see `ssh -G`"
        )
    host = str(found.get("hostname", address.host))
    port = address.port or int(str(found.get("port", 22)))
    known_hosts = str(found.get("userknownhostsfile", "")).split() or _USER_KNOWN_HOSTS
    name = str(found.get("hostkeyalias", "")) or (host if port == 22 else f"[{host}]:{port}")
    return SshSettings(
        host=host,
        port=port,
        user=address.user or (str(found["user"]) if "user" in found else None),
        identity_files=tuple(_expand(name) for name in found.get("identityfile", ())),
        uses_only_these=found.get("identitiesonly", "no") == "yes",
        known_hosts=tuple(_expand(name) for name in (*known_hosts, *_SYSTEM_KNOWN_HOSTS)),
        key_name=name,
        jump=_resolve(_parse_jump(jumps[-1]), jumps[:-1], most - 1) if jumps else None,
    )


def _jumps(found: paramiko.SSHConfigDict) -> tuple[str, ...]:
    """Return the hosts of `ProxyJump`, first one first."""
    text = str(found.get("proxyjump", "none"))
    return () if text.lower() == "none" else tuple(text.split(","))


def _parse_jump(text: str) -> SshAddress:
    """Read `[user@]host[:port]` or `ssh://[user@]host[:port]`."""
    text = text.strip()
    return parse_ssh_url(text if "://" in text else f"ssh://{text}")


def known_keys(settings: SshSettings) -> Iterator[paramiko.PKey]:
    """Yield the keys that known_hosts files have for a host.

    Raises:
        InputError: such a file cannot be read.
    """
    import paramiko

    for name in settings.known_hosts:
        if Path(name).is_file():
            keys = paramiko.HostKeys()
            try:
                keys.load(name)
            except (OSError, paramiko.SSHException) as error:
                raise InputError(
                    f"{name}: cannot be read: {error}", hint="check its lines (ssh-keygen -F HOST)"
                ) from None
            yield from (keys.lookup(settings.key_name) or {}).values()


def remember(settings: SshSettings, key: paramiko.PKey) -> None:
    """Add the key of a new host to the user's known_hosts."""
    file = settings.accepting_file
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as known:
        known.write(f"{settings.key_name} {key.get_name()} {key.get_base64()}\n")


def _look_up(host: str) -> paramiko.SSHConfigDict:
    import paramiko

    config = paramiko.SSHConfig()
    for name in map(_expand, _CONFIG_FILES):
        if Path(name).is_file():
            try:
                config.parse(StringIO("\n".join(_lines(Path(name), _MOST_INCLUDES))))
            except (OSError, ValueError, paramiko.ConfigParseError) as error:
                raise InputError(
                    f"{name}: cannot be read: {error}", hint="check it with `ssh -G HOST`"
                ) from None
    return config.lookup(host)


def _lines(path: Path, most: int) -> Iterator[str]:
    """Yield the lines of an ssh_config with those of the files that it includes.

    `Include` is the one keyword that paramiko does not know. After it the block that it stands in
    goes on, which the lines of the other file may have ended.
    """
    block = "Host *"
    for line in path.read_text(encoding="utf-8").splitlines():
        keyword = line.replace("=", " ").split(maxsplit=1)[:1]
        if keyword and keyword[0].lower() in ("host", "match"):
            block = line
        found = _INCLUDE.match(line)
        if found is None:
            yield line
            continue
        for pattern in shlex.split(found[1]):
            folder = "/etc/ssh" if path.is_relative_to("/etc/ssh") else _expand("~/.ssh")
            places = sorted(glob(str(Path(folder, _expand(pattern)))))  # noqa: PTH207
            for place in places if most else ():
                yield from _lines(Path(place), most - 1)
        yield block


def _expand(name: str) -> str:
    return str(Path(name).expanduser())
