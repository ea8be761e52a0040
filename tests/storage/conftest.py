"""A loopback SSH server, and a home directory whose .ssh the client reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ssh_server import SSHD, SshServer, start_server

from specpreflight.storage import close_connections

pytest.importorskip("paramiko", reason="needs the extra `remote`")


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., SshServer]]:
    """Start a server with options for sftp-server; it is stopped after the test."""
    if SSHD is None:
        pytest.skip("needs OpenSSH's server (apt install openssh-server)")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    servers: list[SshServer] = []

    def start_one(*sftp_options: str) -> SshServer:
        servers.append(start_server(home, *sftp_options))
        return servers[-1]

    yield start_one
    close_connections()
    for server in servers:
        server.stop()


@pytest.fixture
def server(start: Callable[..., SshServer]) -> SshServer:
    """A server as OpenSSH configures it."""
    return start()
