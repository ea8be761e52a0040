"""Paths on other machines: connect before the work begins, disconnect when the command ends."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import click

from specpreflight.errors import InputError


def reach_hosts(ctx: click.Context, paths: Iterable[str], *, accept_new: bool) -> None:
    """Connect to the hosts that paths name, so that an unknown one is refused or accepted once.

    One that cannot be reached is said when its path is read, so that it stops no other.

    Raises:
        UsageError: a URL cannot be understood, or a package for it is not installed.
    """
    urls = [path for path in paths if "://" in path and not path.startswith("hf://")]
    if not urls:
        return
    from specpreflight.storage import close_connections, open_storage

    ctx.call_on_close(close_connections)
    for url in urls:
        with suppress(InputError):
            open_storage(url, accept_new=accept_new)
