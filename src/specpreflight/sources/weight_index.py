"""The weights of a directory: which files count, what the index says of them, what they hold.

Nothing is unpickled and no tensor data is read, except the bytes of a small one that is asked for.
"""

from __future__ import annotations

import gc
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from specpreflight.models.weights import Tensor, WeightFormat, WeightProblem, WeightTable
from specpreflight.sources.folder import read_folder
from specpreflight.sources.generation_config import find_generation_problem
from specpreflight.sources.tokenizer import read_tokenizer

if TYPE_CHECKING:
    from specpreflight.sources.safetensors_headers import Header

INDEX_NAME: Final = "model.safetensors.index.json"
#: Bytes of an index file; that of a 1-TB model with 100,000 tensors has about 10 MB.
INDEX_LIMIT: Final = 64_000_000
#: Bytes of tensor data that `WeightTable.read` hands out; a `d2t` map of 163,840 has 1.3 MB.
READ_LIMIT: Final = 16_000_000
_PICKLES: Final = (".bin", ".pt", ".pth", ".ckpt")
#: Pickles that trainers leave beside the weights; no engine loads them as weights.
_NOT_WEIGHTS: Final = ("training_args.bin", "training_state.pt", "optimizer.pt", "scheduler.pt")


def read_weights(directory: Path) -> WeightTable:
    """Read every header of the checkpoint in `directory`.

    Raises nothing: whatever is wrong with the files is in the table's `problems`.
    """
    return WeightFolder(directory).table


def weight_facts(directory: Path) -> dict[str, Callable[..., Any]]:
    """Return the lazy facts of a checkpoint's directory: what reads them pays for them.

    `weights`, `find_tensor` and `tensor_names` are about tensors, `folder` about files,
    `tokenizer` about token ids, `generation_config` what is wrong with that file.
    """
    folder = WeightFolder(directory)
    return {
        "weights": lambda: folder.table,
        "find_tensor": folder.find,
        "unseen": lambda: folder.unseen,
        "missing_shards": lambda: folder.missing_shards,
        "tensor_names": lambda: folder.tensor_names,
        "folder": cache(partial(read_folder, directory)),
        "tokenizer": cache(partial(read_tokenizer, directory)),
        "generation_config": cache(partial(find_generation_problem, directory)),
    }


