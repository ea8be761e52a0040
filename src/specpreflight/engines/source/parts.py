"""What the parts of the evaluator ask of each other.

`Objects` knows classes, `Operations` computes with values, and `Evaluator` looks up names and makes
calls.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specpreflight.engines.source.modules import Module, Sources
    from specpreflight.engines.source.values import Class, Frame


class Parts(ABC):
    """The state of an evaluator, and what its parts call of the others.

    Attributes:
        sources: where modules come from.
        known: answers for names that lie outside of them, by dotted name.
        absent: packages that are not installed.
        log: `(level, text)` of the messages that the code would log.
        doubts: places where something unknown decided.
        classes: all classes that were defined.
    """

    sources: Sources
    known: Mapping[str, Any]
    absent: frozenset[str]
    log: list[tuple[str, str]]
    doubts: list[str]
    classes: list[Class]

    @abstractmethod
    def value(self, node: ast.expr, frame: Frame) -> Any:
        """Evaluate an expression."""

    @abstractmethod
    def call(self, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call anything callable; an unknown function gives an unknown value."""

    @abstractmethod
    def find(self, dotted: str) -> Any:
        """Return what a dotted name stands for; `Opaque` where that is unknown."""

    @abstractmethod
    def module_name(self, module: Module, name: str) -> Any:
        """Return the value of a module's name."""
