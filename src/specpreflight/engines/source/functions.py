"""Compiles functions: how arguments bind to parameters, and the body."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from specpreflight.engines.source.codes import code_of
from specpreflight.engines.source.statements import Returned, block
from specpreflight.engines.source.values import Code, Frame, Function, raised

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator


class FunctionCode:
    """A `def` or a `lambda`, compiled.

    Attributes:
        names: the parameters that may be given by position.
        all_names: these and the ones that may only be given by name.
    """

    def __init__(self, node: ast.FunctionDef | ast.Lambda) -> None:
        spec = node.args
        self.names = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
        self.all_names = [*self.names, *(argument.arg for argument in spec.kwonlyargs)]
        self._vararg = None if spec.vararg is None else spec.vararg.arg
        self._kwarg = None if spec.kwarg is None else spec.kwarg.arg
        first = len(self.names) - len(spec.defaults)
        self._defaults: Mapping[str, Code] = {
            **dict(zip(self.names[first:], map(code_of, spec.defaults), strict=True)),
            **{
                argument.arg: code_of(default)
                for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
                if default is not None
            },
        }
        self._takes_names_only = self._vararg is None and self._kwarg is None
        self._is_lambda = isinstance(node, ast.Lambda)
        self._body = code_of(node.body) if isinstance(node, ast.Lambda) else block(node.body)

    def run(self, evaluator: Evaluator, frame: Frame) -> Any:
        """Return what the body returns."""
        ended = self._body(evaluator, frame)
        if self._is_lambda:
            return ended
        return ended.value if isinstance(ended, Returned) else None

    def bind(
        self, evaluator: Evaluator, function: Function, args: list[Any], kwargs: dict[str, Any]
    ) -> Frame:
        """Return the frame of a call.

        Raises:
            Raised: `TypeError`, as Python has it, where arguments and parameters do not fit.
        """
        scope = function.scope or {}
        names = dict(zip(self.names, args, strict=False))
        frame = Frame(function.module, function.name, names, function.owner, scope)
        if not kwargs and self._takes_names_only and len(args) == len(self.all_names):
            return frame
        if len(args) > len(self.names) and self._vararg is None:
            raise raised(
                "TypeError",
                f"{function.name}() takes {len(self.names)} positional arguments "
                f"but {len(args)} were given",
            )
        self._bind_names(evaluator, function, frame, kwargs)
        if self._vararg is not None:
            names[self._vararg] = tuple(args[len(self.names) :])
        return frame

    def _bind_names(
        self, evaluator: Evaluator, function: Function, frame: Frame, kwargs: dict[str, Any]
    ) -> None:
        names, rest = frame.names, dict(kwargs)
        for name in self.all_names:
            if name in names:
                if name in rest:
                    raise raised(
                        "TypeError",
                        f"{function.name}() got multiple values for argument '{name}'",
                    )
            elif name in rest:
                names[name] = rest.pop(name)
            elif name in self._defaults:
                names[name] = self._defaults[name](evaluator, frame._replace(names={}))
            else:
                raise raised(
                    "TypeError",
                    f"{function.name}() missing 1 required positional argument: '{name}'",
                )
        if self._kwarg is not None:
            names[self._kwarg] = rest
        elif rest:
            raise raised(
                "TypeError",
                f"{function.name}() got an unexpected keyword argument '{next(iter(rest))}'",
            )


@cache
def function_code(node: ast.FunctionDef | ast.Lambda) -> FunctionCode:
    """Return a function's code, compiled once a process."""
    return FunctionCode(node)
