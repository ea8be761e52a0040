"""The weights of a checkpoint on another machine: the names, the index and the headers alone.

What reads headers reads files, so that each header is copied to a file here which is as long as the
real one and holds nothing else. A tensor's data is asked for where a rule wants it.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Final

from specpreflight.models.weights import Tensor, WeightProblem
from specpreflight.sources.safetensors_headers import HEADER_LIMIT, Header
from specpreflight.sources.weight_index import INDEX_LIMIT, INDEX_NAME, READ_LIMIT, WeightFolder

if TYPE_CHECKING:
    from specpreflight.storage.sftp import SftpStorage

#: Bytes that are read of a weight file at first; the headers of most are no longer.
_START: Final = 65_536


def host_weight_facts(storage: SftpStorage, directory: str) -> dict[str, Callable[..., Any]]:
    """Return the lazy facts of a checkpoint's weights, read from a host when a rule asks."""
    folder: list[HostWeightFolder] = []

    def opened() -> HostWeightFolder:
        if not folder:
            folder.append(HostWeightFolder(storage, directory))
        return folder[0]

    return {
        "weights": lambda: opened().table,
        "find_tensor": lambda name: opened().find(name),
        "unseen": lambda: opened().unseen,
        "missing_shards": lambda: opened().missing_shards,
        "tensor_names": lambda: opened().tensor_names,
    }


class HostWeightFolder(WeightFolder):
    """The weight files of a directory on another machine."""

    def __init__(self, storage: SftpStorage, directory: str) -> None:
        scratch = tempfile.mkdtemp(prefix="specpreflight-")
        super().__init__(Path(scratch))
        weakref.finalize(self, rmtree, scratch, ignore_errors=True)
        self._storage = storage
        self._place = directory

    def data(self, tensor: Tensor) -> bytes | None:
        """Return a tensor's bytes; `None` where it is larger than `READ_LIMIT` or not there."""
        size = tensor.end - tensor.start
        if size > READ_LIMIT:
            return None
        try:
            found = self._storage.read_at(f"{self._place}/{tensor.file}", tensor.start, size)
        except OSError:
            return None
        return found if len(found) == size else None

    def _header(self, shard: str) -> Header:
        if shard not in self._headers:
            try:
                self._copy_start(shard, self._sizes[shard])
            except OSError as error:
                reason = f"can't be read: {(error.strerror or str(error)).lower()}"
                problem = WeightProblem("unreadable", shard, reason)
                self._headers[shard] = Header(0, problems=(problem,))
        return super()._header(shard)

    @cached_property
    def _names(self) -> list[str]:
        """The names in the directory; what is not a safetensors file is copied as it is asked."""
        for name, size in self._sizes.items():
            if name == INDEX_NAME and size <= INDEX_LIMIT:
                path = f"{self._place}/{name}"
                (self.directory / name).write_bytes(self._storage.read(path, path))
            elif not name.endswith(".safetensors"):
                self._copy_start(name, size, start=_START if name.endswith(".gguf") else 0)
        return sorted(self._sizes)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        found = self._storage.entries(self._place)
        return {entry.name: entry.size for entry in found if not entry.is_directory}

    def _copy_start(self, name: str, size: int, start: int = _START) -> None:
        """Make a file as long as the host's that holds its header, or its first bytes."""
        path = f"{self._place}/{name}"
        data = self._storage.read_at(path, 0, min(start, size)) if start else b""
        length = int.from_bytes(data[:8], "little") + 8
        if name.endswith(".safetensors") and len(data) < length <= min(size, HEADER_LIMIT + 8):
            data += self._storage.read_at(path, len(data), length - len(data))
        with (self.directory / name).open("wb") as file:
            file.write(data)
            file.truncate(size)
