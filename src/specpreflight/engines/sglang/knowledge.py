"""What is known of one SGLang release (or of a user's tree), and nothing about any launch.

`load("0.5.9")` gives a released version from the tables in `data/`; `load_tree(path)` reads a tree.
Every part is read when it is first asked for: a check pays for what it uses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from specpreflight.engines.sglang.facts import (
    UNKNOWN,
    ConfigClass,
    ConfigField,
    EnvironmentVariable,
    Flag,
    ModelClass,
    Unknown,
)
from specpreflight.engines.sglang.installations import (
    installed_version,
    read_pins,
    read_version,
)
from specpreflight.engines.sglang.release_order import release_key
from specpreflight.engines.sglang.tables import DATA, Table, from_json

if TYPE_CHECKING:
    from specpreflight.models.launch import EngineVersion

__all__ = [
    "UNKNOWN",
    "ConfigClass",
    "ConfigClasses",
    "ConfigField",
    "EnvironmentVariable",
    "Flag",
    "Knowledge",
    "ModelClass",
    "Release",
    "Unknown",
    "knowledge_of",
    "load",
    "load_tree",
    "release",
    "releases",
]


#: The tables that a tree can answer.
TABLES = ("flags", "environment", "classes", "drafts", "configs", "registry", "probes")


class Release(NamedTuple):
    """A released version: its date (ISO) and what its wheel pins."""

    version: str
    date: str | None = None
    torch: str | None = None
    transformers: str | None = None
    nccl: str | None = None
    kernel: str | None = None


class Source(Protocol):
    """Where the facts of one version come from: the tables, or a tree that was read."""

    def table(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Return a table as it is in this version: entry -> key -> value."""
        ...

    def entry(self, name: str, entry: str) -> Mapping[str, Any]:
        """Return one entry of a table, empty where it is absent."""
        ...


class Knowledge:
    """One version of the engine.

    `version` is a release or what a tree says of itself; `assumed` names the facts that a tree did
    not answer and that were taken from the nearest release (`flags`, `probes.context.…`).
    """

    def __init__(
        self,
        about: Release,
        source: Source,
        *,
        nearest: str | None = None,
        assumed: frozenset[str] = frozenset(),
    ) -> None:
        self.about = about
        self.version = about.version
        self.date, self.torch = about.date, about.torch
        self.transformers, self.nccl = about.transformers, about.nccl
        self.nearest = nearest or about.version
        self.assumed = assumed
        self._source = source
        self._position = release_key(self.nearest)

    def since(self, release: str) -> bool:
        """Say whether this version is `release` or later; a tree counts as its nearest release."""
        return self._position >= release_key(release)

    @cached_property
    def flags(self) -> Mapping[str, Flag]:
        """The options of the server's parser, by canonical name, in the parser's own order."""
        table = self._source.table("flags")
        return {name: _flag(name, table[name]) for name in _in_order(table)}

    @cached_property
    def options(self) -> Mapping[str, Flag]:
        """Every spelling of every option."""
        return {spelling: flag for flag in self.flags.values() for spelling in flag.spellings}

    @cached_property
    def environment(self) -> Mapping[str, EnvironmentVariable]:
        """The variables that the engine reads, by name."""
        return _Variables(self._source)

    @cached_property
    def classes(self) -> Mapping[str, ModelClass]:
        """The model registry."""
        return {
            name: ModelClass(
                name,
                about["module"],
                about["kind"],
                about.get("form"),
                frozenset(about.get("offers", ())),
                about.get("missing"),
            )
            for name, about in self._source.table("classes").items()
        }

    @cached_property
    def _drafts(self) -> Mapping[str, Mapping[str, Any]]:
        return self._source.table("drafts")

    @property
    def draft_path_targets(self) -> frozenset[str]:
        """Target architectures whose draft path defaults to the model path."""
        return frozenset(self._drafts.get("path_targets", ()))

    @property
    def draft_rewrites(self) -> Mapping[str, str]:
        """What a draft's `architectures[0]` becomes, where no condition says otherwise."""
        return self._drafts.get("rewrites", {})

    @property
    def conditional_rewrites(self) -> Mapping[str, Mapping[str, str]]:
        """By architecture: what it becomes instead -> the engine's condition, as source text."""
        return self._drafts.get("conditional_rewrites", {})

    @property
    def automatic_parameters(self) -> Mapping[str, tuple[int, int, int]]:
        """Steps, top-k, draft tokens by target architecture; `STANDALONE`; `*` is every other."""
        table = self._drafts.get("automatic_parameters", {})
        return {name: (chosen[0], chosen[1], chosen[2]) for name, chosen in table.items()}

    @cached_property
    def _probes(self) -> Mapping[str, Mapping[str, Any]]:
        return self._source.table("probes")

    def probe(self, name: str) -> Any:
        """Return the answer of a named probe, `UNKNOWN` where it could not answer."""
        return from_json(self._probes.get(name, {}).get("value", {"?": True}))

    @property
    def probes(self) -> Iterator[str]:
        """The names of all probes that answered."""
        return iter(self._probes)

    @cached_property
    def config_classes(self) -> ConfigClasses:
        """The config classes of the pinned transformers and the engine's own."""
        return ConfigClasses(self._source, self.transformers)


