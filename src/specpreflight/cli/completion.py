"""`specpreflight completion`, and what completes: rules, engine releases, formats, files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from specpreflight.cli import COMPLETION_VARIABLE
from specpreflight.errors import UsageError

#: Engine → the module whose `releases()` are known, the newest last.
_RELEASES = {
    "sglang": "specpreflight.engines.sglang.release_facts",
    "vllm": "specpreflight.engines.vllm.releases",
}

#: Bash takes `sglang@0.5` for two words, unless told otherwise.
_BASH_FIRST = "COMP_WORDBREAKS=${COMP_WORDBREAKS//@/}\n"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands, rules and engine releases in SHELL.

    \b
      specpreflight completion bash > ~/.local/share/bash-completion/completions/specpreflight
      specpreflight completion zsh > "${fpath[1]}/_specpreflight"
      specpreflight completion fish > ~/.config/fish/completions/specpreflight.fish
    """
    from specpreflight.cli import main

    shell_class = get_completion_class(shell)
    if shell_class is None:
        raise UsageError(f"click has no completion for {shell}")
    script = shell_class(main, {}, "specpreflight", COMPLETION_VARIABLE).source()
    click.echo((_BASH_FIRST if shell == "bash" else "") + script)


def teach(command: click.Command) -> None:
    """Let a command's parameters complete what their metavars say that they are."""
    if isinstance(command, click.Group):
        for name in command.commands:
            teach(command.commands[name])
    for parameter in command.params:
        shown = parameter.metavar or ""
        for beginning, complete in _KINDS.items():
            if shown.startswith(beginning):
                parameter.type = _Completed(complete)


class _Completed(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """Text that a function completes."""

    name = "text"

    def __init__(self, complete: Callable[[str], Iterable[CompletionItem[Any]]]) -> None:
        self.complete = complete

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[Any]]:
        """Return what can follow."""
        return list(self.complete(incomplete))


def _complete_file(incomplete: str) -> list[CompletionItem[Any]]:
    return [CompletionItem(incomplete, type="file")]  # the shell knows files


def _complete_rule(incomplete: str) -> list[CompletionItem[Any]]:
    from specpreflight.rules.registry import rule_names

    return _items(rule_names(), incomplete)


def _complete_engine(incomplete: str) -> list[CompletionItem[Any]]:
    """Return the engines, after `@` the releases, the newest first."""
    engine, at, _ = incomplete.partition("@")
    if not at:
        return _items([*_RELEASES, *(f"{name}@" for name in _RELEASES)], incomplete)
    if engine not in _RELEASES:
        return []
    releases = import_module(_RELEASES[engine]).releases()
    return _items((f"{engine}@{version}" for version in reversed(releases)), incomplete)


def _complete_output(incomplete: str) -> list[CompletionItem[Any]]:
    from specpreflight.cli.rendering import MACHINE_FORMATS

    return _items((f"{form}=" for form in MACHINE_FORMATS), incomplete)


def _items(texts: Iterable[str], incomplete: str) -> list[CompletionItem[Any]]:
    return [CompletionItem(text) for text in texts if text.startswith(incomplete)]


#: What a metavar begins with → what completes it.
_KINDS = {
    "RULE": _complete_rule,
    "NAME[@VERSION": _complete_engine,
    "NAME@VERSION": _complete_engine,
    "FORMAT=FILE": _complete_output,
    **dict.fromkeys(
        ("[TARGET", "TARGET", "DRAFT", "PATH", "DIR", "FILE", "[FILE", "LOG", "LOCK"),
        _complete_file,
    ),
}
