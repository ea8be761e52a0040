"""Read a checkpoint on another machine or in a store: its config.json and the names beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from specpreflight.documents import Document, parse_document, refuse_byte_order_mark
from specpreflight.errors import InputError
from specpreflight.models.checkpoint import Checkpoint, Problem
from specpreflight.storage import join_url, open_storage

if TYPE_CHECKING:
    from specpreflight.storage.sftp import SftpStorage


def read_remote_checkpoint(role: str, url: str) -> Checkpoint:
    """Read the checkpoint of a URL (`ssh://`, `s3://`, …) of its directory or config.json.

    What is wrong with the checkpoint becomes its `problem`. Of the weights on a host the headers
    are read when a rule asks; those in a store are not.

    Raises:
        UsageError: the URL cannot be understood, or a package for it is not installed.
        InputError: the host or store cannot be reached, or is not the known one.
    """
    name = url if url.partition("::")[0].endswith(".json") else join_url(url, "config.json")
    storage, file = open_storage(name)
    try:
        config = parse_document(storage.read(file, name), name)
        refuse_byte_order_mark(config)
        files = tuple(sorted(storage.names(file.rpartition("/")[0] or ".")))
    except InputError as error:
        problem = Problem("unreadable", error.message, error.hint)
        return Checkpoint(role, url, None, Document(name, b"{}", {}), problem=problem)
    facts = {}
    if url.startswith(("ssh://", "sftp://")):
        from specpreflight.sources.host_weights import host_weight_facts

        folder = file.rpartition("/")[0] or "."
        facts = host_weight_facts(cast("SftpStorage", storage), folder)
    return Checkpoint(role, url, None, config, files, facts=facts)
