"""Read `specpreflight.toml`, or `[tool.specpreflight]` of a `pyproject.toml`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, NoReturn

from specpreflight.errors import InputError, UsageError
from specpreflight.models.configuration import CONFIGURATION
from specpreflight.models.finding import Severity
from specpreflight.models.policy import Ignore, PairGlobs
from specpreflight.sources.configuration_place import SHARED_FILE
from specpreflight.sources.text_file import read_text_file
from specpreflight.sources.toml_places import KeyPath, find_lines, nearest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the file `name` says.

    `baseline` is a path that can be opened from here; `rules` are the rules that it speaks of, each
    with its place.
    """

    name: str = ""
    rules: tuple[tuple[str, str], ...] = ()
    engines: tuple[str, ...] = ()
    fail_on: str | None = None
    severities: Mapping[str, Severity] = field(default_factory=dict)
    ignores: tuple[Ignore, ...] = ()
    baseline: str | None = None
    plugins: tuple[str, ...] = ()


def read_configuration(path: Path) -> Configuration:
    """Read a configuration file.

    Raises:
        UsageError: it is not there, no TOML, or says something that it may not; with the line.
    """
    name = os.path.relpath(path)
    try:
        text = read_text_file(path, name)
    except InputError as error:
        raise UsageError(error.message, hint=error.hint) from None
    try:
        data: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: no TOML: {str(error).lower()}") from None
    above: KeyPath = ("tool", "specpreflight") if path.name == SHARED_FILE else ()
    for part in above:
        data = data.get(part, {}) if isinstance(data, dict) else {}
    reader = _Reader(name, above, find_lines(text))
    reader.require(data, CONFIGURATION, ())
    return reader.build(data, os.path.abspath(path.parent))  # noqa: PTH100 (a link keeps its name)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks the data against the table of what a configuration may say, and takes it apart."""

    name: str
    above: KeyPath
    lines: dict[KeyPath, int]

    def require(self, data: Any, schema: Mapping[str, Any], at: KeyPath) -> None:
        """Refuse what the schema does not allow."""
        if "enum" in schema and data not in schema["enum"]:
            self._refuse(at, f"{data!r} is none of {', '.join(schema['enum'])}")
        if schema.get("format") == "date":
            self._read_date(data, at)
            return
        kinds = schema.get("type", ())
        allowed = [kinds] if isinstance(kinds, str) else list(kinds)
        if allowed and not any(isinstance(data, _TYPES[kind]) for kind in allowed):
            expected = " or ".join(_WORDS[kind] for kind in allowed)
            self._refuse(at, f"expected {expected}, got {data!r}")
        if isinstance(data, str) and schema.get("minLength") and not data.strip():
            self._refuse(at, "is empty")
        if isinstance(data, list):
            for index, item in enumerate(data):
                self.require(item, schema["items"], (*at, index))
        if isinstance(data, dict):
            self._require_table(data, schema, at)

    def _require_table(self, data: dict[str, Any], schema: Mapping[str, Any], at: KeyPath) -> None:
        properties: Mapping[str, Any] = schema.get("properties", {})
        others: Any = schema.get("additionalProperties", False)
        for key in schema.get("required", ()):
            if key not in data:
                self._refuse(at, f"has no `{key}`", hint=f'add {key} = "…"')
        for key, value in data.items():
            if key not in properties and others is False:
                self._refuse((*at, key), "unknown key", hint=_nearest(key, properties))
            self.require(value, properties.get(key, others), (*at, key))

    def build(self, data: Mapping[str, Any], folder: str) -> Configuration:
        """Return the configuration that the data, which has been checked, states."""
        engine = data.get("engine", ())
        ignores = tuple(self._ignores(data.get("ignore", ()), folder))
        severities = data.get("severity", {})
        baseline = data.get("baseline")
        return Configuration(
            name=self.name,
            rules=(
                *((rule, self._place(("severity", rule))) for rule in severities),
                *((ignore.rule, ignore.by) for ignore in ignores),
            ),
            engines=(engine,) if isinstance(engine, str) else tuple(engine),
            fail_on=data.get("fail-on"),
            severities={rule: Severity(severity) for rule, severity in severities.items()},
            ignores=ignores,
            baseline=None if baseline is None else os.path.relpath(Path(folder) / baseline),
            plugins=tuple(data.get("plugins", ())),
        )

    def _ignores(self, entries: list[dict[str, Any]], folder: str) -> Iterator[Ignore]:
        for index, entry in enumerate(entries):
            at: KeyPath = ("ignore", index)
            yield Ignore(
                rule=entry["rule"],
                reason=entry["reason"],
                by=self._place(at),
                until=self._read_date(entry["until"], at) if "until" in entry else None,
                paths=tuple(entry.get("paths", ())),
                pairs=tuple(PairGlobs(**pair) for pair in entry.get("pairs", ())),
                root=folder,
            )

    def _read_date(self, value: Any, at: KeyPath) -> date:
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        try:
            return date.fromisoformat(value)
        except (TypeError, ValueError):
            self._refuse(at, f"expected a date, got {value!r}", hint="write it as 2027-01-31")

    def _place(self, at: KeyPath) -> str:
        """Return file and line of a key; of an inline table of several, which one it is."""
        whole = (*self.above, *at)
        known = nearest(whole, self.lines)
        place = f"{self.name}:{self.lines[known]}" if known else self.name
        numbers = [part + 1 for part in whole[len(known) :] if isinstance(part, int)]
        return f"{place} (entry {numbers[0]})" if numbers else place

    def _refuse(self, at: KeyPath, problem: str, hint: str | None = None) -> NoReturn:
        shown = ".".join(str(part) for part in at if isinstance(part, str))
        raise UsageError(f"{self._place(at)}: `{shown}`: {problem}", hint=hint)


_TYPES: Mapping[str, type] = {"object": dict, "array": list, "string": str}
_WORDS: Mapping[str, str] = {"object": "a table", "array": "an array", "string": "a string"}


def _nearest(key: str, known: Mapping[str, Any]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key.replace("_", "-").lower(), list(known), 1, 0.5)
    return f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(known)}"