class _Variables(Mapping[str, EnvironmentVariable]):
    """The engine's variables; one is read without the others, since few are ever asked for."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __getitem__(self, name: str) -> EnvironmentVariable:
        about = self._source.entry("environment", name)
        if not about or name.startswith("@"):
            raise KeyError(name)
        known = {key: from_json(value) for key, value in about.items()}
        shared = f"@{about['kind']}" + (" read directly" if "source" in about else "")
        for key, value in self._source.entry("environment", shared).items():
            known.setdefault(key, from_json(value))
        known.setdefault("source", "srt/environ.py")
        return EnvironmentVariable(name, **known)

    def __iter__(self) -> Iterator[str]:
        names = self._source.table("environment")
        return (name for name in names if not name.startswith("@"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ConfigClasses:
    """Config classes: transformers' (of the release this engine pins) and the engine's own.

    Attributes:
        transformers: the transformers release whose classes these are, `None` if none is known.
        exact: that release is the pinned one, not merely the nearest known.
    """

    def __init__(self, source: Source, pinned: str | None) -> None:
        self._source = source
        self.transformers, self.exact = _nearest_transformers(pinned)
        self._known: dict[tuple[str, str], ConfigClass | None] = {}

    @cached_property
    def model_types(self) -> Mapping[str, str]:
        """transformers' own table: `model_type` -> class name (`CONFIG_MAPPING_NAMES`)."""
        if self.transformers is None:
            return {}
        table = _transformers("model_types").of(self.transformers)
        return {name: about["class"] for name, about in table.items()}

    @cached_property
    def _registry(self) -> Mapping[str, Mapping[str, Any]]:
        return self._source.table("registry")

    @cached_property
    def registry(self) -> Mapping[str, str]:
        """The engine's `_CONFIG_REGISTRY`: `model_type` -> class name.

        Whatever AutoConfig gave, the engine loads such a config again with this class.
        """
        return {
            model_type: self._first(about["registry"])
            for model_type, about in self._registry.items()
            if "registry" in about
        }

    @cached_property
    def registered(self) -> Mapping[str, str]:
        """What AutoConfig knows besides `model_types` once the engine is imported."""
        found = {}
        for model_type, about in self._registry.items():
            replaces = about.get("overrides", False)
            name = self._first(about.get("registered", about.get("registry")))
            if replaces or model_type not in self.model_types:
                found[model_type] = name
        return found

    def auto(self, model_type: str) -> ConfigClass | None:
        """Return the class that AutoConfig gives for `model_type`, `None` if it knows none."""
        if model_type in self.registered:
            return self.get(self.registered[model_type], "sglang")
        name = self.model_types.get(model_type)
        return None if name is None else self.get(name, "transformers")

    def get(self, name: str, origin: str | None = None) -> ConfigClass | None:
        """Return a class by name, with what it inherits; transformers' first if no origin is said.

        `None`: not known. Classes of models that generate no text are left out of the tables, so
        a `model_type` may be known while its class is not.
        """
        if name.startswith("transformers."):
            name, origin = name.removeprefix("transformers."), "transformers"
        for place in ("transformers", "sglang") if origin is None else (origin,):
            key = (name, place)
            if key not in self._known:
                self._known[key] = self._merge(name, place)
            found = self._known[key]
            if found is not None:
                return found
        return None

    def constant(self, name: str) -> Any:
        """Return a table that transformers validates with (`ALLOWED_LAYER_TYPES`), or `UNKNOWN`."""
        known = self._entry("@constants", "transformers").get(name, {"?": True})
        return from_json(known)

    def _first(self, names: Any) -> str:
        if isinstance(names, str):
            return names
        for name in names:
            if self.get(name, "sglang") is not None:
                return str(name)
        return str(names[-1])

    def _entry(self, name: str, origin: str) -> Mapping[str, Any]:
        if origin == "sglang":
            return self._source.entry("configs", name)
        if self.transformers is None:
            return {}
        return _transformers("transformers").entry(name, self.transformers)

    def _merge(self, name: str, origin: str) -> ConfigClass | None:
        own = self._entry(name, origin)
        if not own:
            return None
        bases = [
            base
            for reference in own["@bases"]
            if (base := self._base(reference, name, origin)) is not None
        ]
        attributes: dict[str, Any] = {}
        fields: dict[str, ConfigField] = {}
        constraints: dict[str, str] = {}
        for base in reversed(bases):
            attributes.update(base.attributes)
            fields.update(base.fields)
            constraints.update(base.constraints)
        attributes.update(from_json(own.get("@attributes", {})))
        constraints.update(own.get("@constraints", {}))
        fields.update((key, _field(value)) for key, value in own.items() if key[0] != "@")
        validators = [*own.get("@validators", ())]
        properties = set(own.get("@properties", ()))
        assigned = set(own.get("@assigned", ()))
        lineage: list[str] = []
        for base in bases:
            lineage += [base.name, *base.bases]
            validators += base.validators
            properties |= base.properties
            assigned |= base.assigned
        return ConfigClass(
            name=name,
            origin="sglang" if origin == "sglang" else "transformers",
            bases=tuple(dict.fromkeys(lineage)),
            model_type=attributes.get("model_type"),
            fields=fields,
            attribute_map=attributes.get("attribute_map", {}),
            sub_configs=attributes.get("sub_configs", {}),
            attributes=attributes,
            strict=bool(own.get("@strict")) or any(base.strict for base in bases),
            validators=tuple(dict.fromkeys(validators)),
            constraints=constraints,
            assigned=frozenset(assigned - fields.keys()),
            properties=frozenset(properties - fields.keys()),
        )

    def _base(self, reference: str, name: str, origin: str) -> ConfigClass | None:
        if reference == name and origin == "transformers":
            return None
        if reference.startswith("transformers."):
            return self.get(reference)
        found = self.get(reference, origin) if reference != name else None
        return found or self.get(reference, "transformers")


