"""The options of `scan` that say what is fixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def fix_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is fixed."""
    for option in reversed(
        (
            click.option("--diff", "action", flag_value="diff", help="Show what --fix would do."),
            click.option("--fix", "action", flag_value="fix", help="Write the safe edits."),
            click.option("--unsafe-fixes", "unsafe", is_flag=True, help="The unsafe edits too."),
            click.option("--select-fix", "select", multiple=True, metavar="RULE"),
            click.option("--no-fsync", is_flag=True, help="With --fix: do not wait for the disk."),
        )
    ):
        command = option(command)
    return command
