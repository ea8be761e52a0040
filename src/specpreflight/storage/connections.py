"""From a URL to the storage that holds it; one connection for each host in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from specpreflight.errors import InputError, UsageError
from specpreflight.storage.base import Storage
from specpreflight.storage.ssh_hosts import SshAddress, parse_ssh_url, resolve_settings

if TYPE_CHECKING:
    from specpreflight.storage.sftp import SftpStorage

_SSH = ("ssh://", "sftp://")

_connections: dict[str, SftpStorage] = {}

#: Hosts that could not be reached, which are not waited for again.
_unreachable: dict[str, InputError] = {}


def is_remote(name: str) -> bool:
    """Return whether a name is the URL of a file elsewhere (an id on the Hub is none)."""
    return "://" in name and not name.startswith("hf://")


def open_storage(url: str, *, accept_new: bool = False) -> tuple[Storage, str]:
    """Return the storage of a URL, and the path in it.

    Args:
        url: `ssh://`, `sftp://`, or any URL that fsspec knows.
        accept_new: add a host of SSH that is not known yet to known_hosts.

    Raises:
        UsageError: the URL cannot be understood, or a package for it is not installed.
        InputError: the host or store cannot be reached, or is not the known one.
    """
    try:
        if not url.startswith(_SSH):
            from specpreflight.storage.objects import open_objects

            return open_objects(url)
        from specpreflight.storage.sftp import connect
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{url}: needs {error.name}", hint="pip install 'specpreflight[remote]'"
        ) from None
    address = parse_ssh_url(url)
    return _connected(address, connect, accept_new=accept_new), address.path


def open_host(url: str) -> SftpStorage:
    """Return the files of the host that an `ssh://` URL names.

    Raises:
        UsageError: the URL cannot be understood, or a package for it is not installed.
        InputError: the host cannot be reached, or is not the known one.
    """
    open_storage(url)
    return _connections[parse_ssh_url(url).origin]


def open_file(url: str) -> BinaryIO:
    """Return a stream of a file that an `ssh://` or `sftp://` URL names.

    Raises:
        UsageError: the URL cannot be understood, or a package for it is not installed.
        InputError: the host cannot be reached, or is not the known one.
        OSError: the file cannot be opened.
    """
    return open_host(url).open(parse_ssh_url(url).path)


def _connected(
    address: SshAddress, connect: Callable[..., SftpStorage], *, accept_new: bool
) -> SftpStorage:
    origin = address.origin
    if origin in _unreachable and not accept_new:
        raise _unreachable[origin]
    known = _connections.get(origin)
    if known is None or not known.is_alive:
        try:
            known = connect(resolve_settings(address), accept_new=accept_new)
        except InputError as error:
            _unreachable[origin] = error
            raise
        _connections[origin] = known
    return known


def join_url(url: str, name: str) -> str:
    """Return the URL of a name below a folder's URL, a chained one (`zip://a::file://b`) too."""
    first, chained, rest = url.partition("::")
    return first.rstrip("/") + "/" + name + chained + rest


def close_connections() -> None:
    """End all connections; a command does so when it ends, so that none outlives it."""
    _unreachable.clear()
    while _connections:
        _connections.popitem()[1].close()
