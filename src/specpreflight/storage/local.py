"""Checkpoints on the file systems of this machine."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from specpreflight.documents.read import read_bytes
from specpreflight.storage.base import Status


class LocalStorage:
    """The file system of this machine, every operation flushed to the disk."""

    why_read_only = None

    def read(self, path: str, name: str) -> bytes:
        """Return the content of a regular file."""
        return read_bytes(Path(path), name)

    def real_path(self, path: str) -> str:
        """Return the path with all links resolved."""
        return os.path.realpath(path, strict=True)

    def status(self, path: str) -> Status:
        """Return the mode of a file, its number of hard links, and whether we may write it."""
        found = os.stat(path)  # noqa: PTH116
        return Status(stat.S_IMODE(found.st_mode), found.st_nlink, os.access(path, os.W_OK))

    def create(self, path: str, data: bytes, like: str) -> tuple[str, ...]:
        """Write a new file with the mode, owner and extended attributes of the file `like`."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            notes = _copy_attributes(like, descriptor)
            self.sync(descriptor)
        finally:
            os.close(descriptor)
        return notes

    def back_up(self, path: str, backup: str, data: bytes) -> None:
        """Keep a file's content as a second name of it, or as a copy where it has others already.

        The name costs a tenth of a new file. The old bytes stay behind it when another file takes
        the first name, and so do mode, owner and attributes.
        """
        with suppress(OSError):  # a file system without hard links; else the copy tells what is up
            if os.stat(path).st_nlink == 1:  # noqa: PTH116
                os.link(path, backup)
                self.sync_file(backup)
                return
        self.remove(backup)
        self.create(backup, data, path)

    def sync(self, descriptor: int) -> None:
        """Flush an open file to the disk."""
        os.fsync(descriptor)

    def rename(self, old: str, new: str) -> tuple[str, ...]:
        """Put a file in the place of another, in one step."""
        os.replace(old, new)  # noqa: PTH105
        return ()

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens where there is none."""
        with suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108

    def make_directory(self, path: str) -> None:
        """Make a directory; nothing happens where there is one."""
        try:
            os.mkdir(path)  # noqa: PTH102
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory; none where there is no such directory."""
        try:
            return os.listdir(directory)  # noqa: PTH208
        except FileNotFoundError:
            return []

    def sync_directory(self, path: str) -> None:
        """Flush a directory's entries to the disk."""
        self.sync_file(path)

    def sync_file(self, path: str) -> None:
        """Flush a file or directory to the disk."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            self.sync(descriptor)
        finally:
            os.close(descriptor)

    def may_be_in_git(self, directory: str) -> bool:
        """Return whether a directory is in a Git repository's work tree."""
        return _is_in_git(directory)

    @contextmanager
    def lock(self, directory: str) -> Iterator[None]:
        """Hold the advisory lock of a directory against other runs of specpreflight."""
        descriptor = os.open(directory, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            if not _try_flock(descriptor):
                # NFS locks only what is open for writing, which a directory never is.
                os.close(descriptor)
                flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
                descriptor = os.open(f"{directory}/lock", flags, 0o666)
                _try_flock(descriptor)
            yield
        finally:
            with suppress(OSError):  # the lock goes with the process at the latest
                os.close(descriptor)


class UnsyncedStorage(LocalStorage):
    """The file system of this machine, flushed to the disk when the system sees fit."""

    def sync(self, descriptor: int) -> None:
        """Leave it to the system."""

    def sync_file(self, path: str) -> None:
        """Leave it to the system."""


LOCAL = LocalStorage()


@lru_cache(maxsize=4096)
def _is_in_git(directory: str) -> bool:
    if os.path.lexists(f"{directory}/.git"):
        return True
    parent = os.path.dirname(directory)  # noqa: PTH120
    return parent != directory and _is_in_git(parent)


def _try_flock(descriptor: int) -> bool:
    """Lock an open file; `False` where its file system cannot.

    Without locks there still is the comparison before the rename.

    Raises:
        BlockingIOError: another run holds the lock.
    """
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in {errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}:
            raise
        return False
    return True


#: Where Linux keeps a file's access control list.
_ACL = "system.posix_acl_access"


def _copy_attributes(like: str, descriptor: int) -> tuple[str, ...]:
    """Give an open file the owner, mode and extended attributes (ACLs among them) of another."""
    notes = []
    wanted, status = os.stat(like), os.fstat(descriptor)  # noqa: PTH116
    if (wanted.st_uid, wanted.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(descriptor, wanted.st_uid, wanted.st_gid)
        except PermissionError:
            notes.append(f"the owner changed from {wanted.st_uid}:{wanted.st_gid} to this user")
    kept = _extended_attributes(like)
    notes += [
        f"the extended attribute {name} could not be kept"
        for name in kept
        if not _copy_extended_attribute(like, descriptor, name)
    ]
    if _ACL not in kept and _ACL in _extended_attributes(descriptor):
        os.removexattr(descriptor, _ACL)  # from the directory's default; the old file had none
    os.fchmod(descriptor, stat.S_IMODE(wanted.st_mode))
    return tuple(notes)


def _extended_attributes(path: str | int) -> list[str]:
    if not hasattr(os, "listxattr"):  # macOS and Windows
        return []
    try:
        return os.listxattr(path)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []
        raise


def _copy_extended_attribute(like: str, descriptor: int, name: str) -> bool:
    try:
        os.setxattr(descriptor, name, os.getxattr(like, name))
    except OSError:
        return False
    return True
