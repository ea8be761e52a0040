"""Paths on other machines: connect before the work begins, disconnect when the command ends."""

from __future__ import annotations

from collections.abc import Iterable

import click

from specpreflight.errors import UsageError


def reach_hosts(ctx: click.Context, paths: Iterable[str], *, accept_new: bool) -> None:
    """Connect to the hosts that paths name, so that an unknown one is refused or accepted once.

    Raises:
        UsageError: a URL cannot be understood, or the extra `remote` is not installed.
        InputError: a host cannot be reached, or is not the known one.
    """
    urls = [path for path in paths if "://" in path]
    if not urls:
        return
    from specpreflight.storage import close_connections, is_remote, open_storage

    ctx.call_on_close(close_connections)
    for url in urls:
        if not is_remote(url):
            scheme = url.partition("://")[0]
            raise UsageError(f"{url}: {scheme}:// is not supported", hint="ssh:// and sftp:// are")
        open_storage(url, accept_new=accept_new)
