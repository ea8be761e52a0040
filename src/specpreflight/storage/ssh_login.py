"""Logging in over SSH: a host's key must be known, and that of each host on the way."""

from __future__ import annotations

from typing import Any, Final

import paramiko
from fsspec.implementations.sftp import SFTPFileSystem

from specpreflight.errors import InputError
from specpreflight.storage.ssh_hosts import SshSettings, known_keys, remember

#: Seconds for which a host may not answer.
PATIENCE: Final = 20.0


class VerifiedSFTP(SFTPFileSystem):  # type: ignore[misc]  # fsspec has no types
    """fsspec's SFTP file system, connecting only to hosts whose key is known."""

    cachable = False

    def __init__(self, settings: SshSettings, *, accept_new: bool) -> None:
        self._settings = settings
        self._accept_new = accept_new
        self._clients: list[paramiko.SSHClient] = []
        super().__init__(settings.host)

    def _connect(self) -> None:
        try:
            self.client = self._log_in(self._settings)
            self.ftp = self.client.open_sftp()
        except (paramiko.SSHException, EOFError, OSError) as error:
            self.close()
            raise InputError(
                f"{self._settings.host}: answers no SFTP: {words_of(error)}",
                hint="check the Subsystem line of its sshd_config",
            ) from None
        except InputError:
            self.close()
            raise
        self.ftp.get_channel().settimeout(PATIENCE)

    def close(self) -> None:
        """End the connection, and those that it goes through."""
        while self._clients:
            self._clients.pop().close()

    def _log_in(self, settings: SshSettings) -> paramiko.SSHClient:
        """Connect to a host, through those before it, and return the client.

        Raises:
            InputError: one of them cannot be reached, is not the known one, or lets nobody in.
        """
        way = None if settings.jump is None else self._channel_to(settings, settings.jump)
        client = paramiko.SSHClient()
        self._clients.append(client)
        shown = settings.host if settings.port == 22 else f"[{settings.host}]:{settings.port}"
        for key in known_keys(settings):
            client.get_host_keys().add(shown, key.get_name(), key)
        client.set_missing_host_key_policy(_UnknownHost(settings, self._accept_new))
        try:
            client.connect(
                settings.host,
                port=settings.port,
                username=settings.user,
                key_filename=list(settings.identity_files) or None,
                allow_agent=not settings.uses_only_these,
                look_for_keys=not settings.uses_only_these,
                timeout=PATIENCE,
                banner_timeout=PATIENCE,
                auth_timeout=PATIENCE,
                sock=way,
            )
        except (paramiko.SSHException, EOFError, OSError, UnicodeError) as error:
            raise _login_problem(settings, error) from None
        return client

    def _channel_to(self, settings: SshSettings, jump: SshSettings) -> paramiko.Channel:
        """Return a channel to a host that only `jump` reaches."""
        transport = self._log_in(jump).get_transport()
        place = (settings.host, settings.port)
        try:
            return transport.open_channel("direct-tcpip", place, ("127.0.0.1", 0), timeout=PATIENCE)
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise InputError(
                f"{settings.host}: {jump.host} does not reach its port {settings.port}: "
                f"{words_of(error)}",
                hint="check that `ssh` reaches it",
            ) from None


class _UnknownHost(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]  # nor has paramiko
    """Refuse a host that is not in known_hosts, or add it there if the user said so."""

    def __init__(self, settings: SshSettings, accept_new: bool) -> None:
        self._settings = settings
        self._accept_new = accept_new

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> None:
        if self._accept_new:
            remember(self._settings, key)
            return
        raise InputError(
            f"{self._settings.host}: its {key.get_name()} key {key.fingerprint} "
            "is not in known_hosts",
            hint="compare it with the host's own, then add it with --accept-new",
        )


def _login_problem(settings: SshSettings, error: Exception) -> InputError:
    name = settings.host
    if isinstance(error, paramiko.BadHostKeyException):
        return InputError(
            f"{name}: its key {error.key.fingerprint} is not the one in known_hosts",
            hint="somebody may be in between; of a new machine, forget the old key: ssh-keygen -R",
        )
    if isinstance(error, paramiko.PasswordRequiredException):
        return InputError(
            f"{name}: the key to log in with has a passphrase", hint="add it to an agent: ssh-add"
        )
    if isinstance(error, paramiko.AuthenticationException):
        return InputError(
            f"{name}: no key of this user is accepted",
            hint="check the user name, IdentityFile in ssh_config, and `ssh-add -l`",
        )
    return InputError(
        f"{name}: no connection to port {settings.port}: {words_of(error)}",
        hint="check that `ssh` reaches it",
    )


def words_of(error: Exception) -> str:
    """Return the first line of what an error says, in lower case."""
    text: Any = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0].lower()
