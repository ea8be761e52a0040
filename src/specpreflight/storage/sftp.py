"""Checkpoints on another machine, over SSH, through fsspec's SFTP file system."""

from __future__ import annotations

import errno
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from io import BufferedReader, RawIOBase
from queue import SimpleQueue
from typing import Any, BinaryIO, NamedTuple

import paramiko
from fsspec.implementations.sftp import SFTPFileSystem
from paramiko.sftp import CMD_EXTENDED

from specpreflight.documents.read import SIZE_LIMIT
from specpreflight.errors import InputError
from specpreflight.storage.base import Status
from specpreflight.storage.ssh_hosts import SshSettings, known_keys, remember

#: Seconds for which a host may not answer.
PATIENCE = 20.0

#: Bytes that a server sends for one request, and that are asked for at once.
_PIECE = 32_768
_WINDOW = 32 * _PIECE

#: Bytes of free space below which a failure to write is blamed on it.
_ROOM = 65_536

#: Seconds after which a lock file is what a broken connection left behind.
STALE = 600.0


#: How many files are read at once; OpenSSH grants ten sessions to a connection.
_CHANNELS = 6


class Entry(NamedTuple):
    """What a directory's listing says of a file: `size` in bytes, `changed` in whole seconds."""

    name: str
    is_directory: bool
    size: int
    changed: int


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
                f"{self._settings.host}: answers no SFTP: {_words(error)}",
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
        except (paramiko.SSHException, EOFError, OSError) as error:
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
                f"{_words(error)}",
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


def connect(settings: SshSettings, *, accept_new: bool) -> SftpStorage:
    """Connect to a host.

    Raises:
        InputError: it cannot be reached, its key is not the known one, or it accepts none of ours.
    """
    return SftpStorage(VerifiedSFTP(settings, accept_new=accept_new))


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
        f"{name}: no connection to port {settings.port}: {_words(error)}",
        hint="check that `ssh` reaches it",
    )


