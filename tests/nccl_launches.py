"""Launches with an NCCL environment, for the rules that read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specpreflight.engines.nccl.engine_settings import engine_settings
from specpreflight.engines.nccl.read import read_nccl
from specpreflight.engines.nccl.versions import parse_release
from specpreflight.models.finding import SEVERITY_OF_OUTCOME, Finding, Origin, Severity
from specpreflight.models.launch import EngineVersion, Hardware, Launch, Variable
from specpreflight.models.resolved import Resolved
from specpreflight.rules.registry import load_rules
from specpreflight.rules.rule import Rule

#: The set of the motivating incident: valid in every release.
STORY = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}


def nccl_launch(
    environment: Mapping[str, str | None],
    *,
    nccl: str = "2.27.5",
    engine: str = "sglang@0.5.9",
    flags: Mapping[str, Any] | None = None,
    hardware: Hardware | None = None,
    origin: Origin | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Launch:
    """Return a launch whose environment has been read as one NCCL release reads it."""
    name, _, version = engine.partition("@")
    variables = {
        key: Variable(key, value, origin or Origin("flag", name="--env"))
        for key, value in environment.items()
    }
    texts = {key: value for key, value in environment.items() if value is not None}
    reading = read_nccl(
        variables,
        parse_release(nccl),
        "the test",
        settings=engine_settings(name, version, flags or {}, texts, hardware),
        hardware=hardware,
    )
    return Launch(
        engine=EngineVersion(name, version, "the test"),
        target=None,
        draft=None,
        environment=variables,
        flags=flags or {},
        hardware=hardware or Hardware(),
        facts={"nccl": reading, **(facts or {})},
    )


def findings(rule: Rule, environment: Mapping[str, str | None], **given: Any) -> list[Finding]:
    """Return what one rule finds; every message keeps the form of all messages."""
    found = list(rule.check(nccl_launch(environment, **given), Resolved({}, ())))
    for finding in found:
        assert len(finding.message) <= 100, finding.message
        assert not finding.message.endswith(".")
        assert finding.values
    return found


def counted(environment: Mapping[str, str | None], **given: Any) -> list[str]:
    """Return the names of NCCL rules with an error or a warning."""
    launch = nccl_launch(environment, **given)
    rules = [
        rule
        for rule in load_rules()
        if rule.check.__module__.startswith("specpreflight.rules.nccl.")
        and not (rule.needs and launch.hardware == Hardware())
    ]
    return [
        rule.name
        for rule in rules
        for finding in rule.check(launch, Resolved({}, ()))
        if (finding.severity or SEVERITY_OF_OUTCOME[finding.outcome]) is not Severity.NOTE
    ]
