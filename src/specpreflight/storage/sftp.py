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
from paramiko.sftp import CMD_EXTENDED

from specpreflight.documents.read import SIZE_LIMIT
from specpreflight.errors import InputError
from specpreflight.storage.base import Status
from specpreflight.storage.ssh_hosts import SshSettings
from specpreflight.storage.ssh_login import PATIENCE, VerifiedSFTP, words_of

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


def connect(settings: SshSettings, *, accept_new: bool) -> SftpStorage:
    """Connect to a host.

    Raises:
        InputError: it cannot be reached, its key is not the known one, or it accepts none of ours.
    """
    return SftpStorage(VerifiedSFTP(settings, accept_new=accept_new))


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
            raise InputError(f"{name}: {words_of(error)}", hint="check the path") from None

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
                return [self._entry(directory, one) for one in listed if "/" not in one.filename]
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
            raise OSError(errno.ECONNRESET, f"the connection broke: {words_of(error)}") from None
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
