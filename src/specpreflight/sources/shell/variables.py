"""The shell's variables: values, arrays, what is exported, what nobody has set."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from specpreflight.models.command import variable
from specpreflight.models.launch import Variable

#: Always set in a login; never taken as empty although a script assigns them.
_EVERYWHERE = frozenset({"PATH", "HOME", "USER", "PWD", "HOSTNAME", "SHELL", "LANG", "TERM"})

#: What the kernel takes as one argument (MAX_ARG_STRLEN); a value that doubles in a loop ends here.
_LONGEST_VALUE = 131_072
_MARKER = re.compile(r"\$\{\w+\}")

# Blanks inside the marker of an unknown command must not split a word. They stand for themselves
# again when a process begins, since a process is given whole words.
_PROTECT = {ord(blank): 0xE000 + ord(blank) for blank in " \t\n"}
_REVEAL = {protected: blank for blank, protected in _PROTECT.items()}


def protect(text: str) -> str:
    """Return text whose blanks do not split words."""
    return text.translate(_PROTECT)


def reveal(text: str) -> str:
    """Return text with its blanks as they are."""
    return text.translate(_REVEAL)


def is_marker(value: str) -> bool:
    """Say whether a value is nothing but a variable that nobody has set."""
    return _MARKER.fullmatch(value) is not None


@dataclass(slots=True)
class Cell:
    """One variable: text, an array by index or key, or declared without a value."""

    value: str | dict[str, str] | None
    exported: bool = False
    given: bool = False
    path: str | None = None
    line: int | None = None


class Variables:
    """Scopes of variables, the innermost last; `assigned` are names that the script ever sets.

    A name that is read before it is set is a marker, `${NAME}`, since the caller may supply it.
    Only where the script itself sets it somewhere (`PYTHONPATH=/patches:$PYTHONPATH`) it counts
    as empty, which is what bash makes of it.
    """

    def __init__(self, given: Mapping[str, str], assigned: Iterable[str] = ()) -> None:
        self.scopes: list[dict[str, Cell]] = [
            {name: Cell(value, exported=True, given=True) for name, value in given.items()}
        ]
        self.assigned = set(assigned) - _EVERYWHERE
        self.export_all = False

    def find(self, name: str) -> Cell | None:
        """Return the visible variable."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def text(self, name: str, index: str | None = None) -> str | None:
        """Return a value, `None` where it is unset; an array's first element without an index."""
        cell = self.find(name)
        if cell is None or cell.value is None:
            return None
        if isinstance(cell.value, str):
            return cell.value if index in (None, "0") else None
        if index is None:
            return cell.value.get("0")
        if index.startswith("-") and index[1:].isdigit():
            keys = list(cell.value)
            at = int(index)
            return cell.value[keys[at]] if -at <= len(keys) else None
        return cell.value.get(index)

    def unset_text(self, name: str) -> str:
        """Return what an unset variable expands to."""
        return "" if name in self.assigned else f"${{{name}}}"

    def elements(self, name: str) -> dict[str, str]:
        """Return an array by index; a plain variable is an array of one."""
        cell = self.find(name)
        if cell is None or cell.value is None:
            return {}
        return {"0": cell.value} if isinstance(cell.value, str) else cell.value

    def assign(
        self, name: str, value: str | dict[str, str], path: str | None = None, line: int = 0
    ) -> Cell:
        """Set the visible variable, or a global one where there is none."""
        cell = self.find(name)
        if cell is None:
            cell = self.scopes[0][name] = Cell(None)
        if isinstance(value, str):
            value = value[:_LONGEST_VALUE]
        cell.value, cell.path, cell.line = value, path, line
        cell.exported |= self.export_all
        return cell

    def append(self, name: str, value: str | dict[str, str], path: str | None, line: int) -> None:
        """Do `NAME+=value` or `NAME+=(…)`."""
        cell = self.find(name)
        if isinstance(value, dict):
            elements = dict(self.elements(name))
            start = max((int(key) for key in elements if key.isdigit()), default=-1) + 1
            for offset, (key, element) in enumerate(value.items()):
                elements[str(start + offset) if key.isdigit() else key] = element
            self.assign(name, elements, path, line)
        elif cell is not None and isinstance(cell.value, dict):
            self.set_element(name, "0", cell.value.get("0", "") + value, path, line)
        else:
            self.assign(name, (self.text(name) or "") + value, path, line)

    def set_element(self, name: str, index: str, value: str, path: str | None, line: int) -> None:
        """Do `NAME[index]=value`."""
        self.assign(name, {**self.elements(name), index: value}, path, line)

    def declare(self, name: str) -> Cell:
        """Make a variable of the innermost scope."""
        scope = self.scopes[-1]
        if name not in scope:
            scope[name] = Cell(None)
        return scope[name]

    def unset(self, name: str) -> None:
        """Remove the visible variable; from now on it is known to be empty."""
        for scope in reversed(self.scopes):
            if name in scope:
                del scope[name]
                break
        self.assigned.add(name)

    def exported(self) -> Iterator[Variable]:
        """Yield what the script hands to the processes it starts, not what it was given."""
        yield from self._visible(lambda cell: cell.exported and not cell.given)

    def unexported(self) -> Iterator[Variable]:
        """Yield what is set, but stays in the shell."""
        yield from self._visible(lambda cell: not cell.exported and not cell.given)

    def handed_on(self) -> dict[str, str]:
        """Return what the script was given and hands on."""
        return {
            found.name: found.value or ""
            for found in self._visible(lambda cell: cell.exported and cell.given)
        }

    def _visible(self, wanted: Callable[[Cell], bool]) -> Iterator[Variable]:
        merged: dict[str, Cell] = {}
        for scope in self.scopes:
            merged.update(scope)
        for name, cell in merged.items():
            if isinstance(cell.value, str) and wanted(cell):
                yield variable(name, reveal(cell.value), cell.path, cell.line)

    def copy(self) -> Variables:
        """Return a copy for a subshell."""
        twin = Variables({}, self.assigned)
        twin.export_all = self.export_all
        twin.scopes = [
            {
                name: Cell(
                    dict(cell.value) if isinstance(cell.value, dict) else cell.value,
                    cell.exported,
                    cell.given,
                    cell.path,
                    cell.line,
                )
                for name, cell in scope.items()
            }
            for scope in self.scopes
        ]
        return twin
