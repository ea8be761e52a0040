"""Changes as text: sentences since a recorded launch, a table for two of a kind."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, NamedTuple, get_args

from specpreflight.models.change import Change, Consequence, Part, Since
from specpreflight.models.comparison import Comparison
from specpreflight.models.finding import MISSING
from specpreflight.reports.json import plain_data
from specpreflight.reports.text import Line, Piece, plain

_MARKS: Final = {"worse": "error", "better": "good", "other": "dim"}
#: The parts in the order in which they are listed.
PARTS: Final = get_args(Part)
#: Stands above what comes of no single change.
_TOGETHER: Final = "of several changes together, or of what is not compared"
#: Columns of the names in a table; a longer one has its values on lines of their own.
_NAMES: Final = 36
#: So many changed files are named; a model has hundreds of shards. JSON has them all.
_MOST_FILES: Final = 12


def render_comparison(comparison: Comparison, width: int = 80) -> str:
    """Return a table of what differs, a part after the other, with what each difference does."""
    lines = lay_out_comparison(comparison, width)
    return "".join("".join(map(plain, line)).rstrip() + "\n" for line in lines)


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON data."""
    data = plain_data(comparison)
    data["same"] = [
        {"part": part, "name": name, "value": plain_data(value)}
        for part, name, value in comparison.same
    ]
    return {"format_version": data.pop("format_version"), **data}


def render_comparison_json(comparison: Comparison) -> str:
    """Return a comparison as JSON text."""
    return json.dumps(comparison_data(comparison), indent=2, ensure_ascii=False) + "\n"


class Told(NamedTuple):
    """A sentence on what changed, without a final full stop, and what comes of it."""

    text: str
    consequences: tuple[Consequence, ...] = ()


def heading_of(since: Since) -> str:
    """Return what stands above the changes since a recorded launch, or instead of them."""
    return f"{'changed' if since.changes else 'nothing changed'} since {since.path}"


def tell_since(since: Since) -> Iterator[Told]:
    """Yield each change since a recorded launch, all changed files as one, and what is left."""
    files = [change for change in since.changes if change.note == "file"]
    for change in since.changes:
        if change not in files:
            yield Told(describe(change), change.consequences)
    if files:
        names = _some([f"{change.part}/{change.name}{_how(change)}" for change in files])
        yield Told(f"other files: {names}")
    if since.together:
        yield Told(_TOGETHER, since.together)


def tell_consequence(one: Consequence) -> str:
    """Return what comes of a change as a sentence, with the rule that knows it."""
    return f"{one.rule}: {one.text}" if one.rule else one.text


def lay_out_since(since: Since, width: int) -> Iterator[Line]:
    """Yield a sentence for each change since a recorded launch, and what comes of it."""
    yield (Piece(heading_of(since), "strong"),)
    for told in tell_since(replace(since, together=())):
        yield from _wrapped(told.text, width, 2)
        yield from _consequences(told.consequences, width)
    yield from _together(since.together, width)


def describe(change: Change) -> str:
    """Return a change as a sentence, without a final full stop."""
    old, new = _sides(change)
    note = f" ({change.note})" if change.note else ""
    match change.part:
        case "environment":
            return f"{change.name} {_was(change.before)}, {_is(change.after)}{note}"
        case "engine":
            return f"{change.name} {old} → {new}{note}"
        case "target" | "draft" if change.name == "path":
            return f"the {change.part}'s path: {old} → {new}"
        case "target" | "draft" if change.note:
            return f"the {change.part}'s {change.name} changed: {change.note}"
        case "target" | "draft":
            return f"the {change.part}'s config.json changed: {change.name} {old} → {new}"
        case "flags":
            old, new = (text if text != "-" else "not given" for text in (old, new))
            return f"{change.name} {old} → {new}{note}"
        case _:
            return f"{change.part}: {change.name} {old} → {new}{note}"


