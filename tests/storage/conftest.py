"""A loopback SSH server, and a home directory whose .ssh the client reads."""

from __future__ import annotations

from ssh_server import server, start

__all__ = ["server", "start"]
