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
    from specpreflight.engines.source.modules import Module
    from specpreflight.engines.source.values import Class, Frame


class Parts(ABC):
    """The state of an evaluator, and what its parts call of the others.

    Attributes:
        known: answers for names that lie outside of the sources, by dotted name.
        classes: all classes that were defined.
    """

    known: Mapping[str, Any]
    classes: list[Class]

    @abstractmethod
    def value(self, node: ast.expr, frame: Frame) -> Any:
        """Evaluate an expression."""

    @abstractmethod
    def call(self, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call anything callable; an unknown function gives an unknown value."""

    @abstractmethod
    def module_name(self, module: Module, name: str) -> Any:
        """Return the value of a module's name."""
