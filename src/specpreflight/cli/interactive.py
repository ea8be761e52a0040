"""`--fix --interactive`: show each fix with its two values, and ask."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence

import click

from specpreflight.errors import UsageError
from specpreflight.fixes.plan import chosen_edits
from specpreflight.models.finding import MISSING, Edit, Finding

Ask = Callable[[str], str]


class Chooser:
    """Asks once for each finding whether its fix is wanted, and remembers the answers.

    Fixes are planned in rounds; a finding that comes back with the same edits is not asked again.
    After `all` or `quit` nothing more is asked; what was accepted before `quit` is written.
    """

    def __init__(self, applicability: Sequence[str], ask: Ask) -> None:
        self._applicability = applicability
        self._ask = ask
        self._answers: dict[tuple[str, tuple[Edit, ...]], bool] = {}
        self._rest: bool | None = None

    def choose(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings that are to be fixed."""
        return [finding for finding in findings if self._wants(finding)]

    def _wants(self, finding: Finding) -> bool:
        edits = chosen_edits(finding, self._applicability)
        if not edits:
            return False
        key = finding.rule, edits
        if key not in self._answers:
            self._answers[key] = self._answer(finding, edits)
        return self._answers[key]

    def _answer(self, finding: Finding, edits: Sequence[Edit]) -> bool:
        if self._rest is not None:
            return self._rest
        answer = self._ask(describe(finding, edits))
        if answer in ("all", "quit"):
            self._rest = answer == "all"
        return answer in ("yes", "all")


def describe(finding: Finding, edits: Sequence[Edit]) -> str:
    """Return the lines that show a finding and what its fix would change."""
    lines = [f"{finding.rule}: {finding.message}"]
    lines += [
        f"  {edit.path} {edit.pointer}: {_shown(edit.before, 'no key')} -> "
        f"{_shown(edit.after, 'removed')}"
        for edit in edits
    ]
    return "\n".join(lines)


def ask_on_terminal(question: str) -> str:
    """Show a fix on stderr and return `yes`, `no`, `all` or `quit`."""
    click.echo(question, err=True)
    words = {"y": "yes", "n": "no", "a": "all", "q": "quit"}
    while True:
        click.echo("  write it? [y]es, [n]o, [a]ll, [q]uit: ", err=True, nl=False)
        typed = sys.stdin.readline()
        if not typed:
            return "quit"
        answer = words.get(typed.strip().lower()[:1])
        if answer is not None:
            return answer


def terminal_chooser(applicability: Sequence[str]) -> Chooser:
    """Return a chooser that asks whoever sits at the terminal.

    Raises:
        UsageError: nobody does.
    """
    if not sys.stdin.isatty():
        raise UsageError(
            "--interactive needs a terminal to ask on",
            hint="without one, choose with --select-fix RULE",
        )
    return Chooser(applicability, ask_on_terminal)


def _shown(value: object, missing: str) -> str:
    return missing if value == MISSING else json.dumps(value)
