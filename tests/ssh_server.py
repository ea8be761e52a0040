"""A real OpenSSH server on the loopback interface, with keys and settings of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from specpreflight.storage import close_connections

SSHD = shutil.which("sshd") or next(
    (path for path in ("/usr/sbin/sshd", "/usr/local/sbin/sshd") if Path(path).exists()), None
)
SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server",
                "/usr/libexec/sftp-server", "/usr/lib/ssh/sftp-server")  # fmt: skip


@dataclass
class SshServer:
    """The running server; `home` is the folder whose `.ssh` the client reads."""

    port: int
    home: Path
    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def host_key(self) -> str:
        return (self.folder / "host_key.pub").read_text().rsplit(" ", 1)[0]

    def url(self, path: Path | str) -> str:
        return f"ssh://127.0.0.1:{self.port}{path}"

    def know_host(self, key: str | None = None) -> None:
        """Put a host key, the server's own if not given, into the client's known_hosts."""
        name = f"[127.0.0.1]:{self.port}"
        known = self.home / ".ssh" / "known_hosts"
        lines = known.read_text().splitlines(keepends=True) if known.exists() else []
        others = [line for line in lines if not line.startswith(name)]
        known.write_text("".join([*others, f"{name} {key or self.host_key}\n"]))

    def break_connections(self) -> None:
        """Kill the server's processes that serve connections, as a broken network would."""
        for process in _descendants(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def stop(self) -> None:
        self.break_connections()
        self.process.terminate()
        self.process.wait(10)


def start_server(home: Path, *sftp_options: str) -> SshServer:
    """Start a server that lets this user in with the key in `home/.ssh/id_ed25519`."""
    client = home / ".ssh"
    server = home / f"server-{len(list(home.glob('server-*')))}"
    server.mkdir(mode=0o700)
    client.mkdir(mode=0o700, exist_ok=True)
    for key in (server / "host_key", client / "id_ed25519"):
        if not key.exists():
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(key)],
                check=True,
            )
    shutil.copy(client / "id_ed25519.pub", server / "authorized_keys")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    sftp = next(path for path in SFTP_SERVERS if Path(path).exists())
    (server / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {server}/host_key\n"
        f"AuthorizedKeysFile {server}/authorized_keys\nPidFile none\nStrictModes no\n"
        "UsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
        f"Subsystem sftp {' '.join((sftp, *sftp_options))}\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    assert SSHD is not None
    with (server / "log").open("wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(server / "config")], stderr=log)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        assert process.poll() is None, (server / "log").read_text()
        time.sleep(0.02)
    found = SshServer(port, home, process, server)
    found.know_host()
    return found


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found: list[int] = []
    pending = list(children.get(pid, []))
    while pending:
        child = pending.pop()
        found.append(child)
        pending += children.get(child, [])
    return found


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., SshServer]]:
    """Start a server with options for sftp-server; it is stopped after the test."""
    pytest.importorskip("paramiko", reason="needs the extra `remote`")
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
