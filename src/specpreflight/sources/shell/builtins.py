"""The shell's own commands, as far as they change what a launch is given."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from specpreflight.sources.shell.execution import Exit, Leave, Return
from specpreflight.sources.shell.expansion import split_fields
from specpreflight.sources.shell.syntax import Assignment
from specpreflight.sources.shell.variables import reveal

if TYPE_CHECKING:
    from specpreflight.sources.shell.interpreter import Shell

Argument = str | Assignment
Builtin = Callable[["Shell", Sequence[Argument]], bool]


def find(name: str) -> Builtin | None:
    """Return the builtin of this name."""
    return _BUILTINS.get(name)


def _texts(arguments: Sequence[Argument]) -> list[str]:
    return [argument for argument in arguments if isinstance(argument, str)]


def _succeed(shell: Shell, arguments: Sequence[Argument]) -> bool:
    return True


def _fail(shell: Shell, arguments: Sequence[Argument]) -> bool:
    return False


def _echo(shell: Shell, arguments: Sequence[Argument]) -> bool:
    words = _texts(arguments)
    end = "\n"
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        flags = words.pop(0)
        end = "" if "n" in flags else end
        escapes |= "e" in flags
    text = " ".join(words)
    shell.output.append((unescape(text) if escapes else text) + end)
    return True


def unescape(text: str) -> str:
    """Undo the backslash escapes that `echo -e` and `printf` know."""
    simple = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", "0": "\0", "e": "\x1b"}
    return re.sub(r"\\(.)", lambda found: simple.get(found.group(1), found.group()), text)


def _printf(shell: Shell, arguments: Sequence[Argument]) -> bool:
    words = _texts(arguments)
    name = None
    if words[:1] == ["-v"] and len(words) > 1:
        name = words[1]
        words = words[2:]
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        return True
    text = _formatted(unescape(words[0]), words[1:])
    if name is None:
        shell.output.append(text)
    else:
        shell.variables.assign(name, text, shell.path, shell.line)
    return True


def _formatted(template: str, words: list[str]) -> str:
    """Apply a printf format as often as it takes to use up the words."""
    directive = re.compile(r"%(?:%|([-+ #0]*\d{0,3}(?:\.\d{1,3})?)([sdiuxXofFeEgGbqc]))")
    shown = []
    while True:
        used = False

        def replace(match: re.Match[str]) -> str:
            nonlocal used
            flags, kind = match.groups()
            if kind is None:
                return "%"
            used = True
            word = words.pop(0) if words else ""
            if kind == "q":
                return re.sub(r"([^\w@%+=:,./-])", r"\\\1", word) or "''"
            if kind == "b":
                return unescape(word)
            number = re.fullmatch(r"\s*[-+]?\d+(\.\d+)?\s*", word)
            if kind in "sc" or not number:
                return f"%{flags}s" % word
            value = float(word) if kind in "fFeEgG" else int(float(word))
            return f"%{flags}{'d' if kind in 'iu' else kind}" % value

        shown.append(directive.sub(replace, template))
        if not words or not used:
            return "".join(shown)


def _export(shell: Shell, arguments: Sequence[Argument]) -> bool:
    exported = True
    for argument in arguments:
        if isinstance(argument, Assignment):
            shell.assign(argument)
            name = argument.name
        elif argument.startswith("-"):
            exported = "n" not in argument
            if "f" in argument or "p" in argument:
                return True
            continue
        else:
            name, found, value = argument.partition("=")
            if found:
                shell.variables.assign(name, value, shell.path, shell.line)
        cell = shell.variables.find(name)
        if cell is None:
            cell = shell.variables.declare(name)
        cell.exported = exported
        cell.path, cell.line = shell.path, shell.line
    return True


def _declare(shell: Shell, arguments: Sequence[Argument]) -> bool:
    flags = "".join(
        argument[1:] for argument in _texts(arguments) if re.fullmatch(r"-\w+", argument)
    )
    for argument in arguments:
        if isinstance(argument, Assignment):
            name = argument.name
            if "n" in flags:
                _refer(shell, name, argument)
                continue
            shell.assign(argument, local="g" not in flags)
        elif argument.startswith(("-", "+")):
            continue
        else:
            name, found, value = argument.partition("=")
            cell = shell.variables.declare(name) if "g" not in flags else None
            if found:
                shell.variables.assign(name, value, shell.path, shell.line)
            elif cell is not None and cell.value is None:
                cell.value = {} if set(flags) & set("aA") else None
        cell = shell.variables.find(name)
        if cell is not None and "x" in flags:
            cell.exported = True
    return True


def _refer(shell: Shell, name: str, assignment: Assignment) -> None:
    """Do `local -n name=other`: both names are one variable."""
    shell.assign(assignment, local=True)
    target = shell.variables.text(name) or ""
    del shell.variables.scopes[-1][name]
    cell = shell.variables.find(target) or shell.variables.assign(target, {})
    shell.variables.scopes[-1][name] = cell


def _readonly(shell: Shell, arguments: Sequence[Argument]) -> bool:
    for argument in arguments:
        if isinstance(argument, Assignment):
            shell.assign(argument)
    return True


def _unset(shell: Shell, arguments: Sequence[Argument]) -> bool:
    for name in _texts(arguments):
        if name == "-f":
            return True
        if not name.startswith("-"):
            base, bracket, index = name.partition("[")
            if bracket:
                shell.variables.elements(base).pop(index.rstrip("]"), None)
            else:
                shell.variables.unset(base)
    return True


def _set(shell: Shell, arguments: Sequence[Argument]) -> bool:
    words = _texts(arguments)
    at = 0
    while at < len(words) and words[at][:1] in "-+" and words[at] != "--":
        word = words[at]
        if "a" in word[1:] and word not in ("-o", "+o"):
            shell.variables.export_all = word[0] == "-"
        if word in ("-o", "+o") or (word[1:].endswith("o") and len(word) > 2):
            at += 1
            if words[at : at + 1] == ["allexport"]:
                shell.variables.export_all = word[0] == "-"
        at += 1
    if at < len(words):
        shell.expansion.positional = words[at + (words[at] == "--") :]
    elif words[-1:] == ["--"]:
        shell.expansion.positional = []
    return True


def _shift(shell: Shell, arguments: Sequence[Argument]) -> bool:
    words = _texts(arguments)
    count = int(words[0]) if words and words[0].isdigit() else 1
    positional = shell.expansion.positional
    if count > len(positional):
        shell.expansion.positional = []
        return False
    shell.expansion.positional = positional[count:]
    return True


def _eval(shell: Shell, arguments: Sequence[Argument]) -> bool:
    shell.run_text(" ".join(_texts(arguments)), shell.line)
    return True


def _source(shell: Shell, arguments: Sequence[Argument]) -> bool:
    words = _texts(arguments)
    return shell.source(words[0], words[1:]) if words else True


def _exit(shell: Shell, arguments: Sequence[Argument]) -> bool:
    if shell.guesses:
        shell.note(f"line {shell.line}: assumed that the script does not exit here")
        return True
    raise Exit


def _return(shell: Shell, arguments: Sequence[Argument]) -> bool:
    words = _texts(arguments)
    raise Return(words[:1] in ([], ["0"]) or bool(shell.guesses))


def _break(shell: Shell, arguments: Sequence[Argument]) -> bool:
    return _leave(arguments, again=False)


def _continue(shell: Shell, arguments: Sequence[Argument]) -> bool:
    return _leave(arguments, again=True)


def _leave(arguments: Sequence[Argument], again: bool) -> bool:
    words = _texts(arguments)
    raise Leave(int(words[0]) if words and words[0].isdigit() else 1, again)


def _test(shell: Shell, arguments: Sequence[Argument]) -> bool:
    return shell.test(_texts(arguments))


def _bracket(shell: Shell, arguments: Sequence[Argument]) -> bool:
    words = _texts(arguments)
    return shell.test(words[:-1] if words[-1:] == ["]"] else words)


def _let(shell: Shell, arguments: Sequence[Argument]) -> bool:
    result = "0"
    for expression in _texts(arguments):
        result = shell.expansion.arithmetic(expression)
    return result != "0"


def _cd(shell: Shell, arguments: Sequence[Argument]) -> bool:
    words = [reveal(word) for word in _texts(arguments) if not word.startswith("-")]
    if words and words[0] != ".":
        shell.directory = posixpath.normpath(posixpath.join(shell.directory or "", words[0]))
    return True


def _pwd(shell: Shell, arguments: Sequence[Argument]) -> bool:
    shell.output.append((shell.directory or "$(pwd)") + "\n")
    return True


def _read(shell: Shell, arguments: Sequence[Argument]) -> bool:
    names: list[str] = []
    array = None
    delimiter = "\n"
    words = iter(_texts(arguments))
    raw = False
    for word in words:
        if not word.startswith("-") or word == "-":
            names.append(word)
            continue
        raw |= "r" in word
        option = word[-1]
        if option in "adptnNui" and not (len(word) > 2 and word[1] in "dptnNui"):
            value = next(words, "")
            array = value if option == "a" else array
            delimiter = value if option == "d" else delimiter
        elif word[1] == "d":
            delimiter = word[2:]
    line = shell.input.read(delimiter)
    separators = shell.variables.text("IFS")
    separators = " \t\n" if separators is None else separators
    if line is None:
        if array is None:
            for name in names:
                shell.variables.assigned.add(name)
        return False
    if not raw:
        line = line.replace("\\\n", "")
    if array is not None:
        fields = [field for field in split_fields(line, separators) if field is not None]
        elements = {str(at): field for at, field in enumerate(fields)}
        shell.variables.assign(array, elements, shell.path, shell.line)
        return True
    for name, value in zip(names, _distributed(line, len(names), separators), strict=True):
        shell.variables.assign(name, value, shell.path, shell.line)
    return delimiter != ""


def _distributed(line: str, count: int, separators: str) -> list[str]:
    """Split a line over `count` variables, the last of which takes the rest."""
    blanks = "".join(set(separators) & set(" \t\n"))
    rest = line.strip(blanks) if blanks else line
    values: list[str] = []
    while len(values) < count - 1:
        match = re.search(f"[{re.escape(separators)}]", rest) if separators else None
        if match is None:
            values.append(rest)
            rest = ""
            continue
        values.append(rest[: match.start()])
        rest = rest[match.end() :].lstrip(blanks) if blanks else rest[match.end() :]
    return [*values, rest][:count]


def _mapfile(shell: Shell, arguments: Sequence[Argument]) -> bool:
    names = [word for word in _texts(arguments) if not word.startswith("-")]
    lines = shell.input.text.splitlines()
    elements = {str(at): line for at, line in enumerate(lines)}
    shell.variables.assign(names[-1] if names else "MAPFILE", elements, shell.path, shell.line)
    shell.input.text = ""
    return True


def _getopts(shell: Shell, arguments: Sequence[Argument]) -> bool:
    """Take one option of the positional parameters (bash manual 4.1)."""
    options, name, *given = [*_texts(arguments), "", ""][:2] + _texts(arguments)[2:]
    words = given or shell.expansion.positional
    at = int(shell.variables.text("OPTIND") or "1") - 1
    word = words[at] if at < len(words) else ""
    if not word.startswith("-") or word in ("-", "--"):
        return False
    letter, attached = word[1], word[2:]
    known = letter in options
    shell.variables.assign(name, letter if known else "?", shell.path, shell.line)
    if known and options[options.index(letter) + 1 : options.index(letter) + 2] == ":":
        value = attached or (words[at + 1] if at + 1 < len(words) else "")
        shell.variables.assign("OPTARG", value, shell.path, shell.line)
        at += not attached
    shell.variables.assign("OPTIND", str(at + 2))
    return True


_BUILTINS: dict[str, Builtin] = {
    **dict.fromkeys(
        (":", "true", "trap", "wait", "umask", "ulimit", "shopt", "hash", "alias", "popd", "jobs"),
        _succeed,
    ),
    **dict.fromkeys(("declare", "typeset", "local"), _declare),
    **dict.fromkeys((".", "source"), _source),
    **dict.fromkeys(("mapfile", "readarray"), _mapfile),
    **dict.fromkeys(("cd", "pushd"), _cd),
    "false": _fail,
    "echo": _echo,
    "printf": _printf,
    "export": _export,
    "readonly": _readonly,
    "unset": _unset,
    "set": _set,
    "shift": _shift,
    "eval": _eval,
    "exit": _exit,
    "return": _return,
    "break": _break,
    "continue": _continue,
    "test": _test,
    "[": _bracket,
    "let": _let,
    "pwd": _pwd,
    "read": _read,
    "getopts": _getopts,
}
