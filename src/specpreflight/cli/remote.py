"""Paths on other machines: connect before the work begins, disconnect when the command ends."""

from __future__ import annotations

from collections.abc import Iterable

import click


def reach_hosts(ctx: click.Context, paths: Iterable[str], *, accept_new: bool) -> None:
    """Connect to the hosts that paths name, so that an unknown one is refused or accepted once.

    Raises:
        UsageError: a URL cannot be understood, or a package for it is not installed.
        InputError: a host or store cannot be reached, or is not the known one.
    """
    urls = [path for path in paths if "://" in path and not path.startswith("hf://")]
    if not urls:
        return
    from specpreflight.storage import close_connections, open_storage

    ctx.call_on_close(close_connections)
    for url in urls:
        open_storage(url, accept_new=accept_new)
