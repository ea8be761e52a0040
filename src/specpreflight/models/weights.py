"""What a checkpoint's tensor headers say, and what an engine's loader makes of them.

A checkpoint carries its weights as a fact that is read only when asked for:
`checkpoint.facts["weights"]` is a callable without arguments that returns a `WeightTable`, and
`checkpoint.facts["find_tensor"]` one that takes a name and reads no more headers than it must.
`weights_of` and `tensor_of` are how rules and engines ask. The engine's answer about the draft is
`Resolved.facts["loader"]`, again a callable, read by `loader_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Origin, Value
from specpreflight.models.frozen import dataclass
from specpreflight.models.resolved import Resolved

if TYPE_CHECKING:
    from specpreflight.models.loader_report import LoaderReport

#: Bits of one element, by the dtype names of the safetensors format.
DTYPE_BITS: Mapping[str, int] = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "C64": 64,
    "F64": 64,
    "I64": 64,
    "U64": 64,
}

#: The names torch uses for the dtypes that a config.json can state.
DTYPE_OF_TORCH: Mapping[str, str] = {
    "bfloat16": "BF16",
    "float16": "F16",
    "half": "F16",
    "float32": "F32",
    "float": "F32",
    "float64": "F64",
}


class Tensor(NamedTuple):
    """One tensor of a safetensors file; `start` and `end` are byte offsets in that file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str
    start: int
    end: int

    @property
    def elements(self) -> int:
        """Return the number of elements (1 for a scalar)."""
        return prod(self.shape)


class WeightProblem(NamedTuple):
    """Something wrong with a weight file or its index.

    `kind` is one of `truncated`, `trailing-bytes`, `header-size`, `header-json`, `entry`, `dtype`,
    `offsets`, `lfs-pointer`, `html`, `not-safetensors`, `unreadable`, `empty` (of a file),
    `index-json`, `missing-shard`, `extra-shard`, `missing-tensor`, `other-shard`,
    `unlisted-tensor`, `duplicate-tensor`, `total-size` (of the set). `message` is one line,
    lower case, that holds what was found and what was expected.
    """

    kind: str
    file: str
    message: str
    tensors: tuple[str, ...] = ()


WeightFormat = Literal["safetensors", "pickle", "gguf", "none"]


@dataclass(frozen=True, slots=True)
class WeightTable:
    """The tensors of a checkpoint as its headers list them.

    Attributes:
        format: which kind of weight file the directory holds; only safetensors can be read.
        tensors: by name; where two files hold the same name, the later file's.
        files: the weight files, sorted, with their sizes in bytes.
        problems: what is wrong with files and index.
        unseen: why `tensors` is empty although the checkpoint may have weights, or `None`.
        index: the name of the index file, `None` where there is none.
        read: returns the bytes of a tensor (at most `READ_LIMIT`), or `None` where they are
            not at hand.
    """

    format: WeightFormat
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[WeightProblem, ...] = ()
    unseen: str | None = None
    index: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    read: Callable[[Tensor], bytes | None] = lambda tensor: None


def weights_of(checkpoint: Checkpoint | None) -> WeightTable | None:
    """Return the tensor table of a checkpoint, or `None` where nothing can read it."""
    if checkpoint is None or "weights" not in checkpoint.facts:
        return None
    return cast("Callable[[], WeightTable]", checkpoint.facts["weights"])()


def why_unseen(checkpoint: Checkpoint) -> str | None:
    """Return why a checkpoint's tensors can't be seen, `None` if they can; reads no header."""
    if "unseen" not in checkpoint.facts:
        return f"the {checkpoint.role} is not a local directory"
    return cast("Callable[[], str | None]", checkpoint.facts["unseen"])()


def missing_shards_of(checkpoint: Checkpoint | None) -> Mapping[str, int]:
    """Return the files that a checkpoint's index names and that are absent: name → tensors."""
    if checkpoint is None or "missing_shards" not in checkpoint.facts:
        return {}
    return cast("Callable[[], Mapping[str, int]]", checkpoint.facts["missing_shards"])()


def names_of(checkpoint: Checkpoint | None) -> frozenset[str] | None:
    """Return the names of a checkpoint's tensors, from its index where it has one."""
    if checkpoint is None or "tensor_names" not in checkpoint.facts:
        return None
    return cast("Callable[[], frozenset[str] | None]", checkpoint.facts["tensor_names"])()


def tensor_value(checkpoint: Checkpoint, label: str, tensor: Tensor) -> Value:
    """Return a tensor's dtype and shape with its place in the checkpoint."""
    shape = ", ".join(map(str, tensor.shape))
    path = f"{checkpoint.given.rstrip('/')}/{tensor.file}"
    return Value(label, f"{tensor.dtype} [{shape}]", Origin("file", path=path, name=tensor.name))


def tensor_of(checkpoint: Checkpoint | None, name: str) -> Tensor | None:
    """Return one tensor's header entry, reading no more shards than the one that holds it."""
    if checkpoint is None:
        return None
    find: Any = checkpoint.facts.get("find_tensor")
    if find is None:
        table = weights_of(checkpoint)
        return None if table is None else table.tensors.get(name)
    return cast("Tensor | None", find(name))


def loader_of(resolved: Resolved) -> LoaderReport | None:
    """Return the engine's answer about the draft's tensors, `None` where it has none."""
    report: Any = resolved.facts.get("loader")
    return None if report is None else cast("LoaderReport | None", report())
