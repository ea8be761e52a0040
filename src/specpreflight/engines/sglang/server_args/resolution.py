"""Runs the argument handling of one release on one launch."""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.order import steps
from specpreflight.engines.sglang.server_args.state import ServerArgs


def resolve_server_args(args: ServerArgs) -> None:
    """Do what the release does between parsing its command line and starting a process.

    Mutates `args`: its fields, and the events in the order in which the release meets them. The
    prediction goes on after a stop, so that all problems of a launch are found at once.
    """
    for step, source in steps(args.release):
        args.source = source
        args.attempt(step.run, fills=step.fills)