def _in_order(table: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the flags as the parser got them, each `after` another; argparse lists them so."""
    following = {about.get("after"): name for name, about in table.items()}
    left = dict.fromkeys(table)
    name = following.get(None)
    while name in left:
        del left[name]
        yield name
        name = following.get(name)
    yield from left


def _flag(name: str, about: Mapping[str, Any]) -> Flag:
    known = {
        key: from_json(value) if isinstance(value, list | dict) else value
        for key, value in about.items()
        if key != "after"
    }
    default = about.get("default")
    if isinstance(default, list):
        known["default"] = default
    if "dest" not in about:
        known["dest"] = name.lstrip("-").replace("-", "_")
    return Flag(name, **known)


def _field(value: Any) -> ConfigField:
    if isinstance(value, dict):
        return ConfigField(False, None, value["type"])
    default = value[0] if isinstance(value[0], list) else from_json(value[0])
    return ConfigField(True, default, value[1] if len(value) > 1 else None)


class _Tree:
    """The facts of a user's tree; what it does not answer is the nearest release's."""

    def __init__(self, facts: Mapping[str, Mapping[str, Mapping[str, Any]]], nearest: str) -> None:
        self._facts = facts
        self._nearest = _Released(nearest)

    def table(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Return a table of the tree; of probes and variables, also those it did not answer."""
        own = self._facts.get(name, {})
        if name in ("probes", "environment"):
            return {**self._nearest.table(name), **own}
        return own or self._nearest.table(name)

    def entry(self, name: str, entry: str) -> Mapping[str, Any]:
        """Return one entry of the tree."""
        return self.table(name).get(entry, {})

    def assumed(self) -> frozenset[str]:
        """Return the names of the facts that the nearest release answers for the tree."""
        tables = {name for name in TABLES if not self._facts.get(name)}
        probes = self._nearest.table("probes").keys() - self._facts.get("probes", {}).keys()
        return frozenset(tables | {f"probes.{name}" for name in probes})


class _Released:
    """The facts of a release, from the tables."""

    def __init__(self, version: str) -> None:
        self.version = version

    def table(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Return a table as it is in this release."""
        return _engine(name).of(self.version)

    def entry(self, name: str, entry: str) -> Mapping[str, Any]:
        """Return one entry as it is in this release."""
        return _engine(name).entry(entry, self.version)


@cache
def _releases_file() -> dict[str, Any]:
    return dict(json.loads((DATA / "releases.json").read_bytes()))


@cache
def releases() -> tuple[str, ...]:
    """Return the known releases, oldest first."""
    return tuple(_releases_file()["sglang"])


def release(version: str) -> Release:
    """Return what is known of a release as such; `KeyError` if it is not one of `releases()`."""
    return Release(version, **_releases_file()["sglang"][version])


@cache
def load(version: str) -> Knowledge:
    """Return the knowledge of a release; `KeyError` if it is not one of `releases()`."""
    return Knowledge(release(version), _Released(version))


#: Trees that were read, with the facts that they were read from: others replace them.
_TREES: dict[tuple[Path, str], tuple[object, Knowledge]] = {}


def load_tree(package: Path, nearest: str) -> Knowledge:
    """Return the knowledge of a tree, read from its source (or from the cache).

    Args:
        package: the package folder (`…/sglang`).
        nearest: the release that answers what the tree does not, and whose hand-written behaviour
            is assumed (`since`).
    """
    from specpreflight.engines.sglang.harvest.checkout import read_checkout

    facts = read_checkout(package)
    read, known = _TREES.get((package, nearest), (None, None))
    if known is not None and read is facts:
        return known
    pins = read_pins(package)
    installed = installed_version(package.parent, "transformers")
    about = Release(
        read_version(package) or nearest,
        None,
        pins.get("torch"),
        installed or pins.get("transformers") or release(nearest).transformers,
        None,
        pins.get("kernel"),
    )
    source = _Tree(facts, nearest)
    known = Knowledge(about, source, nearest=nearest, assumed=source.assumed())
    _TREES[package, nearest] = (facts, known)
    return known


def knowledge_of(engine: EngineVersion) -> Knowledge:
    """Return what is known of an identified version: of its tree where one was given."""
    if engine.path is None:
        return load(engine.version)
    return load_tree(Path(engine.path), engine.version)


@cache
def _engine(name: str) -> Table:
    return Table(name, releases())


@cache
def _transformers(name: str) -> Table:
    return Table(name, _releases_file()["transformers"])


def _nearest_transformers(pinned: str | None) -> tuple[str | None, bool]:
    """Return the newest known transformers that is not newer than `pinned`."""
    known: list[str] = _releases_file()["transformers"]
    if pinned in known:
        return pinned, True
    if pinned is None or not known:
        return (known[-1] if known else None), False
    older = [version for version in known if release_key(version) <= release_key(pinned)]
    return (older[-1] if older else known[0]), False
