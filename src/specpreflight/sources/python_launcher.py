"""Python programs that start an engine: by a subprocess, or by the engine's own classes.

The program is not run. Its statements are followed in order, functions that nothing calls last,
with what is known of their values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from specpreflight.models.command import variable
from specpreflight.sources.engine_config import flag_name, flag_words
from specpreflight.sources.entry_points import Entry
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.python_values import Unknown, Values, unknown

_PYTHON = re.compile(r"^(?:import|from) \w[\w.]*", re.MULTILINE)
_PROCESS = re.compile(
    r"(?:subprocess\.)?(?:Popen|run|call|check_call|check_output)"
    r"|os\.(?:system|popen|execv\w*|execl\w*|spawn\w+)"
    r"|(?:asyncio\.)?create_subprocess_(?:exec|shell)|execute_shell_command|popen_launch_server"
)
#: The engines' own classes that take flags as keywords, and a model as first argument.
_CLASSES = {
    "Engine": "sglang",
    "ServerArgs": "sglang",
    "LLM": "vllm",
    "EngineArgs": "vllm",
    "AsyncEngineArgs": "vllm",
}
_DEEPEST = 12


def is_python(text: str) -> bool:
    """Say whether a text is a Python program."""
    if not _PYTHON.search(text):
        return False
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def read_python(
    text: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
) -> None:
    """Follow a program to the processes it starts."""
    _Program(tracer, given).run(ast.parse(text))


class _ReturnedError(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Program:
    def __init__(self, tracer: Tracer, given: Mapping[str, str]) -> None:
        self._tracer = tracer
        self._given = given
        self._values = Values(dict(given), self._call)
        self._functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self._called: set[str] = set()
        self._lines: dict[str, int] = {}
        self._image: str | None = None
        self._depth = 0

    def run(self, module: ast.Module) -> None:
        """Follow the module, then the functions that it does not call."""
        self._body(module.body)
        for name, function in list(self._functions.items()):
            if name not in self._called:
                self._function(function, [], {})

    def _body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        values = self._values
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._functions[statement.name] = statement
            case ast.ClassDef():
                self._body(statement.body)
            case ast.Assign():
                value = values.of(statement.value)
                for target in statement.targets:
                    self._note_line(target)
                    values.bind(target, value)
            case ast.AnnAssign() if statement.value is not None:
                values.bind(statement.target, values.of(statement.value))
            case ast.AugAssign():
                self._augment(statement)
            case ast.Expr():
                values.of(statement.value)
            case ast.If():
                test = values.of(statement.test)
                known = self._tracer.assume_set if isinstance(test, Unknown) else bool(test)
                self._body(statement.body if known else statement.orelse)
            case ast.For():
                self._for(statement)
            case ast.While() | ast.With() | ast.AsyncWith():
                self._body(statement.body)
            case ast.Try():
                self._body([*statement.body, *statement.orelse, *statement.finalbody])
            case ast.Return():
                raise _ReturnedError(
                    None if statement.value is None else values.of(statement.value)
                )

    def _note_line(self, target: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            key = self._values.of(target.slice)
            if isinstance(key, str):
                self._lines[key] = target.lineno

    def _augment(self, statement: ast.AugAssign) -> None:
        load = ast.parse(ast.unparse(statement.target), mode="eval").body
        before, more = self._values.of(load), self._values.of(statement.value)
        if isinstance(before, list) and isinstance(statement.op, ast.Add):
            before.extend([more] if isinstance(more, str) else more)
        else:
            combined = ast.BinOp(load, statement.op, statement.value)
            self._values.bind(statement.target, self._values.of(combined))

    def _for(self, statement: ast.For) -> None:
        items = self._values.of(statement.iter)
        items = items if isinstance(items, list) else list(items) if isinstance(items, dict) else []
        for item in items:
            self._values.bind(statement.target, item)
            self._body(statement.body)

    def _function(
        self,
        function: ast.FunctionDef | ast.AsyncFunctionDef,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
    ) -> Any:
        if self._depth >= _DEEPEST:
            return NotImplemented
        self._called.add(function.name)
        parameters = function.args.args
        scope: dict[str, Any] = {name.arg: Unknown(f"$({name.arg})") for name in parameters}
        defaults = function.args.defaults
        for name, default in zip(
            parameters[len(parameters) - len(defaults) :], defaults, strict=True
        ):
            scope[name.arg] = self._values.of(default)
        for name, value in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
            scope[name.arg] = (
                unknown(ast.Name(name.arg)) if value is None else (self._values.of(value))
            )
        scope.update(zip((name.arg for name in parameters), arguments, strict=False))
        scope.update(keywords)
        self._values.scopes.append(scope)
        self._depth += 1
        try:
            self._body(function.body)
        except _ReturnedError as returned:
            return returned.value
        finally:
            self._values.scopes.pop()
            self._depth -= 1
        return None

    # Calls that start something

    def _call(self, node: ast.Call, name: str, values: Values) -> Any:
        last = name.rpartition(".")[2]
        if _PROCESS.fullmatch(name):
            self._process(node, name)
            return unknown(node)
        if last == "from_registry" and node.args:
            image = values.of(node.args[0])
            self._image = image if isinstance(image, str) else None
            return unknown(node)
        if last in _CLASSES and (node.keywords or node.args):
            self._engine(node, last)
            return unknown(node)
        if last == "add_argument" and node.args:
            self._option(node)
            return None
        if name in self._functions:
            keywords = {key.arg: values.of(key.value) for key in node.keywords if key.arg}
            return self._function(self._functions[name], values.items(node.args), keywords)
        return NotImplemented

    def _option(self, node: ast.Call) -> None:
        """Note the default of an option, which the program has where it is started without it."""
        names = [text for text in self._values.items(node.args) if isinstance(text, str)]
        given = {key.arg: self._values.of(key.value) for key in node.keywords if key.arg}
        long = next((name for name in names if name.startswith("--")), names[0] if names else "")
        attribute = given.get("dest") or long.lstrip("-").replace("-", "_")
        if "default" in given or given.get("action") in ("store_true", "store_false"):
            default = given.get("default", given.get("action") == "store_false")
            self._values.options[str(attribute)] = default

    def _process(self, node: ast.Call, name: str) -> None:
        values = self._values
        keywords = {key.arg: values.of(key.value) for key in node.keywords if key.arg}
        arguments = values.items(node.args) or [keywords.get("args") or keywords.get("cmd")]
        given = keywords.get("env")
        environment = given if isinstance(given, dict) else values.environ
        process = Process(
            (),
            {
                key: variable(key, str(value), self._tracer.path, self._lines.get(key))
                for key, value in environment.items()
                if isinstance(key, str) and self._given.get(key) != value
            },
            self._given,
            image=self._image,
            line=node.lineno,
        )
        command = arguments[0]
        if name.startswith("os.exec") and len(arguments) > 1:
            command = arguments[1] if isinstance(arguments[1], list) else arguments[1:]
        elif name.endswith("create_subprocess_exec"):
            command = arguments
        if isinstance(command, list):
            words = tuple(str(word) for word in command)
            self._tracer.follow(
                Process(
                    words, process.environment, self._given, line=node.lineno, image=self._image
                )
            )
        elif isinstance(command, str) and not isinstance(command, Unknown):
            self._tracer.run_script(command, process, line=node.lineno)

    def _engine(self, node: ast.Call, name: str) -> None:
        """Note an engine that is built in this process, its keywords being its flags."""
        values = self._values
        engine = _CLASSES[name]
        flags: dict[str, Any] = {}
        if node.args:
            flags["model"] = values.of(node.args[0])
        for key in node.keywords:
            value = values.of(key.value)
            if key.arg is not None:
                flags[key.arg] = value
            elif isinstance(value, dict):
                flags.update(value)
        names = {flag_name(key) for key in flags if isinstance(key, str)}
        if not names & {"model", "model-path"}:
            return
        words = list(
            flag_words({key: value for key, value in flags.items() if isinstance(key, str)})
        )
        package = {"sglang": "sglang", "vllm": "vllm"}[engine]
        entry = Entry(engine, f"{package}.{name}", tuple(words))
        self._tracer.found(entry, Process((), image=self._image, line=node.lineno))
