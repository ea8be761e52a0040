"""NCCL's own configuration files: `NCCL_CONF_FILE` or `~/.nccl.conf`, then `/etc/nccl.conf`.

Restates `src/misc/param.cc` (`setEnvFile`, `initEnvFunc`, `userHomeDir`) per release. A line is
`NAME=VALUE`, split at the first `=`, and nothing is trimmed, unquoted or expanded. What is set
already stays: the process first, then the user's file, then `/etc/nccl.conf`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from specpreflight.models.finding import Origin
from specpreflight.models.launch import Variable
from specpreflight.models.nccl import Release
from specpreflight.sources.assignment import Assignment
from specpreflight.sources.nccl_places import SYSTEM_FILE
from specpreflight.sources.text_file import read_bytes

_CONF_FILE_VARIABLE: Final = Release(2, 23, 4)
_COMMENTS: Final = Release(2, 26, 2)
#: From here on HOME says where the home is, a CR before the line end goes, and lines are read in
#: pieces of 4095 bytes (the rest of a longer one counts as a line of its own).
_HOME_VARIABLE: Final = Release(2, 30, 3)
_LONGEST_PIECE: Final = 4095
_LONGEST_TEXT: Final = 1023
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def read_nccl_conf(
    environment: Mapping[str, str],
    release: Release,
    passwd_home: Path | None,
    system_file: Path = SYSTEM_FILE,
    here: Callable[[Path], Path] = Path,
) -> dict[str, Variable]:
    """Return the variables that NCCL's files add to an environment.

    `passwd_home` is the home of the password database, which releases before 2.30.3 use whatever
    HOME says; `here` returns where a file is on this machine, if the launch is on another one. A
    file that is not there adds nothing, as in NCCL.

    Raises:
        InputError: a file is there and cannot be read, or is no text.
    """
    added: dict[str, Variable] = {}
    for path in conf_files(environment, release, passwd_home, system_file):
        place = here(path)
        if not place.exists():
            continue
        for line in parse_nccl_conf(read_bytes(place, str(path)), release):
            if line.name not in environment and line.name not in added:
                origin = Origin("file", path=str(path), line=line.line, column=1)
                added[line.name] = Variable(line.name, line.value, origin)
    return added


def conf_files(
    environment: Mapping[str, str],
    release: Release,
    passwd_home: Path | None,
    system_file: Path = SYSTEM_FILE,
) -> list[Path]:
    """Return the files that NCCL looks for, in the order in which it reads them."""
    named = environment.get("NCCL_CONF_FILE") if release >= _CONF_FILE_VARIABLE else None
    if named:
        return [Path(named[:_LONGEST_TEXT]), system_file]
    if release >= _HOME_VARIABLE:
        home = environment.get("HOME")
        return [*([] if home is None else [Path(f"{home}/.nccl.conf")]), system_file]
    return [*([] if passwd_home is None else [passwd_home / ".nccl.conf"]), system_file]


def parse_nccl_conf(data: bytes, release: Release) -> Iterator[Assignment]:
    """Yield the assignments of a file as a release reads it, also those with an odd name."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        for piece in _pieces(line, release):
            if piece.startswith(b"#") and release >= _COMMENTS:
                continue
            name, equals, value = piece.partition(b"\0")[0].partition(b"=")
            if not equals or not name:
                continue
            text, note = _decode(value[:_LONGEST_TEXT]), ""
            if len(value) > _LONGEST_TEXT or len(name) > _LONGEST_TEXT:
                note = f"cut off after {_LONGEST_TEXT} bytes"
            elif name.startswith(_BYTE_ORDER_MARK):
                note = "the byte-order mark belongs to the name, which nobody reads then"
            elif text != text.strip() or name != name.strip():
                note = "the blanks belong to the name or the value"
            yield Assignment(_decode(name[:_LONGEST_TEXT]), text, number, 1, note)


def _pieces(line: bytes, release: Release) -> Iterator[bytes]:
    if release < _HOME_VARIABLE:
        yield line
        return
    for start in range(0, max(len(line), 1), _LONGEST_PIECE):
        yield line[start : start + _LONGEST_PIECE].removesuffix(b"\r")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