class WeightFolder:
    """The weight files of one directory; headers are read when asked for, each once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._headers: dict[str, Header] = {}

    @cached_property
    def table(self) -> WeightTable:
        """Every tensor of the files that count, and what is wrong with files and index."""
        with _collection_paused():
            return self._read_table()

    def _read_table(self) -> WeightTable:
        if not self._shards and self._index is None:
            return WeightTable(self._format, files=self._other_files, unseen=self.unseen)
        listed = None if self._index is None else sorted(set(self._index.values()))
        counted = self._shards if listed is None else [n for n in self._shards if n in set(listed)]
        problems = list(self._index_problems)
        tensors: dict[str, Tensor] = {}
        metadata: dict[str, str] = {}
        for shard in counted:
            header = self._header(shard)
            problems += header.problems
            metadata.update(header.metadata)
            problems += _duplicates(tensors, header.tensors, shard)
            tensors.update(header.tensors)
        if self._index is not None:
            problems += self._compare(self._index, tensors)
        return WeightTable(
            "safetensors",
            tensors,
            {name: self._header(name).size for name in counted},
            tuple(problems),
            self.unseen,
            INDEX_NAME if self._index is not None or self._index_problems else None,
            metadata,
            self.data,
        )

    @property
    def unseen(self) -> str | None:
        """Why no tensor can be seen, `None` if some can; opens no shard."""
        if not self._shards and self._index is None:
            return self._unseen
        listed = None if self._index is None else set(self._index.values())
        if listed is not None and listed.isdisjoint(self._shards):
            return f"`{INDEX_NAME}` is here, none of its shards is"
        return None

    @property
    def missing_shards(self) -> dict[str, int]:
        """The files that the index names and that are not here, with their tensors' number.

        None where no shard is here at all: then only the small files were fetched.
        """
        present, index = set(self._shards), self._index or {}
        if present.isdisjoint(index.values()):
            return {}
        return dict(Counter(shard for shard in index.values() if shard not in present))

    @cached_property
    def tensor_names(self) -> frozenset[str] | None:
        """The names that engines will see: the index's, else the headers'; `None` if unseen."""
        if self._index is not None:
            return frozenset(self._index)
        return frozenset(self.table.tensors) if self._shards else None

    def find(self, name: str) -> Tensor | None:
        """Return one tensor, reading only the header of the shard that the index names."""
        shard = None if self._index is None else self._index.get(name)
        if shard is not None and shard in self._shards:
            return self._header(shard).tensors.get(name)
        if self._index is not None:
            return None
        for each in self._shards:
            if name in self._header(each).tensors:
                return self._header(each).tensors[name]
        return None

    def data(self, tensor: Tensor) -> bytes | None:
        """Return a tensor's bytes; `None` where it is larger than `READ_LIMIT` or not there."""
        size = tensor.end - tensor.start
        if size > READ_LIMIT:
            return None
        try:
            with (self.directory / tensor.file).open("rb") as file:
                file.seek(tensor.start)
                found = file.read(size)
        except OSError:
            return None
        return found if len(found) == size else None

    def _header(self, shard: str) -> Header:
        if shard not in self._headers:
            from specpreflight.sources.safetensors_headers import read_header

            self._headers[shard] = read_header(self.directory / shard, shard)
        return self._headers[shard]

    @cached_property
    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.directory))  # noqa: PTH208 (no paths are wanted)
        except OSError:
            return []

    @cached_property
    def _shards(self) -> list[str]:
        return [name for name in self._names if name.endswith(".safetensors")]

    @property
    def _pickles(self) -> list[str]:
        return [n for n in self._names if n.endswith(_PICKLES) and n not in _NOT_WEIGHTS]

    @property
    def _other_files(self) -> dict[str, int]:
        found = self._pickles or [n for n in self._names if n.endswith(".gguf")]
        return {name: (self.directory / name).stat().st_size for name in found}

    @property
    def _format(self) -> WeightFormat:
        if self._pickles:
            return "pickle"
        return "gguf" if any(n.endswith(".gguf") for n in self._names) else "none"

    @property
    def _unseen(self) -> str:
        if self._pickles:
            return (
                f"`{self._pickles[0]}` is a pickle, whose tensors can't be seen without running it"
            )
        if self._format == "gguf":
            from specpreflight.sources.gguf_header import describe_gguf

            name = next(n for n in self._names if n.endswith(".gguf"))
            return f"`{name}` is {describe_gguf(self.directory / name)}, which is not read further"
        return "the directory holds no weight files"

    @cached_property
    def _index_and_problems(self) -> tuple[dict[str, str] | None, int | None, str | None]:
        """Return `(weight map, stated total size, what is wrong)` of the index file."""
        if INDEX_NAME not in self._names:
            return None, None, None
        path = self.directory / INDEX_NAME
        try:
            if path.is_fifo():
                return None, None, "can't be read: is a named pipe"
            if path.stat().st_size > INDEX_LIMIT:
                return None, None, f"larger than {INDEX_LIMIT} bytes, not read"
            root = json.loads(path.read_bytes().decode("utf-8"))
        except OSError as error:
            return None, None, f"can't be read: {(error.strerror or str(error)).lower()}"
        except (ValueError, RecursionError) as error:
            return None, None, f"not JSON: {str(error).splitlines()[0]}"[:200]
        found = root.get("weight_map") if isinstance(root, dict) else None
        if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
            return None, None, "`weight_map` is not an object of file names"
        metadata = root.get("metadata")
        total = metadata.get("total_size") if isinstance(metadata, dict) else None
        if isinstance(total, float) and total.is_integer():
            total = int(total)
        return found, total if type(total) is int else None, None

    @property
    def _index(self) -> dict[str, str] | None:
        return self._index_and_problems[0]

    @property
    def _index_problems(self) -> list[WeightProblem]:
        text = self._index_and_problems[2]
        return [] if text is None else [WeightProblem("index-json", INDEX_NAME, text)]

    def _compare(
        self, index: Mapping[str, str], tensors: Mapping[str, Tensor]
    ) -> list[WeightProblem]:
        """Compare the index with the files, once for each kind and file."""
        problems: list[WeightProblem] = []
        present, listed = set(self._shards), set(index.values())
        for shard in sorted(listed - present):
            names = tuple(name for name, file in index.items() if file == shard)
            message = f"`{INDEX_NAME}` puts {len(names)} tensors into it, it is not here"
            problems.append(WeightProblem("missing-shard", shard[:200], message, names))
        for shard in sorted(present - listed):
            names = tuple(self._header(shard).tensors)
            message = f"{len(names)} tensors in a file that `{INDEX_NAME}` does not name"
            problems.append(WeightProblem("extra-shard", shard, message, names))
        whole = {n for n in present & listed if not self._header(n).problems}
        moved = {n: t.file for n, t in tensors.items() if index.get(n, t.file) != t.file}
        absent, unlisted = [], []
        if index.keys() != tensors.keys():
            absent = [n for n, file in index.items() if file in whole and n not in tensors]
            unlisted = [n for n in tensors if n not in index]
        for kind, names, what in (
            ("other-shard", tuple(moved), "are in another file than the index says"),
            ("missing-tensor", tuple(absent), "are listed and in no file"),
            ("unlisted-tensor", tuple(unlisted), "are in the files and not listed"),
        ):
            if names:
                message = f"{len(names)} tensors {what}, first `{names[0][:80]}`"
                problems.append(WeightProblem(kind, INDEX_NAME, message, names))
        total = self._index_and_problems[1]
        found = sum(t.end - t.start for t in tensors.values())
        if total is not None and listed <= whole and total != found:
            message = f"states {total} bytes of tensors, the files hold {found}"
            problems.append(WeightProblem("total-size", INDEX_NAME, message))
        return problems


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Keep the garbage collector still: parsing makes no cycles, and it would look for some.

    Over the headers of 100,000 tensors that is half of the time.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _duplicates(
    known: Mapping[str, Tensor], new: Mapping[str, Tensor], shard: str
) -> list[WeightProblem]:
    twice = tuple(sorted(known.keys() & new.keys()))
    if not twice:
        return []
    message = f"{len(twice)} tensors are in another file too, first `{twice[0][:80]}`"
    return [WeightProblem("duplicate-tensor", shard, message, twice)]
