"""Words of the command never reach the engine, since the shell takes them for another command.

## What it checks
Whether a line of the script begins with a flag. That happens when the backslash before it is
missing, when a blank follows the backslash, or when a comment stands inside a continued command.

## What the engine does
It starts with the words before, and says nothing of the others. Where they were the ones for
speculation, the server runs without it, and only its speed tells.

## Example
`sglang serve --model-path m --tp 8` without a backslash, `--speculative-algorithm EAGLE` on the
next line: the shell looks for a program called `--speculative-algorithm`, after the server ends.

## Fix
Put the backslash at the very end of the line before; move the comment out of the command.

## Fix safety
Nothing is edited: where the words belong is for their author to say.

## How sure
Certain: it is how the shell reads the file.

## References
Bash reference manual, 3.1.2.1 (escape character) and 3.1.3 (comments).
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.command import Command, Lost
from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_LONGEST = 40


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each group of words that is a command of its own."""
    command = launch.facts.get("command")
    if not isinstance(command, Command):
        return
    for lost in command.lost:
        yield Finding(
            RULE.name,
            Outcome.DEGRADES,
            f"`{_shortened(lost.words[0])}` and what follows never reach the engine",
            stage=Stage.ARGUMENTS,
            detail=_detail(lost),
            values=(
                Value(
                    "lost words",
                    " ".join(lost.words),
                    Origin("file", path=lost.path, line=lost.line),
                ),
            ),
            remedies=(Remedy.flag("end the line before with a backslash, and nothing after it"),),
        )


def _detail(lost: Lost) -> str:
    speculative = [word for word in lost.words if word.startswith("--speculative")]
    told = "The shell takes the line for a command of its own; the engine starts without it."
    if not speculative:
        return told
    return f"{told} Among the words are {len(speculative)} for speculation."


def _shortened(word: str) -> str:
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"


RULE = Rule(
    name="words-lost",
    summary="words of the command never reach the engine: a missing backslash, or a comment",
    since="0.1.0",
    engines=(),
    check=check,
)
