"""From a URL to the storage that holds it; one connection for each host in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specpreflight.errors import UsageError
from specpreflight.storage.base import Storage
from specpreflight.storage.ssh_hosts import parse_ssh_url, resolve_settings

if TYPE_CHECKING:
    from specpreflight.storage.sftp import SftpStorage

_SCHEMES = ("ssh://", "sftp://")

_connections: dict[str, SftpStorage] = {}


def is_remote(name: str) -> bool:
    """Return whether a name is the URL of a file on another machine."""
    return name.startswith(_SCHEMES)


def open_storage(url: str, *, accept_new: bool = False) -> tuple[Storage, str]:
    """Return the storage of an `ssh://` or `sftp://` URL, and the path in it.

    Args:
        url: where the file is.
        accept_new: add a host that is not known yet to known_hosts.

    Raises:
        UsageError: the URL is none, or the extra `remote` is not installed.
        InputError: the host cannot be reached, or is not the known one.
    """
    address = parse_ssh_url(url)
    known = _connections.get(address.origin)
    if known is not None and known.is_alive:
        return known, address.path
    try:
        from specpreflight.storage.sftp import connect
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{url}: needs {error.name}", hint="pip install 'specpreflight[remote]'"
        ) from None
    storage = connect(resolve_settings(address), accept_new=accept_new)
    _connections[address.origin] = storage
    return storage, address.path


def close_connections() -> None:
    """End all connections; a command does so when it ends, so that none outlives it."""
    while _connections:
        _connections.popitem()[1].close()
