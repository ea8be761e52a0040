"""A draft class while it is built and loaded: its parameters, and where each tensor went.

Every class of the package restates one module of `sglang/srt/models`: `build` adds the parameters
that its constructor creates, `load` does with one tensor what its `load_weights` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import ClassVar, Literal, Protocol

from specpreflight.engines.sglang.loaders.draft_config import DraftConfig, MissingAttribute
from specpreflight.engines.sglang.loaders.parameters import Clash, Copied, Parameter, Shape
from specpreflight.engines.sglang.loaders.quantization import Quantization
from specpreflight.models.loader_report import (
    LoaderError,
    LoaderReport,
    Resized,
    Untouched,
    ZeroFilled,
)
from specpreflight.models.weights import Tensor


class Release(Protocol):
    """What a restated class needs of the engine's knowledge."""

    version: str

    def since(self, release: str) -> bool:
        """Return whether this release is `release` or newer."""
        ...


class Refusal(Exception):
    """The engine raises here, for a reason other than a shape.

    `why` says in words what a bare assertion does not.
    """

    def __init__(self, exception: str, text: str, why: str = "") -> None:
        super().__init__(text)
        self.exception = exception
        self.text = text
        self.why = why


@dataclass(frozen=True)
class Situation:
    """Everything a class's behaviour depends on.

    `values` reads the elements of a small tensor (for the loaders that look at them), or returns
    `None`. `ranks` is the tensor-parallel size: the parameters are those of all ranks together,
    but a size that the ranks cannot share stops the construction.
    """

    config: DraftConfig
    release: Release
    quantization: Quantization
    values: Callable[[Tensor], tuple[float, ...] | None] = lambda tensor: None
    ranks: int = 1


