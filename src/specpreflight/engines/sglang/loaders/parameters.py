"""What happens when a tensor of one shape is copied into a parameter of another.

Restates the weight loaders of SGLang's layers at tensor-parallel size 1: `layers/linear.py`
(`QKVParallelLinear`, `MergedColumnParallelLinear`, `RowParallelLinear`, `ColumnParallelLinear`,
`ReplicatedLinear`), `layers/parameter.py`, `layers/vocab_parallel_embedding.py`,
`layers/moe/fused_moe_triton/layer.py` and `model_loader/weight_utils.py:default_weight_loader`.
With more ranks the same narrowing starts at rank * shard, so a silent cut reads other rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from math import prod

Shape = tuple[int, ...]


class Clash(Exception):
    """The engine raises here: the class name of its exception, and its text as far as known.

    `before` is what the same call had copied by then.
    """

    def __init__(self, exception: str, text: str, before: Copied | None = None) -> None:
        super().__init__(text)
        self.exception = exception
        self.text = text
        self.before = before


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy wrote: which parts, how many of the tensor's elements, how many zeros."""

    parts: frozenset[Hashable]
    used: int
    zeros: int = 0


def size_text(shape: Shape) -> str:
    """Return a shape as torch prints it."""
    return f"torch.Size([{', '.join(map(str, shape))}])"


def narrow(shape: Shape, dim: int, start: int, length: int) -> Shape:
    """Restate `torch.narrow` on a shape, with its errors."""
    if not shape:
        raise Clash("RuntimeError", "narrow() cannot be applied to a 0-dim tensor.")
    if dim >= len(shape):
        bounds = f"[{-len(shape)}, {len(shape) - 1}]"
        text = f"Dimension out of range (expected to be in range of {bounds}, but got {dim})"
        raise Clash("IndexError", text)
    if start + length > shape[dim]:
        text = f"start ({start}) + length ({length}) exceeds dimension size ({shape[dim]})."
        raise Clash("RuntimeError", text)
    return (*shape[:dim], length, *shape[dim + 1 :])


def broadcast_copy(source: Shape, target: Shape) -> None:
    """Restate the shape check of `Tensor.copy_`, which broadcasts its source."""
    if len(source) > len(target):
        text = f"output with shape {list(target)} doesn't match the broadcast shape {list(source)}"
        raise Clash("RuntimeError", text)
    for dim in range(1, len(source) + 1):
        if source[-dim] not in (1, target[-dim]):
            at = len(target) - dim
            text = (
                f"The size of tensor a ({target[-dim]}) must match the size of tensor b "
                f"({source[-dim]}) at non-singleton dimension {at}"
            )
            raise Clash("RuntimeError", text)


def map_shape(shape: Shape) -> Shape:
    """Restate the shape of `loaded_weight + torch.arange(loaded_weight.shape[0])` (`d2t`)."""
    if not shape:
        raise Clash("IndexError", "tuple index out of range")
    rows = (shape[0],)
    if shape[-1] not in (1, rows[0]) and rows[0] != 1:
        text = (
            f"The size of tensor a ({shape[-1]}) must match the size of tensor b ({rows[0]}) "
            f"at non-singleton dimension {len(shape) - 1}"
        )
        raise Clash("RuntimeError", text)
    return (*shape[:-1], max(shape[-1], rows[0]) if shape[-1] else 0)


@dataclass(frozen=True)
class Parameter:
    """A parameter with the default loader: equal shapes, or one element each.

    `initial` is what it holds when nothing is loaded: `uninitialised`, `random`, `ones`, `zeros`,
    `constant`. `shape` is `None` where it depends on something that is not known.
    """

    name: str
    shape: Shape
    initial: str = "uninitialised"

    @property
    def parts(self) -> frozenset[Hashable]:
        """The parts that a complete load writes."""
        return frozenset({None})

    def load(self, shape: Shape, shard: Hashable = None) -> Copied:
        """Copy a tensor of `shape` (into part `shard`), or raise `Clash`."""
        if (prod(self.shape) == 1 and prod(shape) == 1) or shape == self.shape:
            return Copied(frozenset({None}), prod(shape))
        given, wanted = size_text(shape), size_text(self.shape)
        raise Clash(
            "AssertionError", f"Attempted to load weight ({given}) into parameter ({wanted})"
        )


