"""Runs a script without running anything: it follows the script to the commands it would start.

Each external command is handed to `on_command` with its words and its environment as the shell
would pass them; launches, containers and nested shells are recognised there. Its output is a
marker, `$(command …)`.

What cannot be known (a file's existence, an unset variable in a test, an external command's
status) is guessed, once: a test on an unset variable sees it empty, as bash does; a file is not
there; a command succeeds. An `exit` that only such a guess leads to is not followed, so that a
usage check does not end the reading. Where no launch is found, the caller tries the opposite.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from specpreflight.sources.shell import builtins
from specpreflight.sources.shell.conditions import holds
from specpreflight.sources.shell.execution import Execution, Exit, Input, Leave, Return
from specpreflight.sources.shell.expansion import Expansion
from specpreflight.sources.shell.parser import ShellSyntaxError, parse
from specpreflight.sources.shell.syntax import (
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Block,
    Case,
    Chain,
    Condition,
    For,
    Function,
    If,
    Node,
    Pipeline,
    Redirect,
    Simple,
    While,
    Word,
)
from specpreflight.sources.shell.text_filters import filter_text
from specpreflight.sources.shell.variables import Variables, protect, reveal

#: An assignment, and whether all it does is take an argument of the script.
_ASSIGNED = re.compile(
    r"(?:^|[\s;(&|])([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?="
    r"(\"?\$(?:\d|OPTARG|\{(?:\d+|OPTARG)\})\"?(?=[\s;)&|]|$))?"
)
_MOST_STEPS = 50_000
_DEEPEST = 40


@dataclass
class Shell:
    """A shell that has been given a script.

    Attributes:
        on_command: called with each external command, in order.
        read_file: returns the text of a file that the script sources, `None` if there is none.
        path: the script's name, for the places of variables.
        assume_set: what is guessed where nothing is known.
        notes: what was guessed or could not be followed.
    """

    on_command: Callable[[Execution], None]
    read_file: Callable[[str], str | None]
    given: Mapping[str, str] = field(default_factory=dict)
    positional: Sequence[str] = ()
    path: str | None = None
    assume_set: bool = False
    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.variables = Variables(self.given)
        self.functions: dict[str, Node] = {}
        self.expansion = Expansion(
            self.variables, self.positional, self.path or "bash", self._substitute
        )
        self.expansion.assume_set = self.assume_set
        self.output: list[str] = []
        self.input = Input()
        self.directory: str | None = None
        self.guesses = 0
        self.line = 1
        self._steps = 0
        self._depth = 0

    def run(self, text: str, line: int = 1) -> None:
        """Follow a script to its end, or to where bash would stop reading it."""
        with suppress(Exit, Return, Leave):
            self.run_text(text, line)
        for command in self.expansion.decided_by:
            self.note(f"which way the script goes depends on {command}, which is not known")

    def run_text(self, text: str, line: int = 1) -> None:
        """Follow text in this shell (`eval`, a sourced file)."""
        found = _ASSIGNED.findall(text)
        self.variables.assigned.update(name for name, argument in found if not argument)
        try:
            for node in parse(text, line):
                self.execute(node)
        except ShellSyntaxError as error:
            self.note(f"line {error.line}: bash stops here with a syntax error: {error.message}")
        except RecursionError:
            self.note(f"line {line}: nested too deeply to be followed")

    def note(self, text: str) -> None:
        """Remember something the reader should know, once."""
        if text not in self.notes:
            self.notes.append(text)

    # Commands

    def execute(self, node: Node) -> bool:
        """Run a command and return whether it succeeded."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            self.note("the script was not followed to its end: too many steps")
            raise Exit
        match node:
            case Simple():
                return self._simple(node)
            case Block():
                return self._block(node)
            case Chain():
                return self._chain(node)
            case Pipeline():
                return self._pipeline(node)
            case If():
                return self._with_redirects(node.redirects, lambda: self._if(node))
            case For():
                return self._with_redirects(node.redirects, lambda: self._for(node))
            case While():
                return self._with_redirects(node.redirects, lambda: self._while(node))
            case ArithmeticFor():
                return self._with_redirects(node.redirects, lambda: self._arithmetic_for(node))
            case Case():
                return self._with_redirects(node.redirects, lambda: self._case(node))
            case Function():
                self.functions[node.name] = node.body
                return True
            case Condition():
                return self._condition(node.tokens)
            case ArithmeticCommand():
                return self._calculate(node.expression)

    def test(self, tokens: Sequence[str]) -> bool:
        """Do `[ … ]` with expanded words."""
        return self._condition(tokens)

    def _condition(self, tokens: Sequence[Word | str]) -> bool:
        expansion = self.expansion
        before, expansion.cautious = expansion.cautious, True
        value = holds(tokens, expansion, lambda name: posixpath.normpath(name) in self.files)
        expansion.cautious = before
        return value

    def _calculate(self, expression: str) -> bool:
        result = self.expansion.arithmetic(expression)
        if result.lstrip("-").isdigit():
            return result != "0"
        self.expansion.guessed = True
        return self.assume_set

    def _decide(self, node: Node) -> tuple[bool, bool]:
        """Run a condition; return its value, and whether that was a guess."""
        before, self.expansion.guessed = self.expansion.guessed, False
        value = self.execute(node)
        guessed, self.expansion.guessed = self.expansion.guessed, before
        return value, guessed

    def _guarded(self, node: Node | None, guessed: bool) -> bool:
        """Run what a condition leads to."""
        self.guesses += guessed
        try:
            return self.execute(node) if node is not None else True
        finally:
            self.guesses -= guessed

    def _block(self, node: Block) -> bool:
        def body() -> bool:
            status = True
            for command in node.commands:
                status = self.execute(command)
            return status

        if not node.subshell:
            return self._with_redirects(node.redirects, body)
        with self._subshell():
            try:
                return self._with_redirects(node.redirects, body)
            except Exit:
                return True

    def _chain(self, node: Chain) -> bool:
        status, guessed = self._decide(node.first)
        for operator, command in node.rest:
            if status == (operator == "&&"):
                self.guesses += guessed
                try:
                    status, more = self._decide(command)
                finally:
                    self.guesses -= guessed
                guessed |= more
        self.expansion.guessed |= guessed
        return status

    def _pipeline(self, node: Pipeline) -> bool:
        status = True
        if len(node.commands) == 1:
            status = self.execute(node.commands[0])
        else:
            before = self.input
            with self._subshell():
                for at, command in enumerate(node.commands):
                    if at == len(node.commands) - 1:
                        status = self.execute(command)
                        break
                    text = self.capture(lambda command=command: self.execute(command))  # type: ignore[misc]
                    self.input = Input(text)
            self.input = before
        return status != node.negated

    def _if(self, node: If) -> bool:
        guessed_before = False
        for condition, body in node.branches:
            value, guessed = self._decide(condition)
            guessed_before |= guessed
            if value:
                return self._guarded(body, guessed_before)
        return self._guarded(node.otherwise, guessed_before)

    def _loop(self, body: Block) -> bool:
        """Run a loop's body once; say whether the loop goes on."""
        try:
            self.execute(body)
        except Leave as leave:
            if leave.levels > 1:
                raise Leave(leave.levels - 1, leave.again) from None
            return leave.again
        return True

    def _for(self, node: For) -> bool:
        words = (
            self.expansion.positional if node.words is None else (self.expansion.fields(node.words))
        )
        for word in list(words):
            self.variables.assign(node.name, word, self.path, self.line)
            if not self._loop(node.body):
                break
        return True

    def _while(self, node: While) -> bool:
        while True:
            commands = self._commands
            value, guessed = self._decide(node.condition)
            if value == node.negated:
                return True
            going = self._loop(node.body)
            # A loop that waits for something, or restarts a server for ever, is followed once.
            endless = _is_constant(node.condition) and self._commands > commands
            if not going or guessed or endless:
                return True

    def _arithmetic_for(self, node: ArithmeticFor) -> bool:
        if node.first.strip():
            self.expansion.arithmetic(node.first)
        while not node.condition.strip() or self._calculate(node.condition):
            if not self._loop(node.body) or not node.step.strip():
                break
            self.expansion.arithmetic(node.step)
        return True

    def _case(self, node: Case) -> bool:
        before, self.expansion.cautious = self.expansion.cautious, True
        guessed_before, self.expansion.guessed = self.expansion.guessed, False
        subject = reveal(self.expansion.text(node.word))
        self.expansion.guess_from(subject)
        self.expansion.cautious = before
        guessed, self.expansion.guessed = self.expansion.guessed, guessed_before
        falls = False
        status = True
        for patterns, body, terminator in node.clauses:
            if falls or any(
                re.fullmatch(self.expansion.pattern(pattern), subject, re.DOTALL)
                for pattern in patterns
            ):
                status = self._guarded(body, guessed)
                falls = terminator == ";&"
                if terminator == ";;":
                    break
        return status

    # Simple commands

    _commands = 0

    def _simple(self, node: Simple) -> bool:
        self.line = node.line
        if not node.words:
            for assignment in node.assignments:
                self.assign(assignment)
            return self._with_redirects(node.redirects, lambda: True)
        name = node.words[0].plain() if isinstance(node.words[0], Word) else None
        if name in ("[", "test"):
            before, self.expansion.cautious = self.expansion.cautious, True
        words = self._expanded(node.words)
        if name in ("[", "test"):
            self.expansion.cautious = before
        if not words:
            return True
        return self._with_redirects(node.redirects, lambda: self.call(words, node.assignments))

    def _expanded(self, words: Sequence[Word | Assignment]) -> list[str | Assignment]:
        found: list[str | Assignment] = []
        for word in words:
            if isinstance(word, Assignment):
                found.append(word)
            else:
                found.extend(self.expansion.fields([word]))
        return found

    def call(
        self, words: Sequence[str | Assignment], assignments: Sequence[Assignment] = ()
    ) -> bool:
        """Run a command by its expanded words: a function, a builtin, or an external one."""
        name = words[0] if isinstance(words[0], str) else ""
        if name in self.functions:
            return self._with_variables(assignments, lambda: self._function(name, words[1:]))
        builtin = builtins.find(name)
        if builtin is not None:
            return self._with_variables(assignments, lambda: builtin(self, words[1:]))
        plain = [reveal(word) for word in words if isinstance(word, str)]
        if name in ("exec", "command", "builtin"):
            rest = words[1:]
            while rest and isinstance(rest[0], str) and rest[0].startswith("-"):
                if name == "command" and rest[0] in ("-v", "-V"):
                    self.expansion.guessed = True
                    self.output.append("\n")
                    return True
                rest = rest[2 if rest[0] == "-a" else 1 :]
            if rest:
                self.call(rest, assignments)
                if name == "exec" and not self.guesses:
                    raise Exit
            return True
        filtered = filter_text(plain, self.input.text, self.file_text)
        if filtered is not None:
            self.output.append(filtered)
            self.input = Input()
            return True
        self.start(plain, assignments)
        self.output.append(protect("$(" + " ".join(plain) + ")") + "\n")
        self.expansion.guessed = True
        return True

    def start(self, words: Sequence[str], assignments: Sequence[Assignment] = ()) -> None:
        """Hand an external command to whoever listens."""
        self._commands += 1

        def hand_over() -> bool:
            self.on_command(
                Execution(
                    tuple(words),
                    {found.name: found for found in self.variables.exported()},
                    self.variables.handed_on(),
                    tuple(self.variables.unexported()),
                    self.line,
                    self.directory,
                    self.files,
                    self.input.text or None,
                )
            )
            return True

        self._with_variables(assignments, hand_over)

    def _with_variables(self, assignments: Sequence[Assignment], body: Callable[[], bool]) -> bool:
        """Run something with `NAME=value` in front of it."""
        if not assignments:
            return body()
        self.variables.scopes.append({})
        try:
            for found in assignments:
                value = self._value(found)
                cell = self.variables.declare(found.name)
                cell.value, cell.exported = value, True
                cell.path, cell.line = self.path, found.line
            return body()
        finally:
            self.variables.scopes.pop()

    def _function(self, name: str, arguments: Sequence[str | Assignment]) -> bool:
        if self._depth >= _DEEPEST:
            return True
        self._depth += 1
        before, line = self.expansion.positional, self.line
        self.expansion.positional = [word for word in arguments if isinstance(word, str)]
        self.variables.scopes.append({})
        try:
            return self.execute(self.functions[name])
        except Return as returned:
            return returned.succeeded
        finally:
            self.variables.scopes.pop()
            self.expansion.positional, self.line = before, line
            self._depth -= 1

    def assign(self, assignment: Assignment, local: bool = False) -> None:
        """Do an assignment."""
        value = self._value(assignment)
        name, line = assignment.name, assignment.line
        if local:
            self.variables.declare(name)
        if assignment.index is not None and isinstance(value, str):
            index = self.expansion.index_text(name, assignment.index)
            if assignment.append:
                value = (self.variables.text(name, index) or "") + value
            self.variables.set_element(name, index, value, self.path, line)
        elif assignment.append:
            self.variables.append(name, value, self.path, line)
        else:
            self.variables.assign(name, value, self.path, line)

    def _value(self, assignment: Assignment) -> str | dict[str, str]:
        if isinstance(assignment.value, Word):
            return self.expansion.text(assignment.value)
        return self.expansion.elements(assignment.value)

    # Output and input

    def capture(self, body: Callable[[], object]) -> str:
        """Run something and return what it prints."""
        before, self.output = self.output, []
        try:
            body()
        finally:
            printed, self.output = self.output, before
        return "".join(printed)

    def _substitute(self, script: str) -> str:
        guessed = self.expansion.guessed

        def body() -> None:
            with self._subshell():
                try:
                    self.run_text(script, self.line)
                except (Exit, Return):
                    return

        short = re.fullmatch(r"\s*<\s*(\S+)\s*", script)
        text = self.capture(body) if short is None else self.file_text(short.group(1)) or ""
        self.expansion.guessed = guessed
        return text

    def _subshell(self) -> _Subshell:
        return _Subshell(self)

    def _with_redirects(self, redirects: Sequence[Redirect], body: Callable[[], bool]) -> bool:
        """Run something with its input and output redirected."""
        target: str | None = None
        before = self.input
        appended = False
        for redirect in redirects:
            operator = redirect.operator
            if operator == "<<":
                self.input = Input(self.expansion.text(redirect.target))
            elif operator.endswith("<<<"):
                self.input = Input(self.expansion.text(redirect.target) + "\n")
            elif operator in ("<", "0<"):
                self.input = Input(self._file_text(redirect.target))
            elif operator.lstrip("1") in (">", ">>", ">|", "&>", "&>>", ">&"):
                target = self.expansion.text(redirect.target)
                appended = ">>" in operator
        if target is None:
            status = body()
        else:
            result: list[bool] = []
            text = self.capture(lambda: result.append(body()))
            status = result[0]
            if not target.startswith("/dev/") and not target.isdigit():
                target = posixpath.normpath(target)
                self.files[target] = (self.files.get(target, "") if appended else "") + text
        self.input = before
        return status

    def _file_text(self, target: Word) -> str:
        for part in target.parts:
            if getattr(part, "process", "") == "<":
                return self._substitute(getattr(part, "script", ""))
        return self.file_text(self.expansion.text(target)) or ""

    def file_text(self, name: str) -> str | None:
        """Return the text of a file that the script wrote, or that lies beside it."""
        written = self.files.get(posixpath.normpath(name))
        return self.read_file(reveal(name)) if written is None else written

    def source(self, name: str, arguments: Sequence[str]) -> bool:
        """Run a file in this shell, if it can be read."""
        text = self.file_text(name)
        if text is None:
            self.note(f"line {self.line}: {reveal(name)} is sourced, but cannot be read")
            return True
        path, before, line = self.path, self.expansion.positional, self.line
        self.path = reveal(name)
        if arguments:
            self.expansion.positional = list(arguments)
        try:
            self.run_text(text)
        except Return:
            pass
        finally:
            self.path, self.expansion.positional, self.line = path, before, line
        return True


def _is_constant(condition: Block) -> bool:
    """Say whether a loop's condition is `true`, `:` or `1`."""
    command = condition.commands[0] if len(condition.commands) == 1 else None
    if isinstance(command, ArithmeticCommand):
        return command.expression.strip() == "1"
    if not isinstance(command, Simple) or len(command.words) != 1:
        return False
    word = command.words[0]
    return isinstance(word, Word) and word.plain() in ("true", ":")


class _Subshell:
    """Keeps the variables, functions and directory of a shell, and puts them back."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def __enter__(self) -> None:
        shell = self._shell
        self._kept = (
            shell.variables,
            dict(shell.functions),
            shell.directory,
            shell.expansion.positional,
        )
        shell.variables = shell.expansion.variables = shell.variables.copy()

    def __exit__(self, *_: object) -> None:
        shell = self._shell
        shell.variables, shell.functions, shell.directory, shell.expansion.positional = self._kept
        shell.expansion.variables = shell.variables