class SftpStorage:
    """The file system of another machine, as its SFTP server shows it."""

    why_read_only = None

    def __init__(self, files: VerifiedSFTP) -> None:
        self._files = files
        self._ftp: paramiko.SFTPClient = files.ftp

    @property
    def is_alive(self) -> bool:
        """Whether the connection still stands."""
        transport = self._files.client.get_transport()
        return transport is not None and transport.is_active()

    def close(self) -> None:
        """End the connection."""
        self._files.close()

    def read(self, path: str, name: str) -> bytes:
        """Return the content of a regular file of at most `SIZE_LIMIT` bytes."""
        try:
            with self._failures():
                found = self._ftp.stat(path)
                if not stat.S_ISREG(found.st_mode or 0):
                    raise InputError(f"{name}: is no regular file", hint="check the path")
                if (found.st_size or 0) > SIZE_LIMIT:
                    raise InputError(
                        f"{name}: has {found.st_size:,} bytes, more than the {SIZE_LIMIT:,} that "
                        "are read",
                        hint="it is no configuration file; check what was copied there",
                    )
                return _content(self._ftp, path, found.st_size or 0)
        except OSError as error:
            raise InputError(f"{name}: {_words(error)}", hint="check the path") from None

    def read_many(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield paths and contents of regular files, several of them under way at once.

        Raises:
            OSError: one cannot be read.
        """
        spare: SimpleQueue[paramiko.SFTPClient] = SimpleQueue()
        channels = [self._files.client.open_sftp() for _ in range(min(_CHANNELS, len(paths)))]
        for channel in channels:
            channel.get_channel().settimeout(PATIENCE)
            spare.put(channel)

        def read(path: str) -> bytes:
            channel = spare.get()
            try:
                return _content(channel, path, 0)
            finally:
                spare.put(channel)

        try:
            with self._failures(), ThreadPoolExecutor(max(1, len(channels))) as pool:
                yield from zip(paths, pool.map(read, paths), strict=True)
        finally:
            for channel in channels:
                channel.close()

    def open(self, path: str) -> BinaryIO:
        """Return a stream of a file of any size, as it is now.

        Raises:
            OSError: it cannot be opened.
        """
        with self._failures():
            file = self._ftp.open(path, "rb")
        return BufferedReader(_RemoteBytes(file, self._failures), _WINDOW)

    def read_at(self, path: str, start: int, size: int) -> bytes:
        """Return `size` bytes of a file from offset `start`, fewer where it ends before.

        Raises:
            OSError: it cannot be read.
        """
        with self._failures(), self._ftp.open(path, "rb") as file:
            end = min(start + size, file.stat().st_size or 0)
            pieces = [(at, min(_PIECE, end - at)) for at in range(start, end, _PIECE)]
            return b"".join(file.readv(pieces))

    def entries(self, directory: str) -> list[Entry]:
        """Return what is in a directory, links to files followed; nothing where there is none."""
        with self._failures():
            try:
                listed = self._ftp.listdir_attr(directory)
                return [self._entry(directory, one) for one in listed]
            except FileNotFoundError:
                return []

    def _entry(self, directory: str, found: paramiko.SFTPAttributes) -> Entry:
        name, mode = found.filename, found.st_mode or 0
        if stat.S_ISLNK(mode):
            with suppress(FileNotFoundError):  # it leads nowhere
                found = self._ftp.stat(f"{directory}/{name}")
        return Entry(name, stat.S_ISDIR(mode), found.st_size or 0, found.st_mtime or 0)

    def real_path(self, path: str) -> str:
        """Return the path with all links resolved, as the server does it."""
        with self._failures():
            self._ftp.stat(path)
            return str(self._ftp.normalize(path))

    def status(self, path: str) -> Status:
        """Return the mode of a file; SFTP tells of no more."""
        with self._failures():
            return Status(stat.S_IMODE(self._ftp.stat(path).st_mode or 0))

    def create(self, path: str, data: bytes, like: str) -> tuple[str, ...]:
        """Write a new file with the mode and owner of the file `like`."""
        notes: tuple[str, ...] = ()
        with self._failures(path):
            wanted = self._ftp.stat(like)
            with self._ftp.open(path, "wx") as file:
                file.write(data)
                file.flush()
                made = file.stat()
                if (made.st_uid, made.st_gid) != (wanted.st_uid, wanted.st_gid):
                    notes = self._give_to(file, wanted)
                file.chmod(stat.S_IMODE(wanted.st_mode or 0o644))
                self._sync(file)
            return notes

    def back_up(self, path: str, backup: str, data: bytes) -> None:
        """Keep a file's content in a new file."""
        self.create(backup, data, path)

    def rename(self, old: str, new: str) -> tuple[str, ...]:
        """Put a file in the place of another by OpenSSH's extension, else in two steps.

        A server that lacks the extension says so, one that denies it says `permission denied`.
        """
        try:
            with self._failures():
                self._ftp.posix_rename(old, new)
                return ()
        except OSError as error:
            if error.errno not in {errno.EOPNOTSUPP, errno.EACCES}:
                raise
        aside = f"{old}.old"
        with self._failures():
            self._ftp.rename(new, aside)
            try:
                self._ftp.rename(old, new)
            except OSError:
                self._ftp.rename(aside, new)
                raise
            self._ftp.remove(aside)
        return ("the server cannot replace a file in one step; it was done in two",)

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens where there is none."""
        with self._failures(), suppress(FileNotFoundError):
            self._ftp.remove(path)

    def make_directory(self, path: str) -> None:
        """Make a directory; nothing happens where there is one."""
        with self._failures(path):
            try:
                self._ftp.mkdir(path)
            except OSError:
                try:
                    found = self._ftp.lstat(path)
                except FileNotFoundError:
                    found = None
                if found is None:
                    raise
                if not stat.S_ISDIR(found.st_mode or 0):
                    raise NotADirectoryError(
                        errno.ENOTDIR, os.strerror(errno.ENOTDIR), path
                    ) from None

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory; none where there is no such directory."""
        with self._failures():
            try:
                return list(self._ftp.listdir(directory))
            except FileNotFoundError:
                return []

    def sync_directory(self, path: str) -> None:
        """Leave it to the server: SFTP has no such request."""

    def may_be_in_git(self, directory: str) -> bool:
        """Return that it may be: to ask would cost more than the file that keeps Git away."""
        return True

    @contextmanager
    def lock(self, directory: str) -> Iterator[None]:
        """Hold a lock file, since SFTP has no locks; one that a broken run left is taken over."""
        path = f"{directory}/lock"
        if not self._try_lock(path):
            if not self._is_stale(path):
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)
            self.remove(path)
            if not self._try_lock(path):
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)
        try:
            yield
        finally:
            with suppress(OSError):  # of a broken connection; it is taken over later
                self.remove(path)

    def _try_lock(self, path: str) -> bool:
        with self._failures(path):
            try:
                file = self._ftp.open(path, "wx")
            except OSError:
                if path.rpartition("/")[2] in self._ftp.listdir(path.rpartition("/")[0]):
                    return False
                raise
            try:
                with file:
                    file.write(_OWNER)
            except OSError:
                self._ftp.remove(path)
                raise
        return True

    def _is_stale(self, path: str) -> bool:
        with self._failures():
            try:
                age = time.time() - (self._ftp.stat(path).st_mtime or 0)
                with self._ftp.open(path, "rb") as file:
                    owner = bytes(file.read(200))
            except FileNotFoundError:
                return True
        return age > STALE or _is_ours_or_dead(owner)

    def _give_to(self, file: paramiko.SFTPFile, wanted: paramiko.SFTPAttributes) -> tuple[str, ...]:
        try:
            file.chown(wanted.st_uid or 0, wanted.st_gid or 0)
        except OSError:
            return (f"the owner changed from {wanted.st_uid}:{wanted.st_gid} to the ssh user",)
        return ()

    def _sync(self, file: paramiko.SFTPFile) -> None:
        """Flush a file to the server's disk, where the server has OpenSSH's extension."""
        try:
            self._ftp._request(CMD_EXTENDED, "fsync@openssh.com", file.handle)
        except OSError as error:
            if error.errno != errno.EACCES and not _is_unsupported(error):
                raise

    @contextmanager
    def _failures(self, path: str = "") -> Iterator[None]:
        """Turn what paramiko raises into `OSError` with a number, a broken connection too.

        SFTP calls most failures `Failure`; with the path of what is being written, the disk is
        asked whether it is full.
        """
        try:
            yield
        except (paramiko.SSHException, EOFError, TimeoutError, ConnectionError) as error:
            raise OSError(errno.ECONNRESET, f"the connection broke: {_words(error)}") from None
        except OSError as error:
            if error.errno is not None:
                raise
            if not self.is_alive:
                raise OSError(errno.ECONNRESET, "the connection broke") from None
            if _is_unsupported(error):
                raise OSError(errno.EOPNOTSUPP, str(error)) from None
            if path and self._is_full(path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
            raise OSError(errno.EIO, f"the server says only: {error}") from None

    def _is_full(self, path: str) -> bool:
        """Return whether the file system of a path has no room; `False` where nobody can tell."""
        directory = path.rpartition("/")[0] or "/"
        try:
            _, answer = self._ftp._request(CMD_EXTENDED, "statvfs@openssh.com", directory)
        except (OSError, paramiko.SSHException, EOFError):
            return False
        _, fragment_size, _, _, available = (answer.get_int64() for _ in range(5))
        return bool(available * fragment_size < _ROOM)


class _RemoteBytes(RawIOBase):
    """The bytes of a remote file in order; a window of requests is under way at once."""

    def __init__(
        self, file: paramiko.SFTPFile, failures: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._file = file
        self._failures = failures
        self._at = 0
        with failures():
            self._size = file.stat().st_size or 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._size)
        pieces = [(at, min(_PIECE, end - at)) for at in range(self._at, end, _PIECE)]
        filled = 0
        with self._failures():
            for data in self._file.readv(pieces):
                buffer[filled : filled + len(data)] = data
                filled += len(data)
        self._at += filled
        return filled

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


_OWNER = f"{socket.gethostname()} {os.getpid()}\n".encode()


def _content(ftp: paramiko.SFTPClient, path: str, size: int) -> bytes:
    """Return a file's bytes; `size` may be 0 for one that does not tell (those of /proc)."""
    with ftp.open(path, "rb") as file:
        if size:
            file.prefetch(size)
        return bytes(file.read())


def _is_ours_or_dead(owner: bytes) -> bool:
    """Return whether a lock's owner ran on this machine and is this process, or no more."""
    host, _, pid = owner.decode("utf-8", "replace").strip().partition(" ")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    if int(pid) == os.getpid():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _is_unsupported(error: OSError) -> bool:
    return "unsupported" in str(error).lower()


def _words(error: Exception) -> str:
    text: Any = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0].lower()
