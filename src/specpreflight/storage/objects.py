"""Checkpoints behind any other fsspec URL: read; written only where a write can be conditional."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import fsspec

from specpreflight.documents.read import SIZE_LIMIT
from specpreflight.errors import InputError, UsageError
from specpreflight.storage.base import Status

_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs"}


def open_objects(url: str) -> tuple[ObjectStorage, str]:
    """Return the storage of a URL that fsspec knows, and the path in it.

    Raises:
        UsageError: fsspec does not know the scheme, or lacks a package for it.
        InputError: the storage cannot be opened.
    """
    scheme = url.partition("://")[0]
    try:
        files, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except ImportError:
        package = _PACKAGES.get(scheme, f"the package that fsspec wants for {scheme}://")
        raise UsageError(f"{url}: needs {package}", hint=f"pip install {package}") from None
    except ValueError as error:
        raise UsageError(f"{url}: {_words(error)}", hint="ssh:// and s3:// are supported") from None
    except Exception as error:  # each of fsspec's back ends has errors of its own
        raise InputError(f"{url}: {_words(error)}", hint="check the address") from None
    return (S3Storage if scheme in {"s3", "s3a"} else ObjectStorage)(scheme, files), path


class ObjectStorage:
    """A storage that is only read: it promises no write that would be safe beside another's."""

    def __init__(self, scheme: str, files: Any) -> None:
        self._scheme = scheme
        self._files = files

    @property
    def why_read_only(self) -> str | None:
        """Why no fix is written here."""
        return f"{self._scheme}:// has no write that is safe beside another's"

    def read(self, path: str, name: str) -> bytes:
        """Return the content of an object of at most `SIZE_LIMIT` bytes."""
        try:
            return self._read(path, name)
        except InputError:
            raise
        except FileNotFoundError:
            raise InputError(f"{name}: no such file", hint="check the path") from None
        except Exception as error:  # each of fsspec's back ends has errors of its own
            raise InputError(
                f"{name}: {_words(error)}", hint="check the address, the network, the credentials"
            ) from None

    def _read(self, path: str, name: str) -> bytes:
        found = self._files.info(path)
        if found["type"] != "file":
            raise InputError(f"{name}: is no file", hint="check the path")
        if (found["size"] or 0) > SIZE_LIMIT:
            raise InputError(
                f"{name}: has {found['size']:,} bytes, more than the {SIZE_LIMIT:,} that are read",
                hint="it is no configuration file; check what was copied there",
            )
        return bytes(self._files.cat_file(path))

    def real_path(self, path: str) -> str:
        """Return the path: there are no links."""
        return path

    def status(self, path: str) -> Status:
        """Return that nothing is known of an object but that it is there."""
        return Status(0o644)

    def names(self, directory: str) -> list[str]:
        """Return the names below a prefix; none where there is no such prefix."""
        try:
            found = self._files.ls(directory, detail=False)
        except FileNotFoundError:
            return []
        return [name.rstrip("/").rpartition("/")[2] for name in found]

    def create(self, path: str, data: bytes, like: str) -> tuple[str, ...]:
        """Refuse: nothing is written here."""
        raise self._refusal()

    def back_up(self, path: str, backup: str, data: bytes) -> None:
        """Keep an object's content in a new object."""
        self.create(backup, data, path)

    def rename(self, old: str, new: str) -> tuple[str, ...]:
        """Refuse: nothing is written here."""
        raise self._refusal()

    def remove(self, path: str) -> None:
        """Refuse: nothing is written here."""
        raise self._refusal()

    def make_directory(self, path: str) -> None:
        """Do nothing: a prefix is there with its first object."""

    def sync_directory(self, path: str) -> None:
        """Do nothing: an object is stored when its write is answered."""

    def may_be_in_git(self, directory: str) -> bool:
        """Return that it is not."""
        return False

    @contextmanager
    def lock(self, directory: str) -> Iterator[None]:
        """Lock nothing: the write itself is conditional."""
        yield

    def _refusal(self) -> OSError:
        return OSError(errno.EROFS, os.strerror(errno.EROFS))


class S3Storage(ObjectStorage):
    """Objects of S3, written with `If-Match`, so that nobody's newer object is overwritten."""

    def __init__(self, scheme: str, files: Any) -> None:
        super().__init__(scheme, files)
        self._tags: dict[str, str] = {}

    @property
    def why_read_only(self) -> str | None:
        """Fixes are written."""
        return None

    def _read(self, path: str, name: str) -> bytes:
        """Return an object's content, and remember the tag of exactly this content."""
        while True:
            tag = self._files.info(path, refresh=True).get("ETag", "")
            data = super()._read(path, name)
            if self._files.info(path, refresh=True).get("ETag", "") == tag:
                self._tags[path] = tag
                return data

    def create(self, path: str, data: bytes, like: str) -> tuple[str, ...]:
        """Write a new object; one that is there is not overwritten."""
        self._put(path, data, IfNoneMatch="*")
        return ()

    def rename(self, old: str, new: str) -> tuple[str, ...]:
        """Give an object the content of another, if it is still the one that was read."""
        self._put(new, bytes(self._files.cat_file(old)), IfMatch=self._tags[new])
        self.remove(old)
        return ()

    def remove(self, path: str) -> None:
        """Remove an object; nothing happens where there is none."""
        bucket, _, key = path.partition("/")
        with _failures():
            self._files.call_s3("delete_object", Bucket=bucket, Key=key)

    def _put(self, path: str, data: bytes, **condition: str) -> None:
        bucket, _, key = path.partition("/")
        with _failures():
            self._files.call_s3("put_object", Bucket=bucket, Key=key, Body=data, **condition)


@contextmanager
def _failures() -> Iterator[None]:
    """Turn what the S3 client raises into `OSError` with a number."""
    try:
        yield
    except Exception as error:
        answer = getattr(error.__cause__ or error, "response", {})
        code = answer.get("Error", {}).get("Code", "") if isinstance(answer, dict) else ""
        if code in {"PreconditionFailed", "ConditionalRequestConflict"}:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE)) from None
        if code in {"AccessDenied", "Forbidden", "403"}:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None
        raise OSError(errno.EREMOTEIO, f"the store answers: {_words(error)}") from None


def _words(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
