"""Read a checkpoint on another machine: its config.json and the names beside it."""

from __future__ import annotations

from specpreflight.documents import Document, parse_document
from specpreflight.errors import InputError
from specpreflight.models.checkpoint import Checkpoint, Problem
from specpreflight.storage import open_storage


def read_remote_checkpoint(role: str, url: str) -> Checkpoint:
    """Read the checkpoint of an `ssh://` or `sftp://` URL of its directory or config.json.

    What is wrong with the checkpoint becomes its `problem`; its weights are not read.

    Raises:
        UsageError: the URL cannot be understood.
        InputError: the host cannot be reached, or is not the known one.
    """
    storage, path = open_storage(url)
    is_file = path.endswith(".json")
    name = url if is_file else f"{url.rstrip('/')}/config.json"
    file = path if is_file else f"{path.rstrip('/')}/config.json"
    try:
        config = parse_document(storage.read(file, name), name)
        files = tuple(sorted(storage.names(file.rpartition("/")[0] or ".")))
    except InputError as error:
        problem = Problem("unreadable", error.message, error.hint)
        return Checkpoint(role, url, None, Document(name, b"{}", {}), problem=problem)
    return Checkpoint(role, url, None, config, files)