@dataclass(frozen=True)
class Exact(Parameter):
    """A parameter whose own loader asserts equal shapes; `text` says how it words a clash."""

    text: str = ""

    def load(self, shape: Shape, shard: Hashable = None) -> Copied:
        """Copy; a scalar counts as one element."""
        given = shape or (1,)
        if given == self.shape:
            return Copied(frozenset({None}), prod(given))
        words = self.text.format(param=size_text(self.shape), loaded=size_text(given))
        raise Clash("AssertionError", words)


@dataclass(frozen=True)
class Vocabulary(Parameter):
    """Rows of an embedding or head: `shape[0]` is `rows` padded to a multiple of 64."""

    rows: int = 0

    def load(self, shape: Shape, shard: Hashable = None) -> Copied:
        """Copy all rows; the padding becomes zeros."""
        if not shape:
            raise Clash("IndexError", "tuple index out of range")
        if shape[0] != self.rows:
            text = (
                f"self.org_vocab_size={self.rows} self.use_presharded_weights=False "
                f"loaded_weight.shape[output_dim]={shape[0]}"
            )
            raise Clash("AssertionError", text)
        broadcast_copy(shape, (shape[0], *self.shape[1:]))
        padding = (self.shape[0] - self.rows) * prod(self.shape[1:])
        return Copied(frozenset({None}), prod(shape), padding)


@dataclass(frozen=True)
class Fused(Parameter):
    """Several projections in one parameter, one after the other along dimension 0.

    A longer tensor is cut without a word. A shorter one is padded with zeros where `pads` (gate
    and up, from 0.5.3), else it raises.
    """

    sizes: Mapping[Hashable, int] = field(default_factory=dict)
    pads: bool = False
    says_shapes: bool = False

    @property
    def parts(self) -> frozenset[Hashable]:
        """The projections that share the parameter."""
        return frozenset(part for part, size in self.sizes.items() if size)

    def load(self, shape: Shape, shard: Hashable = None) -> Copied:
        """Copy one projection, or a tensor that holds all of them (`shard` is `None`)."""
        if shard is None:
            return self._load_fused(shape)
        size = self.sizes[shard]
        given, zeros = shape, 0
        if self.pads and shape and size > shape[0]:
            zeros = (size - shape[0]) * prod(shape[1:])
            given = (size, *shape[1:])
        elif self.pads and not shape:
            raise Clash("IndexError", "tuple index out of range")
        else:
            given = narrow(shape, 0, 0, size)
        wanted = (size, *self.shape[1:])
        if given != wanted:
            text = f"param_data.shape={size_text(wanted)} loaded_weight.shape={size_text(given)}"
            raise Clash("AssertionError", text if self.says_shapes else "")
        return Copied(frozenset({shard}), prod(given) - zeros, zeros)

    def _load_fused(self, shape: Shape) -> Copied:
        start, done = 0, Copied(frozenset(), 0)
        for shard, size in self.sizes.items():
            try:
                copied = self.load(narrow(shape, 0, start, size), shard)
            except Clash as clash:
                clash.before = done if done.parts else None
                raise
            done = Copied(done.parts | copied.parts, done.used + copied.used)
            start += size
        return done


@dataclass(frozen=True)
class Row(Parameter):
    """A projection that is narrowed along its input (dimension 1): cut, or padded from 0.5.3."""

    pads: bool = True
    says_shapes: bool = False

    def load(self, shape: Shape, shard: Hashable = None) -> Copied:
        """Copy; only a wrong number of rows raises (a short tensor too, up to 0.5.2)."""
        size, zeros = self.shape[1], 0
        if self.pads and len(shape) < 2:
            raise Clash("IndexError", "tuple index out of range")
        if self.pads and size > shape[1]:
            zeros = (size - shape[1]) * prod(shape) // max(shape[1], 1)
            given = (shape[0], size, *shape[2:])
        else:
            given = narrow(shape, 1, 0, size)
        if given != self.shape:
            text = (
                f"param_data.shape={size_text(self.shape)} loaded_weight.shape={size_text(given)}"
            )
            raise Clash("AssertionError", text if self.says_shapes else "")
        return Copied(frozenset({None}), prod(given) - zeros, zeros)


