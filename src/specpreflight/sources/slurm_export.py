"""What `#SBATCH --export` hands from the submitting shell to a batch job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_LINE: Final = re.compile(r"#SBATCH\s+(.*)$")
_EXPORT: Final = re.compile(r"--export(?:=|\s+)(\"[^\"]*\"|\S+)")
_ITEM: Final = re.compile(r"((?:'[^']*'|\"[^\"]*\"|[^,])+)")


@dataclass(frozen=True, slots=True)
class SlurmExport:
    """The option as written: `values` that it sets, and `names` that it copies.

    `names` is `None` where the whole environment is copied, as it is without the option.
    """

    values: tuple[tuple[str, str, int], ...]
    names: frozenset[str] | None


def read_slurm_export(text: str) -> SlurmExport | None:
    """Return what the last `#SBATCH --export` of a script says, `None` without one.

    Slurm stops at the first line that is neither empty nor a comment.
    """
    found = None
    for number, line in _head(text):
        comment = _LINE.match(line)
        option = _EXPORT.search(comment[1]) if comment is not None else None
        if option is not None:
            found = _parse(option[1].strip('"'), number)
    return found


def _head(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            return
        yield number, line


def _parse(option: str, line: int) -> SlurmExport:
    values, names = [], set()
    for item in _ITEM.findall(option):
        name, equals, value = item.partition("=")
        if equals:
            values.append((name, _unquoted(value), line))
        else:
            names.add(name)
    copies_all = "ALL" in names
    return SlurmExport(tuple(values), None if copies_all else frozenset(names - {"NONE", "NIL"}))


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value
