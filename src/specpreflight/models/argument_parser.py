"""What argparse makes of a command line, from a plain table of options.

Restates CPython 3.11 `Lib/argparse.py` (`ArgumentParser._parse_known_args`, `_parse_optional`,
`_get_option_tuples`, `_get_values`), the parser of the engines' own images (3.10 to 3.12), on
any Python that runs this. Unlike argparse it does not stop at the first problem, so that a launch
with three wrong flags is told of three; `problems[0]` is what the engine would die with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Kind = Literal[
    "ambiguous",
    "expected-value",
    "ignored-value",
    "invalid-choice",
    "invalid-value",
    "refused",
    "required",
    "unrecognized",
]

#: Actions that take no value; every other one takes what its `nargs` says.
_BARE = frozenset(
    {"store_true", "store_false", "store_const", "boolean_optional", "count", "version", "help"}
)
_NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$")


class ConversionError(ValueError):
    """A converter's own message, as `argparse.ArgumentTypeError` carries it."""


class Option(NamedTuple):
    """One `add_argument`.

    Attributes:
        spellings: the option strings, in the order in which the engine gives them; empty for a
            positional argument.
        dest: the attribute that it sets.
        type: a name among the converters: `str`, `int`, `float`, `bool`, `json`, or the engine's.
        action: argparse's name, or an engine's own class name, which is taken as `store`.
        nargs: as argparse takes it; `None` for one value.
        choices: the allowed values; `None` where all are, or where they are not known.
        const: what `nargs="?"` without a value, or `store_const`, sets.
        fatal: the text with which the engine stops as soon as the option is given.
    """

    spellings: tuple[str, ...]
    dest: str
    type: str = "str"
    action: str = "store"
    nargs: int | str | None = None
    choices: tuple[Any, ...] | None = None
    default: Any = None
    required: bool = False
    const: Any = None
    fatal: str | None = None

    @property
    def name(self) -> str:
        """The spelling that its attribute is named after, else the first (`--tp-size`)."""
        wanted = "--" + self.dest.replace("_", "-")
        return wanted if wanted in self.spellings else (self.spellings or (self.dest,))[0]

    @property
    def takes_value(self) -> bool:
        """Say whether words that follow can belong to it."""
        return self.action not in _BARE and self.nargs != 0

    def named(self) -> str:
        """Return the name in argparse's messages (`--model-path/--model`)."""
        return "/".join(self.all_spellings()) or self.dest

    def all_spellings(self) -> tuple[str, ...]:
        """Return the spellings with the `--no-` forms that `BooleanOptionalAction` adds."""
        if self.action != "boolean_optional":
            return self.spellings
        return tuple(
            spelling
            for plain in self.spellings
            for spelling in ((plain, "--no-" + plain[2:]) if plain[:2] == "--" else (plain,))
        )


class Problem(NamedTuple):
    """One thing argparse would refuse: its text, and the words it is about."""

    kind: Kind
    message: str
    option: Option | None = None
    words: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()


class Given(NamedTuple):
    """An option as it was given: the spelling, and the words that it took."""

    option: Option
    spelling: str
    words: tuple[str, ...]
    position: int


class Arguments(NamedTuple):
    """A parsed command line.

    Attributes:
        values: attribute → converted value, defaults included.
        given: every option in order; of a repeated one the last counts.
        problems: in argparse's order, the first being the one that it stops with.
        unrecognized: the words that belong to nothing.
    """

    values: Mapping[str, Any]
    given: tuple[Given, ...]
    problems: tuple[Problem, ...]
    unrecognized: tuple[str, ...] = ()

    def repeated(self) -> Mapping[str, tuple[Given, ...]]:
        """Return the options given more than once, by attribute, where only the last counts."""
        found: dict[str, list[Given]] = {}
        for given in self.given:
            if given.option.action != "append":
                found.setdefault(given.option.dest, []).append(given)
        return {dest: tuple(all_of) for dest, all_of in found.items() if len(all_of) > 1}


def _json(text: str) -> Any:
    return json.loads(text)


#: Type → (name in messages, converter). `json.loads` is called `loads` by argparse.
Converters = Mapping[str, tuple[str, Callable[[str], Any]]]
_CONVERTERS: Converters = {
    "str": ("str", str),
    "int": ("int", int),
    "float": ("float", float),
    "bool": ("bool", bool),
    "json": ("loads", _json),
}


