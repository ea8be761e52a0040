"""What is known of one SGLang release (or of a user's tree), and nothing about any launch.

`load("0.5.9")` gives a released version from the tables in `data/`; `load_tree(path)` reads a tree.
Every part is read when it is first asked for: a check pays for what it uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from specpreflight.engines.sglang.known_configs import ConfigClasses
from specpreflight.engines.sglang.release_facts import (
    Release,
    ReleasedFacts,
    Source,
    release,
    releases,
)
from specpreflight.engines.sglang.release_order import release_key
from specpreflight.engines.sglang.tables import from_json

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
TABLES = ("flags", "environment", "classes", "drafts", "configs", "registry", "probes", "files")


class Knowledge:
    """One version of the engine.

    `version` is a release or what a tree says of itself; `assumed` names the facts that a tree did
    not answer and that were taken from the nearest release (`flags`, `probes.context.…`), and
    `changed` the files below `srt/` whose restated behaviour is the nearest release's, although the
    tree has another text there.
    """

    def __init__(
        self,
        about: Release,
        source: Source,
        *,
        nearest: str | None = None,
        assumed: frozenset[str] = frozenset(),
        changed: frozenset[str] = frozenset(),
    ) -> None:
        self.about = about
        self.version = about.version
        self.date, self.torch = about.date, about.torch
        self.transformers, self.nccl = about.transformers, about.nccl
        self.nearest = nearest or about.version
        self.assumed = assumed
        self.changed = changed
        self._source = source
        self._position = release_key(self.nearest)
        self._answers: dict[str, Any] = {}

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

    @cached_property
    def automatic_parameters(self) -> Mapping[str, tuple[int, int, int]]:
        """Steps, top-k, draft tokens by target architecture; `STANDALONE`; `*` is every other."""
        table = self._drafts.get("automatic_parameters", {})
        return {name: (chosen[0], chosen[1], chosen[2]) for name, chosen in table.items()}

    @cached_property
    def _probes(self) -> Mapping[str, Mapping[str, Any]]:
        return self._source.table("probes")

    def probe(self, name: str) -> Any:
        """Return the answer of a named probe, `UNKNOWN` where it could not answer."""
        if name not in self._answers:
            self._answers[name] = from_json(self._probes.get(name, {}).get("value", {"?": True}))
        return self._answers[name]

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
        self._known: dict[str, EnvironmentVariable] = {}

    def __getitem__(self, name: str) -> EnvironmentVariable:
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def _read(self, name: str) -> EnvironmentVariable:
        about = self._source.entry("environment", name)
        if not about or name.startswith("@"):
            raise KeyError(name)
        known = {key: from_json(value) for key, value in about.items()}
        for key, value in self._source.entry("environment", _shared(about)).items():
            known.setdefault(key, from_json(value))
        known.setdefault("source", "srt/environ.py")
        return EnvironmentVariable(name, **known)

    def __iter__(self) -> Iterator[str]:
        names = self._source.table("environment")
        return (name for name in names if not name.startswith("@"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _shared(about: Mapping[str, Any]) -> str:
    """Return the name of the entry that holds what variables of one kind have in common."""
    return f"@{about['kind']}" + (" read directly" if "source" in about else "")


def _spelled_out(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the variables, each with what it has in common with others of its table."""
    return {
        name: {**table.get(_shared(about), {}), **about}
        for name, about in table.items()
        if not name.startswith("@")
    }


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


class _Tree:
    """The facts of a user's tree; what it does not answer is the nearest release's."""

    def __init__(self, facts: Mapping[str, Mapping[str, Mapping[str, Any]]], nearest: str) -> None:
        self._facts = facts
        self._nearest = ReleasedFacts(nearest)
        self._merged: dict[str, Mapping[str, Mapping[str, Any]]] = {}

    def table(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Return a table of the tree; of probes, variables and drafts also what it lacks."""
        if name not in self._merged:
            own = {entry: about for entry, about in self._facts.get(name, {}).items() if about}
            nearest = self._nearest.table(name)
            if name == "environment":
                nearest = _spelled_out(nearest)
            partial = name in ("probes", "environment", "drafts")
            self._merged[name] = {**nearest, **own} if partial else own or nearest
        return self._merged[name]

    def entry(self, name: str, entry: str) -> Mapping[str, Any]:
        """Return one entry of the tree."""
        return self.table(name).get(entry, {})

    def changed(self) -> frozenset[str]:
        """Return the restated files that the tree does not have as the nearest release has them."""
        own = self._facts.get("files", {})
        theirs = self._nearest.table("files")
        return frozenset(
            name for name in own.keys() | theirs.keys() if own.get(name) != theirs.get(name)
        )

    def assumed(self) -> frozenset[str]:
        """Return the names of the facts that the nearest release answers for the tree."""
        tables = {name for name in TABLES if not self._facts.get(name)}
        probes = self._nearest.table("probes").keys() - self._facts.get("probes", {}).keys()
        return frozenset(tables | {f"probes.{name}" for name in probes})


@cache
def load(version: str) -> Knowledge:
    """Return the knowledge of a release; `KeyError` if it is not one of `releases()`."""
    return Knowledge(release(version), ReleasedFacts(version))


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
    known = Knowledge(
        about, source, nearest=nearest, assumed=source.assumed(), changed=source.changed()
    )
    _TREES[package, nearest] = (facts, known)
    return known


def knowledge_of(engine: EngineVersion) -> Knowledge:
    """Return what is known of an identified version: of its tree where one was given."""
    if engine.path is None:
        return load(engine.version)
    return load_tree(Path(engine.path), engine.version)
