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
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Origin, Value
from specpreflight.models.frozen import dataclass
from specpreflight.models.resolved import Resolved

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


class Untouched(NamedTuple):
    """A parameter that no tensor reached.

    `shape` is `None` where it depends on something unknown. `initial` is what it holds instead:
    `uninitialised` (whatever is in memory), `random` (torch's default), `ones`, `zeros`.
    """

    parameter: str
    shape: tuple[int, ...] | None
    initial: str


class Resized(NamedTuple):
    """A tensor of which the loader used only a part, without a word."""

    tensor: str
    parameter: str
    elements: int
    used: int


class ZeroFilled(NamedTuple):
    """A parameter that the loader padded with zeros, without a word."""

    tensor: str
    parameter: str
    zeros: int


class LoaderError(NamedTuple):
    """Where building or loading the draft stops; `why` where the message does not say it."""

    stage: Literal["arguments", "config", "build", "load"]
    exception: str
    message: str
    tensor: str | None = None
    source: str | None = None
    why: str = ""


class LoaderReport(NamedTuple):
    """What an engine release's draft class does with the tensors of a checkpoint.

    Attributes:
        architecture: the class that would be built.
        source: where its `load_weights` is (file in the engine).
        taken: tensor name -> parameters it reaches.
        dropped: read from the file, and in no parameter, without an exception.
        untouched: parameters that nothing reached.
        partial: fused parameters of which only a part was written.
        resized: tensors cut without a word.
        zero_filled: parameters padded with zeros without a word.
        error: what stops the build or the load, or `None`.
        further: what would stop the load after `error` was mended.
        reads_head: whether the draft's own `lm_head` is used (else the target's).
        shares_embedding: whether the target's embedding replaces the draft's.
        map_shape: shape of the draft-to-target map that `d2t` leaves, `None` without one.
        warnings: lines that the engine logs about tensors.
        notes: what the restatement cannot know, one line each.
        renaming: names in the file -> names under which this loader would take the tensors.
    """

    architecture: str
    source: str
    taken: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    dropped: tuple[str, ...] = ()
    untouched: tuple[Untouched, ...] = ()
    partial: tuple[str, ...] = ()
    resized: tuple[Resized, ...] = ()
    zero_filled: tuple[ZeroFilled, ...] = ()
    overwritten: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()
    error: LoaderError | None = None
    further: tuple[LoaderError, ...] = ()
    reads_head: bool = True
    shares_embedding: bool = True
    map_shape: tuple[int, ...] | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    renaming: Mapping[str, str] = MappingProxyType({})

    @property
    def lost(self) -> tuple[Untouched, ...]:
        """The untouched parameters that the draft computes with.

        Not among them: what the worker replaces by the target's (embedding, head), and scales of
        a key/value cache and zero biases, whose initial content is right.
        """
        return tuple(each for each in self.untouched if not self._is_harmless(each))

    def _is_harmless(self, untouched: Untouched) -> bool:
        name = untouched.parameter
        if name.endswith("embed_tokens.weight"):
            return self.shares_embedding
        if name == "lm_head.weight":
            return not self.reads_head
        return name.endswith((".k_scale", ".v_scale")) or (
            name.endswith(".bias") and untouched.initial == "zeros"
        )


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
