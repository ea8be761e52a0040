"""The shell's own commands, as far as they change what a launch is given."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from specpreflight.sources.shell.expansion import split_fields
from specpreflight.sources.shell.syntax import Assignment
from specpreflight.sources.shell.variables import reveal

if TYPE_CHECKING:
    from specpreflight.sources.shell.interpreter import Shell

_LONGEST_SEQUENCE = 10_000
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
    shell.output.append((_unescape(text) if escapes else text) + end)
    return True


def _unescape(text: str) -> str:
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
    text = _formatted(_unescape(words[0]), words[1:])
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
                return _unescape(word)
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
    shell._run_text(" ".join(_texts(arguments)), shell.line)
    return True


def _source(shell: Shell, arguments: Sequence[Argument]) -> bool:
    words = _texts(arguments)
    return shell.source(words[0], words[1:]) if words else True


def _exit(shell: Shell, arguments: Sequence[Argument]) -> bool:
    from specpreflight.sources.shell.interpreter import Exit

    if shell.guesses:
        shell.note(f"line {shell.line}: assumed that the script does not exit here")
        return True
    raise Exit


def _return(shell: Shell, arguments: Sequence[Argument]) -> bool:
    from specpreflight.sources.shell.interpreter import Return

    words = _texts(arguments)
    raise Return(words[:1] in ([], ["0"]) or bool(shell.guesses))


def _break(shell: Shell, arguments: Sequence[Argument]) -> bool:
    return _leave(arguments, again=False)


def _continue(shell: Shell, arguments: Sequence[Argument]) -> bool:
    return _leave(arguments, again=True)


def _leave(arguments: Sequence[Argument], again: bool) -> bool:
    from specpreflight.sources.shell.interpreter import Leave

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

# Programs that only turn text into text, on what is known of it


def filter_text(
    words: Sequence[str], text: str, read_file: Callable[[str], str | None]
) -> str | None:
    """Return what a text filter prints, `None` where the program is none or that is not known.

    One that is given the marker of an unknown output keeps it: the first field of `$(hostname -I)`
    is still to be looked up by running `hostname -I`.
    """
    name = words[0].rsplit("/", 1)[-1]
    plain = reveal(text)
    if name in _FILTERS and plain.startswith("$(") and plain.rstrip().endswith(")"):
        return text
    if name == "cat":
        files = [text if word == "-" else read_file(word) for word in words[1:] or ("-",)]
        known = [file for file in files if file is not None]
        return "".join(known) if len(known) == len(files) else None
    do = _PROGRAMS.get(name)
    return do(list(words[1:]), text) if do else None


def _lines(words: list[str], text: str) -> int | None:
    joined = " ".join(words)
    match = re.fullmatch(r"-(?:n\s*)?(\d+)", joined)
    return int(match.group(1)) if match else (10 if not words else None)


def _head(words: list[str], text: str) -> str | None:
    count = _lines(words, text)
    return None if count is None else "".join(text.splitlines(keepends=True)[:count])


def _tail(words: list[str], text: str) -> str | None:
    count = _lines(words, text)
    if count is None:
        return None
    lines = text.splitlines(keepends=True)
    return "".join(lines[max(0, len(lines) - count) :])


def _seq(words: list[str], text: str) -> str | None:
    separator = "\n"
    numbers = []
    arguments = iter(words)
    for word in arguments:
        if word.startswith("-s"):
            separator = word[2:] or next(arguments, "\n")
        elif re.fullmatch(r"-?\d+", word):
            numbers.append(int(word))
        else:
            return None
    if not 1 <= len(numbers) <= 3:
        return None
    first, last = (numbers[0] if len(numbers) > 1 else 1), numbers[-1]
    step = numbers[1] if len(numbers) == 3 else 1
    if step == 0:
        return None
    values = range(first, last + (1 if step > 0 else -1), step)
    if len(values) > _LONGEST_SEQUENCE:
        return None
    return separator.join(map(str, values)) + "\n" if values else ""


def _basename(words: list[str], text: str) -> str | None:
    if not words:
        return None
    name = posixpath.basename(words[0].rstrip("/"))
    suffix = words[1] if len(words) > 1 else ""
    return (name.removesuffix(suffix) if name != suffix else name) + "\n"


def _dirname(words: list[str], text: str) -> str | None:
    return (posixpath.dirname(words[-1].rstrip("/")) or ".") + "\n" if words else None


def _tr(words: list[str], text: str) -> str | None:
    delete = words[:1] == ["-d"]
    sets = [_characters(word) for word in words if not word.startswith("-")]
    if delete and sets:
        return text.translate({ord(character): None for character in sets[0]})
    if len(sets) != 2 or words[0].startswith("-") or not sets[1]:
        return None
    last = sets[1].ljust(len(sets[0]), sets[1][-1])
    return text.translate(dict(zip(map(ord, sets[0]), last, strict=False)))


def _characters(word: str) -> str:
    for name, range_ in (("[:upper:]", "A-Z"), ("[:lower:]", "a-z"), ("[:space:]", " \t\n")):
        word = word.replace(name, range_)
    return re.sub(
        r"(\w)-(\w)",
        lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))),
        _unescape(word),
    )


def _cut(words: list[str], text: str) -> str | None:
    match = re.fullmatch(r"-d\s*(.) -f\s*(\d+)|-f\s*(\d+) -d\s*(.)", " ".join(words))
    if match is None:
        return None
    delimiter = match.group(1) or match.group(4)
    at = int(match.group(2) or match.group(3)) - 1
    return "".join(
        (line if delimiter not in line else (line.split(delimiter)[at : at + 1] or [""])[0]) + "\n"
        for line in text.splitlines()
    )


def _awk(words: list[str], text: str) -> str | None:
    match = re.fullmatch(r"(?:-F\s*(\S) )?\{\s*print \$(\d+|NF)\s*;?\s*\}", " ".join(words))
    if match is None:
        return None
    shown = []
    for line in text.splitlines():
        fields = line.split(match.group(1)) if match.group(1) else line.split()
        at = len(fields) if match.group(2) == "NF" else int(match.group(2))
        shown.append((line if at == 0 else (fields[at - 1 : at] or [""])[0]) + "\n")
    return "".join(shown)


def _sort(words: list[str], text: str) -> str | None:
    if words not in ([], ["-u"]):
        return None
    lines = text.splitlines()
    return "".join(line + "\n" for line in sorted(set(lines) if words else lines))


def _count(words: list[str], text: str) -> str | None:
    if len(words) != 1 or "$(" in reveal(text) or not text:
        return None
    counts = {"-l": text.count("\n"), "-w": len(text.split()), "-c": len(text)}
    return f"{counts[words[0]]}\n" if words[0] in counts else None


_FILTERS = frozenset({"head", "tail", "cut", "tr", "sed", "awk", "sort", "uniq", "xargs", "grep"})
_PROGRAMS: dict[str, Callable[[list[str], str], str | None]] = {
    "head": _head,
    "tail": _tail,
    "seq": _seq,
    "basename": _basename,
    "dirname": _dirname,
    "tr": _tr,
    "cut": _cut,
    "awk": _awk,
    "sort": _sort,
    "wc": _count,
}
