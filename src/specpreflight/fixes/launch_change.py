"""What findings call for in the launch itself: flags and variables."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from specpreflight.errors import UsageError
from specpreflight.fixes.plan import chosen_edits
from specpreflight.models.finding import SEVERITY_OF_OUTCOME, Finding, Remedy, Severity


@dataclass(frozen=True, slots=True)
class LaunchChange:
    """Flags (`--context-length` → its value, `None` for a bare flag) and variables to set."""

    flags: Mapping[str, str | None] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return what a human would add: one line for each variable, one for the flags."""
        lines = [f"export {name}={shlex.quote(text)}" for name, text in self.environment.items()]
        words = [word for flag, text in self.flags.items() for word in (flag, text) if word]
        return [*lines, shlex.join(words)] if words else lines

    def applied_to(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Return a command line with these flags, each once, in the place of the old ones."""
        words = list(argv)
        for flag, value in self.flags.items():
            words = without_flag(words, flag, has_value=value is not None)
            words += [flag] if value is None else [flag, value]
        return tuple(words)


def without_flag(argv: Iterable[str], flag: str, *, has_value: bool) -> list[str]:
    """Return a command line without a flag, and without the word after it if that is its value."""
    rest = []
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word == flag:
            skip = has_value
        elif not word.startswith(flag + "="):
            rest.append(word)
    return rest


def launch_change(findings: Iterable[Finding], applicability: Sequence[str]) -> LaunchChange:
    """Return the flags and variables that findings call for which no edit of a file mends.

    Of each error and warning the first remedy of that applicability with a flag or variable
    counts; a finding that an edit mends needs none.

    Raises:
        UsageError: two findings want different values of one flag or variable.
    """
    flags: dict[str, str | None] = {}
    environment: dict[str, str] = {}
    owner: dict[str, str] = {}
    for finding in findings:
        remedy = _launch_remedy(finding, applicability)
        if remedy is None:
            continue
        wanted: dict[str, str | None] = {**_parse_flags(remedy.flags), **remedy.environment}
        for name, text in wanted.items():
            known = flags if name.startswith("-") else environment
            if name in known and known[name] != text:
                raise UsageError(
                    f"{owner[name]} wants {name} {known[name]} and {finding.rule} {text}",
                    hint="choose one with --select-fix RULE",
                )
            owner.setdefault(name, finding.rule)
        flags.update(_parse_flags(remedy.flags))
        environment.update(remedy.environment)
    return LaunchChange(flags, environment)


def _launch_remedy(finding: Finding, applicability: Sequence[str]) -> Remedy | None:
    severity = finding.severity or SEVERITY_OF_OUTCOME[finding.outcome]
    if severity is Severity.NOTE or finding.ignored or chosen_edits(finding, applicability):
        return None
    applicable = (one for one in finding.remedies if one.applicability in applicability)
    return next((one for one in applicable if one.flags or one.environment), None)


def _parse_flags(flags: Iterable[str]) -> dict[str, str | None]:
    """Return flag → value of words like `--context-length 131072` and `--trust-remote-code`."""
    parsed: dict[str, str | None] = {}
    for written in flags:
        words = shlex.split(written)
        flag, is_joined, value = words[0].partition("=")
        parsed[flag] = value if is_joined else " ".join(words[1:]) or None
    return parsed
