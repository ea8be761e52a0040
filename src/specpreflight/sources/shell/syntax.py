"""The parts of a shell script: words with their quoting, and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Programs whose `-c` argument, or file argument, is such a script.
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash"})


@dataclass(frozen=True, slots=True)
class Literal:
    """Text as it stands; `quoted` text is neither split nor taken as a pattern."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$NAME` or `${NAME…}`: `index` is what stands in brackets, `rest` what follows the name."""

    name: str
    index: str | None = None
    rest: str = ""
    prefix: str = ""
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(script)` or backquotes; `<(script)` and `>(script)` with `process` set."""

    script: str
    quoted: bool = False
    process: str = ""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((expression))`."""

    expression: str
    quoted: bool = False


Part = Literal | Parameter | Substitution | Arithmetic


@dataclass(frozen=True, slots=True)
class Word:
    """Parts that stand together without a blank between them; empty quotes are a part too."""

    parts: Sequence[Part]
    line: int = 0

    def plain(self) -> str | None:
        """Return the text if no part of it is quoted or expanded, else `None`."""
        part = self.parts[0] if len(self.parts) == 1 else None
        return part.text if isinstance(part, Literal) and not part.quoted else None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value`, `NAME+=value`, `NAME[index]=value` or `NAME=(word …)`."""

    name: str
    value: Word | tuple[Word, ...]
    append: bool = False
    index: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Redirect:
    """`operator` with its target; for a here-document the target is its body."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments, then words, with redirections anywhere between them."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word | Assignment, ...]
    redirects: tuple[Redirect, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Condition:
    """`[[ … ]]`; operators that the shell itself takes (`&&`, `<`, `(`) are plain strings."""

    tokens: tuple[Word | str, ...]


@dataclass(frozen=True, slots=True)
class ArithmeticCommand:
    """`(( expression ))`."""

    expression: str


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`; `negated` by a leading `!`."""

    commands: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """`first && second || third`: the first command, then (operator, command) from the left."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Commands one after the other; a `subshell` keeps its variables to itself."""

    commands: tuple[Node, ...]
    subshell: bool = False
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    """(condition, body) for `if` and each `elif`; `otherwise` for `else`."""

    branches: tuple[tuple[Block, Block], ...]
    otherwise: Block | None
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class While:
    """`while`, or `until` where `negated`."""

    condition: Block
    body: Block
    negated: bool = False
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    """`for name in words`; without `in` over the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: Block
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class ArithmeticFor:
    """`for ((first; condition; step))`."""

    first: str
    condition: str
    step: str
    body: Block
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """`case word in`: (patterns, body, terminator) for each clause."""

    word: Word
    clauses: tuple[tuple[tuple[Word, ...], Block, str], ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A function's definition."""

    name: str
    body: Node


Node = (
    Simple
    | Condition
    | ArithmeticCommand
    | Pipeline
    | Chain
    | Block
    | If
    | While
    | For
    | ArithmeticFor
    | Case
    | Function
)
