"""What an engine's loader makes of a draft's tensors; `weights.loader_of` is how rules ask."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple


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
