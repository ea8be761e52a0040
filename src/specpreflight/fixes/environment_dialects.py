"""How seven kinds of file write `NAME=VALUE`, each so that its own reader gives the value back.

A text that a kind cannot hold is refused instead of being changed: docker's env files and
nccl.conf have no quoting, so no line break fits in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from specpreflight.errors import InputError

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Texts that no reader of the line formats takes for anything but themselves.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.,:/^=+@%\\-]*")
_LONGEST_CONF_VALUE: Final = 1023


@dataclass(frozen=True, slots=True)
class Dialect:
    """A kind of file that holds one assignment a line.

    Attributes:
        name: as in `--to NAME`.
        render: returns the line for a variable, or raises `InputError`.
        assignment: a regular expression of the line (or lines) that set the variable `{name}`.
        reader: who reads it, for messages.
    """

    name: str
    render: Callable[[str, str], str]
    assignment: str
    reader: str


def check_name(name: str) -> str:
    """Return the name if every kind of file can hold it.

    Raises:
        InputError: it has other characters than letters, digits and underscores.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is no name of a variable that a file can hold")
    return name


def render_shell(name: str, value: str) -> str:
    """Return `export NAME='value'` for any POSIX shell."""
    return f"export {check_name(name)}={shlex.quote(_printable(name, value, 'a shell script'))}"


def render_dotenv(name: str, value: str) -> str:
    r"""Return a line that python-dotenv and Compose's `env_file` read alike.

    Single quotes are literal in both except for `${`; double quotes know the same escapes, but
    Compose expands `$` in them, and python-dotenv takes `\\"` at the end for an escaped quote.
    """
    _printable(name, value, "an env file")
    if _PLAIN.fullmatch(value):
        return f"{check_name(name)}={value}"
    if "${" in value or "\r" in value:
        raise InputError(f"{name}: dotenv readers change `${{` and CR, so the value cannot be kept")
    if "'" not in value and "\\" not in value:
        return f"{check_name(name)}='{value}'"
    if "$" in value or value.endswith("\\"):
        raise InputError(f"{name}: dotenv readers differ on such `$`, quotes and backslashes")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{check_name(name)}="{quoted}"'


def render_docker(name: str, value: str) -> str:
    """Return a line for `docker run --env-file`, which takes everything literally."""
    if "\n" in value or value.endswith("\r"):
        raise InputError(f"{name}: docker's env files cannot hold a line break")
    return f"{check_name(name)}={_printable(name, value, 'an env file')}"


def render_nccl_conf(name: str, value: str) -> str:
    """Return a line for NCCL's own file, which takes everything literally."""
    if "\n" in value or value.endswith("\r"):
        raise InputError(f"{name}: nccl.conf cannot hold a line break")
    if len(value.encode("utf-8", "surrogateescape")) > _LONGEST_CONF_VALUE:
        raise InputError(f"{name}: nccl.conf cuts values after {_LONGEST_CONF_VALUE} bytes")
    return f"{check_name(name)}={value}"


def render_systemd(name: str, value: str) -> str:
    """Return `Environment="NAME=value"` with systemd's escapes; `%` is doubled, `$` is not."""
    text = _escaped(_printable(name, value, "a unit")).replace("%", "%%")
    return f'Environment="{check_name(name)}={text}"'


def render_yaml(value: str) -> str:
    """Return a YAML string in double quotes; what does not print is escaped."""
    return f'"{_escaped(value)}"'


def _escaped(value: str) -> str:
    """Escape a text for double quotes, as YAML and systemd both read it."""
    return "".join(_escape(character) for character in value)


def _escape(character: str) -> str:
    if character in '\\"':
        return f"\\{character}"
    code = ord(character)
    if character.isprintable() or code > 0xFFFF:
        return character
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"


def render_compose(value: str) -> str:
    """Return a YAML string in which Compose expands nothing."""
    return render_yaml(value.replace("$", "$$"))


def render_kubernetes(value: str) -> str:
    """Return a YAML string in which Kubernetes expands no `$(NAME)`."""
    return render_yaml(value.replace("$(", "$$("))


def _printable(name: str, value: str, where: str) -> str:
    """Return a value without NUL bytes and lone bytes, which no text file can hold.

    Raises:
        InputError: it has some.
    """
    if "\0" in value:
        raise InputError(f"{name}: a NUL byte cannot be in {where}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{name}: bytes that are not UTF-8 cannot be in {where}") from None
    return value


_QUOTED: Final = r"(?:'(?:\\'|[^'])*'|\"(?:\\.|[^\"\\])*\"|[^\n]*)"

#: The kinds with one assignment a line, by their name after `--to`.
DIALECTS: Final[Mapping[str, Dialect]] = {
    dialect.name: dialect
    for dialect in (
        Dialect("shell", render_shell, rf"^[ \t]*export[ \t]+{{name}}={_QUOTED}[^\n]*$", "bash"),
        Dialect(
            "dotenv",
            render_dotenv,
            rf"^[ \t]*(?:export[ \t]+)?{{name}}[ \t]*=[ \t]*{_QUOTED}[^\n]*$",
            "python-dotenv",
        ),
        Dialect("docker", render_docker, r"^[ \t]*{name}=[^\n]*$", "docker run --env-file"),
        Dialect("nccl.conf", render_nccl_conf, r"^{name}=[^\n]*$", "NCCL"),
    )
}
