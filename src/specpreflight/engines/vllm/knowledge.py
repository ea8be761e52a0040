"""What is known of one vLLM release: harvested facts, and where restated behaviour changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, NamedTuple

from specpreflight.engines.vllm.data_files import read_data
from specpreflight.engines.vllm.releases import sort_key

#: A release's requirement leaves a range of transformers; these are the ones that its verdicts
#: were recorded with, and of the releases between.
_TRANSFORMERS = (
    ("0.10.0", "4.57.1"),
    ("0.20.0", "5.8.1"),
    ("0.25.0", "5.12.1"),
    ("0.32.0", "5.19.0"),
)


class Flag(NamedTuple):
    """A command-line flag, with argparse's settings.

    `type` is `str`, `int`, `float`, `json`, `json_or_str`, `human_readable_int` or
    `human_readable_int_or_auto`; `action` is `store`, `boolean_optional` or an action's own name.
    `bounds` are those of the field that the flag sets, by pydantic's names.
    """

    names: tuple[str, ...]
    dest: str
    type: str = "str"
    action: str = "store"
    nargs: int | str | None = None
    choices: tuple[Any, ...] | None = None
    bounds: tuple[tuple[str, Any], ...] = ()


class Architecture(NamedTuple):
    """A registered architecture: its class, the registry's table, and the class's interfaces."""

    name: str
    class_name: str
    group: str
    interfaces: frozenset[str]


class Knowledge:
    """The facts of one release. Each topic is read when it is first asked for."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._key = sort_key(version)

    def since(self, release: str) -> bool:
        """Tell whether this release is `release` or newer."""
        return self._key >= sort_key(release)

    @cached_property
    def flags(self) -> Mapping[str, Flag]:
        """Return the flags by every spelling, `--no-…` forms excluded."""
        found: dict[str, Flag] = {}
        for facts in self._topic("flags").values():
            flag = Flag(
                tuple(facts["names"]),
                facts["dest"],
                facts.get("type", "str"),
                facts.get("action", "store"),
                facts.get("nargs"),
                tuple(facts["choices"]) if "choices" in facts else None,
                tuple((name, facts[name]) for name in ("gt", "ge", "lt", "le") if name in facts),
            )
            found |= dict.fromkeys(flag.names, flag)
        return found

    @cached_property
    def bounded_flags(self) -> tuple[Flag, ...]:
        """Return the flags that set a field with bounds."""
        return tuple(flag for flag in dict.fromkeys(self.flags.values()) if flag.bounds)

    @cached_property
    def speculative_keys(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields of `SpeculativeConfig` in the order in which it defines them."""
        return self._topic("speculative_keys")

    @cached_property
    def json_keys(self) -> Mapping[str, Mapping[str, Any]]:
        """Return, by flag, the `class`, `extra`, `keys` and `nested` objects of its JSON."""
        return self._topic("json_keys")

    @cached_property
    def architectures(self) -> Mapping[str, Architecture]:
        """Return the model registry."""
        return {
            name: Architecture(name, facts["class"], facts["group"], frozenset(facts["interfaces"]))
            for name, facts in self._topic("architectures").items()
        }

    @cached_property
    def removed_architectures(self) -> Mapping[str, str]:
        """Return architectures that were dropped, with the last release that had them."""
        return self._topic("removed")

    @cached_property
    def config_classes(self) -> Mapping[str, str]:
        """Return the model types that vLLM reads with a class of its own → its dotted name."""
        return self._topic("configs")

    @cached_property
    def quantization_classes(self) -> Mapping[str, Mapping[str, Any]]:
        """Return, by method, the `files`, `dtypes`, `capability` and `needs` of its class."""
        return self._topic("quantization")

    @cached_property
    def constants(self) -> Mapping[str, Any]:
        """Return the named lists of the release."""
        return self._topic("constants")

    def constant(self, name: str) -> tuple[Any, ...]:
        """Return a named list of the release, `()` where it has none."""
        return tuple(self.constants.get(name, ()))

    @property
    def transformers_version(self) -> str:
        """Return the transformers that this release is predicted with."""
        return next(version for since, version in reversed(_TRANSFORMERS) if self.since(since))

    @cached_property
    def transformers(self) -> str:
        """Return the release's requirement on transformers (`<5,>=4.56.0`)."""
        requirement: str = read_data("releases")[self.version].get("transformers", "")
        return requirement

    def _topic(self, topic: str) -> dict[str, Any]:
        found = {}
        for name, history in read_data(topic).items():
            value = self._latest(history)
            if value is not None:
                found[name] = value
        return found

    def _latest(self, history: list[Any]) -> Any:
        value = None
        for release, changed in history:
            if sort_key(release) > self._key:
                break
            value = changed
        return value


@cache
def load(version: str) -> Knowledge:
    """Return the knowledge of a release, the same each time."""
    return Knowledge(version)