class Parser:
    """An `ArgumentParser` with its arguments added, for any number of command lines.

    Args:
        options: the parser's arguments in the order in which they were added, positional ones
            (without spellings) among them.
        converters: the engine's own types, beside `str`, `int`, `float`, `bool` and `json`.
        defaults: attribute → default, as `set_defaults` takes them.
    """

    def __init__(
        self,
        options: Sequence[Option],
        *,
        converters: Converters | None = None,
        defaults: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.converters = {**_CONVERTERS, **(converters or {})}
        self.by_spelling = index_options(options)
        self.positionals = [option for option in options if not option.spellings]
        self.required = [option for option in options if _is_required(option)]
        self.defaults: dict[str, Any] = {}
        for option in options:
            self.defaults.setdefault(option.dest, _default(option))
        self.defaults |= defaults
        short = (spelling for spelling in self.by_spelling if not spelling.startswith("--"))
        self.negative_options = any(map(_NEGATIVE_NUMBER.match, short))

    def parse(self, argv: Sequence[str], *, python: tuple[int, int] = (3, 11)) -> Arguments:
        """Parse a command line as `ArgumentParser.parse_args` does.

        Args:
            argv: the words after the entry point.
            python: the engine's Python. From 3.12 an ambiguous abbreviation is reported when its
                turn comes, before that ahead of everything else; from 3.13 choices are listed
                without quotes.
        """
        return _Parse(self, argv, python).run()


def _is_required(option: Option) -> bool:
    return option.required or (not option.spellings and option.nargs in (None, "+"))


def _default(option: Option) -> Any:
    if option.default is None and option.action in ("store_true", "store_false"):
        return option.action == "store_false"
    return option.default


def canonical_option(word: str, options: Sequence[Option]) -> Option | None:
    """Return the option that a spelling or unambiguous abbreviation names."""
    spelling = word.partition("=")[0]
    by_spelling = index_options(options)
    if spelling in by_spelling:
        return by_spelling[spelling]
    if not spelling.startswith("--"):
        return None
    found = {id(option): option for key, option in by_spelling.items() if key.startswith(spelling)}
    return next(iter(found.values())) if len(found) == 1 else None


def index_options(options: Sequence[Option]) -> dict[str, Option]:
    """Return the options by spelling, in the order of argparse's own table."""
    return {spelling: option for option in options for spelling in option.all_spellings()}


class _Match(NamedTuple):
    """What a word that looks like an option is taken for."""

    option: Option | None
    spelling: str
    explicit: str | None = None
    ambiguous: Problem | None = None


class _Parse:
    """One command line on its way through a parser."""

    def __init__(self, parser: Parser, argv: Sequence[str], python: tuple[int, int]) -> None:
        self.parser = parser
        self.argv = argv
        self.python = python
        self.values = dict(parser.defaults)
        self.given: list[Given] = []
        self.problems: list[Problem] = []
        self.extras: list[str] = []
        self.positionals = parser.positionals
        self.seen: set[int] = set()
        self.matches: dict[int, _Match] = {}

    def run(self) -> Arguments:
        pattern = self._classify()
        at = 0
        while pending := [index for index in self.matches if index >= at]:
            following = min(pending)
            if at != following:
                end = self._take_positionals(at, pattern)
                if end > at:
                    at = end
                    continue
            self.extras.extend(self.argv[at:following])
            at = self._take_option(following, pattern)
        end = self._take_positionals(at, pattern)
        self.extras.extend(self.argv[end:])
        self._check_required()
        if self.extras:
            self.problems.append(
                Problem(
                    "unrecognized",
                    "unrecognized arguments: " + " ".join(self.extras),
                    words=tuple(self.extras),
                )
            )
        return Arguments(self.values, tuple(self.given), tuple(self.problems), tuple(self.extras))

    # Which words are options (`_parse_optional`)

    def _classify(self) -> str:
        kinds = []
        for index, word in enumerate(self.argv):
            if word == "--":
                kinds.append("-")
                kinds.extend("A" * (len(self.argv) - index - 1))
                break
            match = self._match(word)
            kinds.append("A" if match is None else "O")
            if match is not None:
                self.matches[index] = match
                if match.ambiguous is not None and self.python < (3, 12):
                    self.problems.append(match.ambiguous)
        return "".join(kinds)

    def _match(self, word: str) -> _Match | None:
        if not word.startswith("-"):
            return None
        if word in self.parser.by_spelling:
            return _Match(self.parser.by_spelling[word], word)
        if len(word) == 1:
            return None
        spelling, equals, explicit = word.partition("=")
        if equals and spelling in self.parser.by_spelling:
            return _Match(self.parser.by_spelling[spelling], spelling, explicit)
        found = list(self._abbreviated(word))
        if len(found) > 1:
            matches = tuple(match.spelling for match in found)
            message = f"ambiguous option: {word} could match {', '.join(matches)}"
            problem = Problem("ambiguous", message, words=(word,), matches=matches)
            return _Match(None, word, ambiguous=problem)
        if found:
            return found[0]
        if _NEGATIVE_NUMBER.match(word) and not self.parser.negative_options:
            return None
        return None if " " in word else _Match(None, word)

    def _abbreviated(self, word: str) -> Iterator[_Match]:
        if word.startswith("--"):
            prefix, equals, explicit = word.partition("=")
            for spelling, option in self.parser.by_spelling.items():
                if spelling.startswith(prefix):
                    yield _Match(option, spelling, explicit if equals else None)
            return
        for spelling, option in self.parser.by_spelling.items():
            if spelling == word[:2]:
                yield _Match(option, spelling, word[2:])
            elif spelling.startswith(word):
                yield _Match(option, spelling)

    # Options and their values (`consume_optional`, `_get_values`)

    def _take_option(self, index: int, pattern: str) -> int:
        match = self.matches.pop(index)
        if match.ambiguous is not None:
            if self.python >= (3, 12):
                self.problems.append(match.ambiguous)
            return self._skip_values(index + 1, pattern)
        if match.option is None:
            self.extras.append(self.argv[index])
            return index + 1
        option, spelling, explicit = match.option, match.spelling, match.explicit
        while explicit is not None:
            count = self._count(option, "A")
            if count == 1:
                self._set(option, spelling, [explicit], index)
                return index + 1
            if count is None:
                return index + 1
            short = spelling[1] != "-" and explicit != ""
            following = self.parser.by_spelling.get(spelling[0] + explicit[:1]) if short else None
            if following is None:
                self._complain("ignored-value", option, f"ignored explicit argument {explicit!r}")
                return index + 1
            self._set(option, spelling, [], index)
            option, spelling = following, spelling[0] + explicit[0]
            explicit = explicit[1:] or None
        start = index + 1
        found = self._count(option, pattern[start:])
        if found is None:
            return start
        self._set(option, spelling, list(self.argv[start : start + found]), index)
        return start + found

    def _skip_values(self, start: int, pattern: str) -> int:
        """Pass over the words after an option that is none; argparse has stopped before."""
        end = start
        while end < len(pattern) and pattern[end] == "A":
            end += 1
        return end

    def _count(self, option: Option, pattern: str) -> int | None:
        """Return how many of the following words the option takes; complain if too few."""
        if not option.takes_value:
            return 0
        count = option.nargs
        values = len(pattern) - len(pattern.lstrip("A"))
        if count == "*" or (count == "+" and values):
            return values
        wanted = 1 if count in (None, "?", "+") else int(count)
        if values >= wanted:
            return wanted
        if count == "?":
            return 0
        if count is None:
            expected = "expected one argument"
        elif count == "+":
            expected = "expected at least one argument"
        else:
            expected = f"expected {count} argument{'' if count == 1 else 's'}"
        self._complain("expected-value", option, expected)
        return None

    def _complain(self, kind: Kind, option: Option, text: str, words: tuple[str, ...] = ()) -> None:
        self.problems.append(Problem(kind, f"argument {option.named()}: {text}", option, words))

    def _set(self, option: Option, spelling: str, words: list[str], index: int) -> None:
        self.seen.add(id(option))
        self.given.append(Given(option, spelling, tuple(words), index))
        if option.fatal is not None:
            self.problems.append(Problem("refused", option.fatal, option, (spelling,)))
            return
        before = len(self.problems)
        value = self._value(option, spelling, words)
        if len(self.problems) > before:
            return
        if option.action == "append":
            value = [*(self.values.get(option.dest) or ()), value]
        self.values[option.dest] = value

    def _value(self, option: Option, spelling: str, words: list[str]) -> Any:
        match option.action:
            case "store_true":
                return True
            case "store_false":
                return False
            case "store_const" | "version" | "help":
                return option.const
            case "boolean_optional":
                return not spelling.startswith("--no-")
            case "count":
                return (self.values.get(option.dest) or 0) + 1
        if "--" in words:
            words.remove("--")
        if option.nargs == "?" and not words:
            value = option.const if option.spellings else option.default
            return self._converted(option, value) if isinstance(value, str) else value
        if option.nargs in (None, "?") and len(words) == 1:
            return self._converted(option, words[0])
        if option.nargs == 0:
            return option.const
        return [self._converted(option, word) for word in words]

    def _converted(self, option: Option, word: str) -> Any:
        name, convert = self.parser.converters.get(option.type, (option.type, str))
        try:
            value = convert(word)
        except ConversionError as error:
            self._complain("invalid-value", option, str(error), (word,))
            return None
        except (TypeError, ValueError):
            self._complain("invalid-value", option, f"invalid {name} value: {word!r}", (word,))
            return None
        if option.choices is not None and value not in option.choices:
            show = repr if self.python < (3, 13) else str
            choices = ", ".join(map(show, option.choices))
            self._complain(
                "invalid-choice",
                option,
                f"invalid choice: {value!r} (choose from {choices})",
                (word,),
            )
        return value

    # Positional arguments (`consume_positionals`)

    def _take_positionals(self, start: int, pattern: str) -> int:
        for count in range(len(self.positionals), 0, -1):
            taken = self.positionals[:count]
            match = re.match("".join(map(_nargs_pattern, taken)), pattern[start:])
            if match is None:
                continue
            for option, group in zip(taken, match.groups(), strict=True):
                words = list(self.argv[start : start + len(group)])
                start += len(group)
                if words or option.nargs in ("?", "*"):
                    self.seen.add(id(option))
                if words:
                    self._set(option, option.dest, words, start - len(group))
            self.positionals = self.positionals[count:]
            break
        return start

    def _check_required(self) -> None:
        missing = [option for option in self.parser.required if id(option) not in self.seen]
        if missing:
            names = ", ".join(option.named() for option in missing)
            self.problems.append(
                Problem("required", f"the following arguments are required: {names}", missing[0])
            )


def _nargs_pattern(option: Option) -> str:
    """Return `_get_nargs_pattern`: `A` a value, `-` the word `--`, `O` an option."""
    if not option.takes_value:
        return "(-*-*)"
    match option.nargs:
        case None:
            return "(-*A-*)"
        case "?":
            return "(-*A?-*)"
        case "*":
            return "(-*[A-]*)"
        case "+":
            return "(-*[A][A-]*)"
        case count:
            return "(-*" + "-*".join("A" * int(count)) + "-*)"


def canonical_flags(
    argv: Sequence[str], options: Sequence[Option], *, underscores: bool = False
) -> dict[str, Any]:
    """Return what a command line says, by the flags' own names without dashes.

    A value is the text as written (a list where several words follow), `True` for a bare flag; of
    a repeated flag the last counts. What the options do not know keeps its spelling. Words that
    belong to no flag are left out, except where no positional argument could take them: they are
    shown with the flag that they follow. With `underscores` (vLLM) they count as dashes.
    """
    positional = next((option for option in options if not option.spellings), None)
    by_spelling = index_options(options)
    found: dict[str, Any] = {}
    current: str | None = None
    takes_more = False
    known: Option | None = None
    for word in argv:
        if word.startswith("-") and len(word) > 1 and not _NEGATIVE_NUMBER.match(word):
            spelling, equals, value = word.partition("=")
            if underscores:
                head, dot, tail = spelling.partition(".")
                spelling = head.replace("_", "-") + dot + tail
            known = by_spelling.get(spelling) or canonical_option(spelling, options)
            current = _flag_name(known, spelling)
            found.pop(current, None)
            found[current] = value if equals else True
            takes_more = not equals and (known is None or known.takes_value)
        elif word[:1].isspace():
            continue
        elif current is not None and takes_more:
            before = found[current]
            found[current] = (
                word
                if before is True
                else ([*before, word] if isinstance(before, list) else [before, word])
            )
            several = known is not None and known.nargs not in (None, "?")
            takes_more = several or positional is None
        elif positional is not None and positional.dest not in found:
            found[positional.dest] = word
    return found


def _flag_name(option: Option | None, spelling: str) -> str:
    if option is None:
        return spelling.removeprefix("--")
    name = option.name.removeprefix("--")
    return f"no-{name}" if spelling == f"--no-{name}" else name