@dataclass
class _Record:
    """What has been written, as it goes."""

    taken: dict[str, list[str]] = field(default_factory=dict)
    writers: dict[tuple[str, Hashable], str] = field(default_factory=dict)
    overwritten: list[str] = field(default_factory=list)
    resized: list[Resized] = field(default_factory=list)
    zero_filled: list[ZeroFilled] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class DraftModel(ABC):
    """One draft class of one release.

    Class attributes:
        architecture: the class name in SGLang's registry.
        source: the file with its `load_weights`, below `sglang/srt`.
        threads: whether tensors are copied in a thread pool, so that a clash is raised only
            after all names have been handed out.
        reads_text_config: whether the class takes the text config out of a multimodal one itself.
    """

    architecture: ClassVar[str]
    source: ClassVar[str]
    threads: ClassVar[bool] = False
    reads_text_config: ClassVar[bool] = False

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.config = situation.config
        self.release = situation.release
        self.quantization = situation.quantization
        self.parameters: dict[str, Parameter] = {}
        self.map_shape: Shape | None = None
        self.notes: list[str] = []
        self.deferred: list[LoaderError] = []
        self._record = _Record()
        self._tensor: Tensor | None = None

    @abstractmethod
    def build(self) -> None:
        """Create the parameters, or raise what the constructor raises."""

    @abstractmethod
    def load(self, tensor: Tensor) -> None:
        """Do with one tensor what `load_weights` does in one turn of its loop."""

    def begin(self) -> None:
        """Do what `load_weights` does before its loop; most classes do nothing."""
        return

    def finish(self) -> None:
        """Do what `load_weights` does after its loop; most classes do nothing."""
        return

    @property
    def reads_head(self) -> bool:
        """Whether the draft's own head is used after loading."""
        return True

    @property
    def shares_embedding(self) -> bool:
        """Whether the worker replaces the draft's embedding by the target's."""
        return True

    def add(self, parameters: Iterable[Parameter]) -> None:
        """Register parameters in the order of the constructor."""
        self.parameters.update({parameter.name: parameter for parameter in parameters})

    def copy(
        self,
        name: str,
        shape: Shape,
        shard: Hashable = None,
        tensors: tuple[Tensor, ...] = (),
    ) -> None:
        """Hand a tensor of `shape` to a parameter's loader; `tensors` are those it was made of."""
        sources = tensors or ((self._tensor,) if self._tensor is not None else ())
        parameter = self.parameters[name]
        try:
            copied = parameter.load(shape, shard)
            self.quantization.check_dtype(parameter, sources, self.release)
        except Clash as clash:
            if clash.before is not None:
                self._note(parameter, clash.before, shape, sources)
            if not self.threads:
                raise
            at = sources[-1].name
            self.deferred.append(LoaderError("load", clash.exception, clash.text, at, self.source))
            return
        self._note(parameter, copied, shape, sources)

    def take(self, tensor: Tensor, place: str) -> None:
        """Record that a tensor reached something that is no parameter."""
        self._record.taken.setdefault(tensor.name, []).append(place)

    def warn(self, line: str) -> None:
        """Record a line that the engine logs."""
        self._record.warnings.append(line)

    def _note(
        self, parameter: Parameter, copied: Copied, shape: Shape, sources: tuple[Tensor, ...]
    ) -> None:
        record, last = self._record, sources[-1].name
        for tensor in sources:
            places = record.taken.setdefault(tensor.name, [])
            if parameter.name not in places:
                places.append(parameter.name)
        for part in copied.parts:
            before = record.writers.get((parameter.name, part))
            if before is not None and before != last:
                record.overwritten.append(before)
            record.writers[(parameter.name, part)] = last
        if copied.used < prod(shape):
            record.resized.append(Resized(last, parameter.name, prod(shape), copied.used))
        if copied.zeros:
            record.zero_filled.append(ZeroFilled(last, parameter.name, copied.zeros))

    def run(self, tensors: Iterable[Tensor]) -> LoaderReport:
        """Build the class and load the tensors, in the order in which files are read."""
        refused = self._try(self.build, "build")
        if refused is not None:
            return LoaderReport(self.architecture, self.source, error=refused)
        report = self._load_all(tuple(tensors))
        if report.error is None or report.error.tensor is None:
            return report
        further = (*self._further(report, tuple(tensors)), *self.deferred)
        return report._replace(further=tuple(each for each in further if each != report.error))

    def _load_all(self, tensors: tuple[Tensor, ...]) -> LoaderReport:
        """Load until something stops it."""
        failure = self._try(self.begin, "load")
        seen: list[str] = []
        for tensor in tensors if failure is None else ():
            self._tensor = tensor
            failure = self._try(partial(self.load, tensor), "load")
            if failure is not None:
                break
            seen.append(tensor.name)
        else:
            self._tensor = None
            first = self.deferred[0] if self.deferred else None
            failure = failure or self._try(self.finish, "load") or first
        reached = len(seen) + (self._tensor is not None)
        return self._report(seen, tuple(t.name for t in tensors[reached:]), failure)

    def _further(self, report: LoaderReport, tensors: tuple[Tensor, ...]) -> Iterator[LoaderError]:
        """Go on after the first failure, and yield the others."""
        for tensor in tensors[len(tensors) - len(report.not_read) :]:
            self._tensor = tensor
            failure = self._try(partial(self.load, tensor), "load")
            if failure is not None:
                yield failure

    def _try(self, step: Callable[[], None], stage: Literal["build", "load"]) -> LoaderError | None:
        """Run a step; return what it raises as the engine would raise it.

        A constructor computes with whatever types the config holds, here as in the engine: what
        Python says of that is the answer, though its words may differ.
        """
        at = None if self._tensor is None else self._tensor.name
        try:
            step()
        except Refusal as refusal:
            why = refusal.why
            return LoaderError(stage, refusal.exception, refusal.text, at, self.source, why)
        except Clash as clash:
            return LoaderError(stage, clash.exception, clash.text, at, self.source)
        except MissingAttribute as missing:
            return LoaderError(stage, "AttributeError", str(missing), at, self.source)
        except (AttributeError, TypeError, ZeroDivisionError) as error:
            if stage != "build":
                raise
            return LoaderError(stage, type(error).__name__, str(error), at, self.source)
        return None

    def _report(
        self, seen: list[str], not_read: tuple[str, ...], failure: LoaderError | None
    ) -> LoaderReport:
        record = self._record
        written: dict[str, set[Hashable]] = {}
        for name, part in record.writers:
            written.setdefault(name, set()).add(part)
        return LoaderReport(
            self.architecture,
            self.source,
            taken={name: tuple(places) for name, places in record.taken.items()},
            dropped=tuple(name for name in seen if name not in record.taken),
            untouched=tuple(
                Untouched(p.name, p.shape, p.initial)
                for p in self.parameters.values()
                if p.name not in written and 0 not in p.shape
            ),
            partial=tuple(
                name for name, parts in written.items() if parts < self.parameters[name].parts
            ),
            resized=tuple(record.resized),
            zero_filled=tuple(record.zero_filled),
            overwritten=tuple(dict.fromkeys(record.overwritten)),
            not_read=not_read,
            error=failure,
            reads_head=self.reads_head,
            shares_embedding=self.shares_embedding,
            map_shape=self.map_shape,
            warnings=tuple(record.warnings),
            notes=tuple(self.notes),
        )


def experts_mapping(experts: int) -> Mapping[str, tuple[str, tuple[int, str]]]:
    """Restate `FusedMoE.make_expert_params_mapping` for gate, up and down projections.

    Keys are parts of checkpoint names (`experts.3.gate_proj.`), values the part that replaces it
    and `(expert, shard)`.
    """
    return {
        f"experts.{expert}.{weight}.": (f"experts.{parameter}_", (expert, shard))
        for expert in range(experts)
        for shard, weight, parameter in (
            ("w1", "gate_proj", "w13"),
            ("w2", "down_proj", "w2"),
            ("w3", "up_proj", "w13"),
        )
    }
