"""What findings call for in the launch itself: flags and variables."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from specpreflight.errors import UsageError
from specpreflight.models.finding import Finding, Remedy


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


def launch_change(findings: Iterable[Finding], applicability: Sequence[str]) -> LaunchChange:
    """Return the flags and variables that findings call for which no edit of a file mends.

    Of each finding that is not ignored, the first `flag` or `environment` remedy of that
    applicability counts; a finding with an applicable `edit` needs none.

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
    if finding.ignored is not None:
        return None
    applicable = [one for one in finding.remedies if one.applicability in applicability]
    if any(one.kind == "edit" and one.edits for one in applicable):
        return None
    return next((one for one in applicable if one.flags or one.environment), None)


def _parse_flags(flags: Iterable[str]) -> dict[str, str | None]:
    """Return flag → value of words like `--context-length 131072` and `--trust-remote-code`."""
    parsed: dict[str, str | None] = {}
    for written in flags:
        words = shlex.split(written)
        flag, is_joined, value = words[0].partition("=")
        parsed[flag] = value if is_joined else " ".join(words[1:]) or None
    return parsed
