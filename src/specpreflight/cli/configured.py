"""What a project has decided, for every command that checks: its configuration and baseline."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from specpreflight.errors import UsageError

if TYPE_CHECKING:
    from specpreflight.models.baseline import Baseline
    from specpreflight.models.beside import Beside
    from specpreflight.models.idle import Idle
    from specpreflight.models.launch import EngineVersion
    from specpreflight.models.policy import Policy
    from specpreflight.models.report import Report
    from specpreflight.rules.rule import Rule
    from specpreflight.sources.configuration import Configuration


class Wanted(NamedTuple):
    """What the command line says about it."""

    config: str | None
    isolated: bool
    baseline: str | None
    no_baseline: bool
    plugins: tuple[str, ...]
    ignore: tuple[str, ...]


def configured(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of this module, and `policy` in their place.

    The command has `--fail-on`; where the command line does not give it, the configuration may. The
    engines that the configuration names are for launches that name none.
    """

    @click.option(
        "--ignore", multiple=True, metavar="RULE", help="Count a rule's findings as notes."
    )
    @click.option("--config", metavar="FILE", help="Take the configuration from FILE.")
    @click.option("--isolated", is_flag=True, help="Read no configuration file.")
    @click.option("--baseline", metavar="FILE", help="Findings that FILE lists do not fail.")
    @click.option("--no-baseline", is_flag=True, help="Leave the configured baseline out.")
    @click.option("--plugin", "plugins", multiple=True, metavar="NAME", help="Load more rules.")
    @wraps(command)
    def with_policy(ctx: click.Context, /, **given: Any) -> Any:
        wanted = Wanted(**{name: given.pop(name) for name in Wanted._fields})
        configuration = _read_configuration(wanted)
        if configuration is not None:
            given["configured_engines"] = _identify_engines(configuration)
            is_given = ctx.get_parameter_source("fail_on") is not ParameterSource.DEFAULT
            if configuration.fail_on is not None and not is_given:
                given["fail_on"] = configuration.fail_on
        return command(ctx, policy=read_policy(wanted, configuration), **given)

    return with_policy


def _read_configuration(wanted: Wanted) -> Configuration | None:
    """Return the file that was named, else the nearest, else `None`.

    Raises:
        UsageError: it is not there, or says what it may not.
    """
    from specpreflight.sources.configuration_place import find_configuration

    place = wanted.config
    if place is None and not wanted.isolated:
        place = find_configuration(os.getcwd())  # noqa: PTH109 (pathlib costs more)
    if place is None:
        return None
    from pathlib import Path

    from specpreflight.sources.configuration import read_configuration

    return read_configuration(Path(place))


def _identify_engines(configuration: Configuration) -> tuple[EngineVersion, ...]:
    """Return the configured engines.

    Raises:
        UsageError: an engine or version is not known.
    """
    from dataclasses import replace

    from specpreflight.api import identify_engine

    with _at(configuration.name):
        return tuple(
            replace(identify_engine(wanted), determined_by=f"`engine` of {configuration.name}")
            for wanted in configuration.engines
        )


def read_policy(wanted: Wanted, configuration: Configuration | None) -> Policy | None:
    """Return what options and configuration say together, `None` where they say nothing.

    Raises:
        UsageError: no rule or plugin has a name that is given.
        InputError: the baseline cannot be read.
    """
    if configuration is None:
        if not (wanted.ignore or wanted.baseline or wanted.plugins):
            return None
        from specpreflight.sources.configuration import Configuration

        configuration = Configuration()
    from datetime import date

    from specpreflight.models.policy import Ignore, Policy

    plugins = configuration.plugins + wanted.plugins
    _require_rules([*((rule, "--ignore") for rule in wanted.ignore), *configuration.rules], plugins)
    today = date.today()
    expired = tuple(one for one in configuration.ignores if one.until and one.until < today)
    return Policy(
        severities=configuration.severities,
        ignores=(
            *(Ignore(rule, "command line", f"--ignore {rule}") for rule in wanted.ignore),
            *(one for one in configuration.ignores if one not in expired),
        ),
        expired=expired,
        baseline=_read_baseline(wanted, configuration),
        plugins=plugins,
    )


def _require_rules(rules: Sequence[tuple[str, str]], plugins: tuple[str, ...]) -> None:
    """Refuse unknown names, each with its place, unless a plugin that may have them is broken."""
    from specpreflight.rules.registry import require_names

    others: tuple[Rule, ...] = ()
    if plugins:
        from specpreflight.rules.plugins import load_plugins, rules_of

        loaded = load_plugins(plugins)
        if any(plugin.problem is not None for plugin in loaded):
            return
        others = rules_of(loaded)
    for rule, place in rules:
        with _at(place):
            require_names([rule], others)


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Name the place of what cannot be understood.

    Raises:
        UsageError: with the place before its message.
    """
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{place}: {error.message}", hint=error.hint) from None


def _read_baseline(wanted: Wanted, configuration: Configuration) -> Baseline | None:
    given = wanted.baseline or configuration.baseline
    if given is None or wanted.no_baseline:
        return None
    from specpreflight.sources.baseline_file import read_baseline

    return read_baseline(given)


def beside_of(reports: Iterable[Report], policy: Policy | None) -> Beside | None:
    """Return what there is to say beside reports: what of the policy has nothing to do any more."""
    if policy is None:
        return None
    from specpreflight.models.beside import Beside
    from specpreflight.models.idle import IdleWatch

    watch = IdleWatch(policy)
    for report in reports:
        watch.see(report)
    return Beside(idle=list(watch.idle()))


def report_idle(reports: Iterable[Report], policy: Policy | None) -> None:
    """Say it on stderr."""
    beside = beside_of(reports, policy)
    if beside is not None:
        echo_idle(beside.idle)


def echo_idle(idle: Sequence[Idle]) -> None:
    """Say on stderr what has nothing to do any more."""
    from specpreflight.reports.beside import tell_idle

    for line in tell_idle(idle):
        click.echo(f"specpreflight: {line}", err=True)
