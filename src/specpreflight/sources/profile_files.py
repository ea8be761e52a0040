"""Files that shells and logins read by themselves: who gets the variables that they set.

`/etc/environment` is read by PAM when a session begins, the profile files by login shells,
`~/.bashrc` by interactive shells and by bash when ssh starts it with a command. Most `.bashrc`
files leave at once in that case: what stands behind this guard reaches only terminals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from specpreflight.models.command import find_markers
from specpreflight.models.finding import Origin
from specpreflight.models.launch import Variable
from specpreflight.sources.shell import Shell
from specpreflight.sources.text_file import read_text_file

#: Who reads a file: PAM sessions, login shells, every bash on a terminal and each `ssh host cmd`,
#: or (behind the guard) terminals only.
Readers = Literal["session", "login", "bash", "terminal"]

_INTERACTIVE: Final = "himBHs"
_DOLLAR_DASH: Final = re.compile(r"\$-|\$\{-\}")
_PAM_LINE: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)")


@dataclass(frozen=True, slots=True)
class ProfileSetting:
    """A variable that a profile file sets, and who gets it."""

    variable: Variable
    readers: Readers


def read_profile_files(home: Path, root: Path = Path("/")) -> list[ProfileSetting]:
    """Read the files of a user and of the machine that exist, in the order of a login.

    Raises:
        InputError: a file is there and cannot be read, or is no text.
    """
    found: list[ProfileSetting] = []
    for path in _files(home, root):
        if path.is_file():
            found.extend(read_profile_file(path))
    return found


def _files(home: Path, root: Path) -> Iterator[Path]:
    yield root / "etc" / "environment"
    yield root / "etc" / "profile"
    folder = root / "etc" / "profile.d"
    if folder.is_dir():
        yield from sorted(folder.glob("*.sh"))
    login = [home / name for name in (".bash_profile", ".bash_login", ".profile")]
    yield from [path for path in login if path.is_file()][:1]
    yield home / ".bashrc"


def read_profile_file(path: Path, given: str | None = None) -> list[ProfileSetting]:
    """Read one file; its name says who reads it.

    Raises:
        InputError: it cannot be read, or is no text.
    """
    name = str(path) if given is None else given
    text = read_text_file(path, name)
    if path.name == "environment":
        return [ProfileSetting(known, "session") for known in read_pam_environment(text, name)]
    if path.name not in (".bashrc", "bash.bashrc", "bashrc"):
        return [ProfileSetting(known, "login") for known in _exported(text, name).values()]
    always = _exported(text, name)
    terminal = _exported(_DOLLAR_DASH.sub(_INTERACTIVE, text), name, {"PS1": "$ "})
    return [
        ProfileSetting(known, "bash" if name in always else "terminal")
        for name, known in {**terminal, **always}.items()
        if name != "PS1"
    ]


def read_pam_environment(text: str, name: str) -> Iterator[Variable]:
    """Read `/etc/environment` as pam_env does: one NAME=VALUE a line, quotes around it dropped.

    A `#` ends the line even inside a value; `$NAME` is not expanded.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        match = _PAM_LINE.match(line.partition("#")[0].rstrip())
        if match is None:
            continue
        value = match[2].strip()
        if value[:1] in ("'", '"'):
            value = value[1:].removesuffix(value[0])
        yield Variable(match[1], value, Origin("file", path=name, line=number, column=1))


def _exported(text: str, name: str, given: Mapping[str, str] | None = None) -> dict[str, Variable]:
    """Return what a shell that reads this text exports; what it cannot know has no value."""
    shell = Shell(lambda execution: None, lambda path: None, given or {"PS1": ""}, path=name)
    shell.run(text)
    exported = {}
    for known in shell.variables.exported():
        value = None if find_markers([known.value or ""]) else known.value
        origin = Origin("file", path=name, line=known.origin.line, column=1)
        exported[known.name] = Variable(known.name, value, origin)
    return exported