def lay_out_comparison(comparison: Comparison, width: int) -> Iterator[Line]:
    """Yield the lines of a table of two columns."""
    for letter, name, verdict in (
        ("A", comparison.before, comparison.before_verdict),
        ("B", comparison.after, comparison.after_verdict),
    ):
        said = "" if verdict is None else f": {verdict.summary.replace('`', '')}"
        lines = textwrap.wrap(f"{name}{said}", width - 3) or [""]
        yield (Piece(f"{letter}  ", "label"), Piece(lines[0]))
        yield from ((Piece("   " + line),) for line in lines[1:])
    rows = [*comparison.changes, *(_row(*same) for same in comparison.same)]
    if not rows:
        yield ()
        yield (Piece("no difference", "strong"),)
    rows.sort(key=lambda change: PARTS.index(change.part))
    for part, members in groupby(rows, key=lambda change: change.part):
        yield ()
        yield from _part(part, list(members), width)
    yield from _together(comparison.together, width)


def _row(part: Part, name: str, value: Any) -> Change:
    return Change(part, name, value, value, note="same")


def _part(part: Part, changes: Sequence[Change], width: int) -> Iterator[Line]:
    files = [change for change in changes if change.note == "file"]
    rows = [change for change in changes if change.note != "file"]
    names = min(max((len(change.name) for change in rows), default=0), _NAMES)
    values = max((width - names - 6) // 2, 8)
    yield (Piece(f"{part:<{names + 2}}  {'A':<{values}}  B", "strong"),)
    for change in rows:
        old, new = _sides(change)
        style = "dim" if change.note == "same" else ""
        if len(change.name) <= names and len(old) <= values and len(new) <= values:
            yield (Piece(f"  {change.name:<{names}}  {old:<{values}}  {new}", style),)
        else:
            yield (Piece(f"  {change.name}", style),)
            for letter, text in (("A", old), ("B", new)):
                yield from _wrapped(f"{letter}  {text}", width, 6, hanging=3)
        if change.rules:
            yield from _wrapped(f"read by {', '.join(change.rules)}", width, 6)
        if change.note and change.note != "same":
            yield from _wrapped(change.note, width, 6)
        yield from _consequences(change.consequences, width)
    if files:
        listed = _some([change.name + _how(change) for change in files])
        yield from _wrapped(f"other files: {listed}", width, 2)


def _consequences(consequences: Sequence[Consequence], width: int) -> Iterator[Line]:
    for one in consequences:
        yield from _wrapped(tell_consequence(one), width, 6, _MARKS[one.effect])


def _together(consequences: Sequence[Consequence], width: int) -> Iterator[Line]:
    if consequences:
        yield ()
        yield from _wrapped(_TOGETHER, width, 0, "strong")
        yield from _consequences(consequences, width)


def _some(names: Sequence[str]) -> str:
    left = len(names) - _MOST_FILES
    return ", ".join(names[:_MOST_FILES]) + (f" and {left} more" if left > 0 else "")


def _how(change: Change) -> str:
    if MISSING in (change.before, change.after):
        return " (new)" if change.before == MISSING else " (gone)"
    return ""


def _was(value: Any) -> str:
    return "was unset" if value == MISSING else f"was {show(value)}"


def _is(value: Any) -> str:
    return "is unset" if value == MISSING else f"is {show(value)}"


def _sides(change: Change) -> tuple[str, str]:
    """Return both values; a flag without a value is `given`, a key of its JSON is not."""
    is_bare = change.part == "flags" and "." not in change.name
    old, new = (
        "given" if value is True and is_bare else show(value)
        for value in (change.before, change.after)
    )
    return old, new


def show(value: Any) -> str:
    """Return a value for a reader: text as it is, else JSON; `-` for what is not there."""
    if value in (MISSING, ""):
        return "-" if value == MISSING else "(empty)"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _wrapped(
    text: str, width: int, indent: int, style: str = "", *, hanging: int = 2
) -> Iterator[Line]:
    lines = textwrap.wrap(
        text, max(width - indent - hanging, 24), break_long_words=False, break_on_hyphens=False
    )
    for number, line in enumerate(lines or [""]):
        yield (Piece(" " * (indent + (hanging if number else 0)) + line, style),)
