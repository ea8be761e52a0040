"""Programs that only turn text into text (`head`, `cut`, `seq`), on what is known of it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence

from specpreflight.sources.shell.builtins import unescape
from specpreflight.sources.shell.variables import reveal

_LONGEST_SEQUENCE = 10_000


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
        unescape(word),
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
