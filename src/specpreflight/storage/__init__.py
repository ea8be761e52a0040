"""The places that checkpoints live in, and the few file operations that a fix is made of."""

from specpreflight.storage.base import Status, Storage
from specpreflight.storage.connections import (
    close_connections,
    is_remote,
    join_url,
    open_storage,
)
from specpreflight.storage.local import LOCAL, LocalStorage, UnsyncedStorage

__all__ = [
    "LOCAL",
    "LocalStorage",
    "Status",
    "Storage",
    "UnsyncedStorage",
    "close_connections",
    "is_remote",
    "join_url",
    "open_storage",
]
