"""Rules from other packages: the entry points of a group, loaded only when they are named.

A package offers rules with `[project.entry-points."specpreflight.rules"]`: a name, and an object
that is a `Rule` or a list of them. What is wrong with a plugin is reported like a rule that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any, Final, NamedTuple

from specpreflight.errors import UsageError
from specpreflight.rules.registry import rule_names
from specpreflight.rules.rule import Rule

GROUP: Final = "specpreflight.rules"


class Plugin(NamedTuple):
    """What a plugin brought: its rules, or the problem with it."""

    name: str
    rules: tuple[Rule, ...] = ()
    problem: str | None = None


#: What this process has imported; a module is imported once, whatever is asked for later.
_LOADED: dict[str, Plugin] = {}


def load_plugins(names: Sequence[str]) -> tuple[Plugin, ...]:
    """Load plugins by the names of their entry points.

    Raises:
        UsageError: no installed package has such an entry point.
    """
    for name in names:
        if name not in _LOADED:
            _LOADED[name] = _load(name, {*rule_names(), *(rule.name for rule in loaded_rules())})
    return tuple(_LOADED[name] for name in dict.fromkeys(names))


def loaded_rules() -> tuple[Rule, ...]:
    """Return the rules of the plugins that were loaded, for reports to name."""
    return rules_of(tuple(_LOADED.values()))


def _load(name: str, taken: Set[str]) -> Plugin:
    from importlib.metadata import entry_points

    group = entry_points(group=GROUP)
    if name not in group.names:
        there = ", ".join(sorted(group.names)) or "none"
        raise UsageError(
            f"no plugin is called `{name}`",
            hint=f"install the package that has it; installed plugins: {there}",
        )
    try:
        rules = tuple(rule for point in group.select(name=name) for rule in _rules(point.load()))
    except (Exception, SystemExit) as error:  # a plugin's own code, at import
        return Plugin(name, problem=f"plugin {name} failed: {type(error).__name__}: {error}")
    for rule in rules:
        if rule.name in taken:
            problem = f"plugin {name} failed: there is a rule called {rule.name} already"
            return Plugin(name, problem=problem)
    return Plugin(name, rules)


def _rules(offered: Any) -> Iterator[Rule]:
    """Yield the rules of an entry point's object."""
    is_one = isinstance(offered, Rule) or not isinstance(offered, Iterable)
    for rule in [offered] if is_one else offered:
        if not isinstance(rule, Rule):
            raise TypeError(f"expected rules, got {type(rule).__name__}")
        yield rule


def rules_of(plugins: Sequence[Plugin]) -> tuple[Rule, ...]:
    """Return the rules of all plugins."""
    return tuple(rule for plugin in plugins for rule in plugin.rules)