@dataclass(frozen=True)
class Column(Parameter):
    """A projection that is narrowed along its output (dimension 0): cut, never padded."""

    text: str = ""

    def load(self, shape: Shape, shard: Hashable = None) -> Copied:
        """Copy; fewer rows or another width raise."""
        given = narrow(shape, 0, 0, self.shape[0])
        if given != self.shape:
            words = self.text.format(param=size_text(self.shape), loaded=size_text(given))
            raise Clash("AssertionError", words)
        return Copied(frozenset({None}), prod(given))


@dataclass(frozen=True)
class Scales(Parameter):
    """Per-tensor scales of fused projections: one element for each."""

    shards: tuple[Hashable, ...] = (None,)

    @property
    def parts(self) -> frozenset[Hashable]:
        """The projections that have a scale."""
        return frozenset(self.shards)

    def load(self, shape: Shape, shard: Hashable = None) -> Copied:
        """Copy the scale of one projection; it must be one element."""
        if prod(shape) != 1:
            raise Clash("AssertionError", "")
        return Copied(self.parts if shard is None else frozenset({shard}), 1)


@dataclass(frozen=True)
class ExpertScales(Parameter):
    """Per-tensor scales of all experts: one element for each expert and projection."""

    @property
    def parts(self) -> frozenset[Hashable]:
        """Expert and projection."""
        shards = ("w1", "w3") if "w13" in self.name else ("w2",)
        return frozenset((e, s) for e in range(self.shape[0]) for s in shards)

    def load(self, shape: Shape, shard: Hashable = None) -> Copied:
        """Copy one scale."""
        if prod(shape) != 1:
            raise Clash("RuntimeError", "a scale of one element is expected")
        return Copied(frozenset({shard}), 1)


@dataclass(frozen=True)
class Experts(Parameter):
    """All experts' weights in one parameter: `[experts, rows, columns]`.

    `w13` holds gate (`w1`) and up (`w3`) one after the other and is narrowed along its rows, `w2`
    along its columns. `cuts` (up to 0.5.16): a longer tensor is cut, a shorter one raises. Later
    the length is the tensor's own: a longer one raises, of a shorter one the rest stays as it was,
    or becomes zeros where `fills` (from 0.5.23).
    """

    cuts: bool = True
    fills: bool = False

    @property
    def parts(self) -> frozenset[Hashable]:
        """Expert, projection, and the half of it that a short tensor doesn't reach."""
        shards = ("w1", "w3") if "w13" in self.name else ("w2",)
        return frozenset((e, s, h) for e in range(self.shape[0]) for s in shards for h in (0, 1))

    def load(self, shape: Shape, shard: Hashable = None) -> Copied:
        """Copy one expert's projection; `shard` is `(expert, "w1" | "w2" | "w3")`."""
        assert isinstance(shard, tuple)
        expert, which = shard
        dim = 1 if which == "w2" else 0
        rows, columns = self.shape[1:]
        wanted = (rows, columns) if which == "w2" else (rows // 2, columns)
        if not self.cuts and dim >= len(shape):
            raise Clash("IndexError", "tuple index out of range")
        given = narrow(shape, dim, 0, wanted[dim]) if self.cuts else shape
        short = len(given) == 2 and given[dim] < wanted[dim]
        reached = tuple(given[dim] if at == dim else n for at, n in enumerate(wanted))
        broadcast_copy(given, reached if short else wanted)
        whole = not short or self.fills
        parts = frozenset((expert, which, half) for half in ((0, 1) if whole else (0,)))
        zeros = prod(wanted) - prod(reached) if short and self.fills else 0
        return Copied(parts, prod(given), zeros)
