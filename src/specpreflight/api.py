"""The public surface beside the command line: build a launch, check it, read the report.

>>> from specpreflight.api import build_launch, check
>>> report = check(build_launch("target", "draft", engine="sglang@0.5.11"))
>>> report.verdict.outcome
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specpreflight.documents import Document
from specpreflight.engines.registry import find_engine
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import (
    SEVERITY_OF_OUTCOME,
    STOPPING,
    Finding,
    Outcome,
    Severity,
    Skipped,
    Stage,
)
from specpreflight.models.launch import EngineVersion, Hardware, Launch, Variable
from specpreflight.models.report import EngineUsed, Inputs, Report, Summary, Verdict
from specpreflight.models.resolved import Resolved
from specpreflight.models.secrets import redact
from specpreflight.models.sha256 import sha256
from specpreflight.models.weights import why_unseen
from specpreflight.rules.registry import rules_for, undecided
from specpreflight.rules.rule import Rule
from specpreflight.sources.checkpoint import read_checkpoint
from specpreflight.sources.hub_cache import find_snapshot

if TYPE_CHECKING:
    from specpreflight.models.policy import Policy

__all__ = ["build_launch", "check", "identify_engine", "judge"]

#: Variables that can touch a launch; the others of the process are not even looked at.
RELEVANT_PREFIXES = (
    "SGLANG_", "SGL_", "VLLM_", "NCCL_", "TORCH_NCCL_", "CUDA_", "HF_", "TRANSFORMERS_",
    "PYTORCH_", "FLASHINFER_",
)  # fmt: skip

#: How many lines above and below a value a report may show.
_AROUND = 3

_ENGINE_PREFIXES = ("SGLANG_", "SGL_", "VLLM_")

#: From worst to best, for launches that no finding stops.
_BADNESS = (
    Outcome.WRONG_OUTPUT,
    Outcome.ACCEPTS_NOTHING,
    Outcome.DEGRADES,
    Outcome.ADJUSTS,
    Outcome.STARTS,
)


def identify_engine(wanted: str) -> EngineVersion:
    """Return the engine and version that `NAME`, `NAME@VERSION` or `NAME@PATH` means.

    A bare path is SGLang's: `--engine /opt/venv/lib/python3.12/site-packages`.

    Raises:
        UsageError: an engine or version that is not known.
    """
    name, at, version = wanted.partition("@")
    if "/" in name or name in ("installed", "."):
        name, at, version = "sglang", "@", wanted
    return find_engine(name).identify(version if at else None)


def build_launch(
    target: str | os.PathLike[str] | Checkpoint | None = None,
    draft: str | os.PathLike[str] | Checkpoint | None = None,
    *,
    engine: str | EngineVersion = "sglang",
    words: Sequence[str] = (),
    environment: Mapping[str, Variable] | None = None,
    hardware: Hardware | None = None,
    locate: Callable[[str], str] = str,
    find: Callable[[str, str], Path | None] = find_snapshot,
    facts: Mapping[str, Any] | None = None,
) -> Launch:
    """Read everything a launch is made of, once.

    Args:
        target: the target's directory, `config.json` or Hub id; where it is `None`, the engine's
            own flag among `words` names it. A checkpoint that was read already is taken as it is.
        draft: the same for the draft.
        engine: `sglang`, `sglang@0.5.9`, … or an identified version.
        words: the engine's arguments, as they stand after its entry point.
        environment: the variables of the launch, with their origins.
        hardware: what is known of the machine.
        locate: turns a path that the flags name into one of this machine.
        find: returns the folder of a Hub repository and revision; `find_or_download` may fetch it.
        facts: what else is known, for rules.

    Raises:
        UsageError: an unknown engine or version.
    """
    version = identify_engine(engine) if isinstance(engine, str) else engine
    answers = find_engine(version.name)
    named = answers.read_arguments(words, version)
    target_read = _read(
        "target",
        target or (named.target and locate(named.target)),
        named.flags.get("revision"),
        find,
    )
    draft_read = _read(
        "draft",
        draft or (named.draft and locate(named.draft)),
        named.flags.get("speculative-draft-model-revision"),
        find,
    )
    argv = answers.complete_arguments(
        words, target_read if target else None, draft_read if draft else None, version
    )
    arguments = answers.read_arguments(argv, version)
    return Launch(
        engine=version,
        target=target_read,
        draft=draft_read,
        argv=argv,
        flags=arguments.flags,
        environment={} if environment is None else environment,
        hardware=Hardware() if hardware is None else hardware,
        target_path=_path_of(target) or arguments.target,
        draft_path=_path_of(draft) or arguments.draft,
        facts=facts or {},
    )


def check(launch: Launch, *, policy: Policy | None = None) -> Report:
    """Predict what the engine will do with this launch and run all rules on it.

    Args:
        launch: see `build_launch`.
        policy: severities of one's own, ignores, a baseline, plugins; `None` for none of it.

    Raises:
        UsageError: the policy names a plugin that is not installed.
    """
    launch = _read_environment(launch)
    resolved = find_engine(launch.engine.name).resolve(launch)
    findings: list[Finding] = []
    skipped = list(undecided(launch, resolved))
    further, failures = _load_plugins(launch, policy)
    why_missing = cache(partial(_why_missing, launch))
    for rule in (*rules_for(launch, resolved), *further):
        missing = _first_missing(rule, why_missing)
        if missing is not None:
            skipped.append(Skipped(rule.name, *missing))
            continue
        try:
            findings += [_finish(found, launch) for found in rule.check(launch, resolved)]
        except Exception as error:
            failures.append(f"rule {rule.name} failed: {type(error).__name__}: {error}")
            skipped.append(Skipped(rule.name, "internal", failures[-1]))
    finished = sorted(findings, key=_importance)
    report = Report(
        engine=EngineUsed(launch.engine.name, launch.engine.version, launch.engine.determined_by),
        verdict=_verdict(launch.engine, finished, resolved),
        findings=tuple(finished),
        skipped=tuple(skipped),
        resolved=resolved.settings,
        inputs=_inputs(launch),
        summary=_summary(finished, skipped),
        excerpts=dict(_excerpts(finished, launch)),
        internal_errors=tuple(failures),
    )
    return report if policy is None else judge(report, policy)


def judge(report: Report, policy: Policy) -> Report:
    """Return a report with its findings as they count in a project; `check` does it at once."""
    judged = (policy.judge(finding, report.inputs) for finding in report.findings)
    findings = tuple(sorted(judged, key=_importance))
    return replace(report, findings=findings, summary=_summary(findings, report.skipped))


def _path_of(given: str | os.PathLike[str] | Checkpoint | None) -> str | None:
    if isinstance(given, Checkpoint):
        return given.given
    return None if given is None else os.fspath(given)


def _read(
    role: str,
    given: str | os.PathLike[str] | Checkpoint | None,
    revision: Any,
    find: Callable[[str, str], Path | None],
) -> Checkpoint | None:
    if given is None or isinstance(given, Checkpoint):
        return given
    wanted = revision if isinstance(revision, str) else None
    return read_checkpoint(role, os.fspath(given), revision=wanted, find=find)


def _read_environment(launch: Launch) -> Launch:
    """Add what rules ask about variables and files that flags name.

    Those are NCCL's reading of its own, the names the engine knows, the token map. What the launch
    does not touch is not read, nor is a file that lies in a container.
    """
    facts = dict(launch.facts)
    in_container = getattr(facts.get("command"), "image", None) is not None
    if "nccl" not in facts and (
        launch.hardware != Hardware()
        or any(name[:5].upper() == "NCCL_" for name in launch.environment)
    ):
        from specpreflight.engines.nccl.launch import read_launch
        from specpreflight.sources.installed_nccl import find_installed_nccl

        facts["nccl"] = read_launch(
            launch,
            wanted=facts.get("nccl_release"),
            installed=None if in_container else find_installed_nccl(),
        )
    if any(name.startswith(_ENGINE_PREFIXES) for name in launch.environment):
        engine = find_engine(launch.engine.name)
        facts.setdefault("engine_variables", engine.known_variables(launch.engine))
        facts.setdefault("engine_variables_ever", engine.known_variables(None))
    token_map = launch.flags.get("speculative-token-map")
    if isinstance(token_map, str) and not in_container:
        from specpreflight.sources.token_map import read_token_map

        facts.setdefault("token_map", read_token_map(token_map))
    return replace(launch, facts=facts)


def _first_missing(rule: Rule, why_missing: Callable[[str], str | None]) -> tuple[str, str] | None:
    """Return the first fact that the rule needs and the launch lacks, with the reason."""
    for need in rule.needs:
        reason = why_missing(need)
        if reason is not None:
            return need, reason
    return None


def _why_missing(launch: Launch, need: str) -> str | None:
    subject, _, part = need.partition(".")
    if subject == "hardware":
        return None if launch.hardware != Hardware() else "not known; give --hardware"
    places = {"target": launch.target, "draft": launch.draft, "head": launch.draft or launch.target}
    checkpoint = places.get(subject)
    if checkpoint is None:
        return f"the launch names no {subject}"
    if checkpoint.problem is not None:
        return checkpoint.problem.message
    return why_unseen(checkpoint) if part == "weights" else None


def _load_plugins(launch: Launch, policy: Policy | None) -> tuple[list[Rule], list[str]]:
    """Return the rules that plugins have for this engine, and what is wrong with plugins."""
    if policy is None or not policy.plugins:
        return [], []
    from specpreflight.rules.plugins import load_plugins, rules_of

    plugins = load_plugins(policy.plugins)
    rules = [rule for rule in rules_of(plugins) if rule.holds_for(launch.engine.name)]
    return rules, [plugin.problem for plugin in plugins if plugin.problem is not None]


def _finish(finding: Finding, launch: Launch) -> Finding:
    """Add what every finding has: severity and fingerprint."""
    return replace(
        finding,
        severity=finding.severity or SEVERITY_OF_OUTCOME[finding.outcome],
        fingerprint=_fingerprint(finding, launch),
    )


def _fingerprint(finding: Finding, launch: Launch) -> str:
    """Hash what stays the same when lines and values move: rule, places, engine."""
    roles = {
        checkpoint.config.name: checkpoint.role
        for checkpoint in (launch.target, launch.draft)
        if checkpoint is not None
    }
    places = sorted(
        f"{roles.get(value.origin.path or '', value.origin.kind)}"
        f"{value.origin.pointer or value.origin.name or ''}"
        for value in finding.values
    )
    text = "\n".join((finding.rule, launch.engine.name, *places))
    return sha256(text.encode()).hexdigest()[:16]


def _importance(finding: Finding) -> tuple[int, int, int, str]:
    stages = tuple(Stage)
    stage = stages.index(finding.stage) if finding.stage else len(stages)
    severity = list(Severity).index(finding.severity or Severity.NOTE)
    return severity, stage, finding.order, finding.rule


def _verdict(engine: EngineVersion, findings: Sequence[Finding], resolved: Resolved) -> Verdict:
    """Return the first stop in this release's order of stages, else the worst of the rest."""
    stops = [finding for finding in findings if finding.outcome in STOPPING]
    order = resolved.stage_order
    if stops:
        first = min(
            stops,
            key=lambda stop: (order.index(stop.stage) if stop.stage else len(order), stop.order),
        )
        return Verdict(first.outcome, first.stage, _sentence(engine, first))
    worst = min(findings, key=lambda one: _BADNESS.index(one.outcome), default=None)
    if worst is None or worst.outcome is Outcome.STARTS:
        return Verdict(Outcome.STARTS, None, f"{_engine_words(engine)} starts with this launch")
    return Verdict(worst.outcome, worst.stage, _sentence(engine, worst))


_DOING = {
    Stage.ARGUMENTS: "its arguments are read",
    Stage.TARGET_CONFIG: "the target's config is read",
    Stage.DRAFT_CONFIG: "the draft's config is read",
    Stage.WEIGHTS: "the weights are loaded",
    Stage.WARMUP: "it warms up",
    Stage.SERVING: "it serves",
}

_WILL = {
    Outcome.REFUSES: "refuses this launch",
    Outcome.CRASHES: "crashes",
    Outcome.HANGS: "hangs",
    Outcome.WRONG_OUTPUT: "starts, but gives wrong output",
    Outcome.ACCEPTS_NOTHING: "starts, but accepts no draft token",
    Outcome.DEGRADES: "starts, but slower than it could",
    Outcome.ADJUSTS: "starts, and changes a setting by itself",
    Outcome.STARTS: "starts",
}


def _engine_words(engine: EngineVersion) -> str:
    name = {"sglang": "SGLang", "vllm": "vLLM"}.get(engine.name, engine.name)
    return f"{name} {engine.version}"


def _sentence(engine: EngineVersion, finding: Finding) -> str:
    when = ""
    if finding.outcome in STOPPING and finding.stage is not None:
        when = f" when {_DOING[finding.stage]}"
    return f"{_engine_words(engine)} {_WILL[finding.outcome]}{when}: {finding.message}"


def _inputs(launch: Launch) -> Inputs:
    return Inputs(
        target=launch.target_path,
        draft=launch.draft_path,
        flags={name: redact(name, value) for name, value in launch.flags.items()},
        environment={
            name: redact(name, variable.value)
            for name, variable in sorted(launch.environment.items())
            if variable.origin.kind != "environment" or name.startswith(RELEVANT_PREFIXES)
        },
        hardware={
            name: getattr(launch.hardware, name)
            for name in Hardware.__slots__
            if getattr(launch.hardware, name) is not None
        },
        launch_file=getattr(launch.facts.get("command"), "path", None),
    )


def _summary(findings: Sequence[Finding], skipped: Sequence[Skipped]) -> Summary:
    def count(severity: Severity) -> int:
        return sum(finding.severity is severity for finding in findings)

    return Summary(
        errors=count(Severity.ERROR),
        warnings=count(Severity.WARNING),
        notes=count(Severity.NOTE),
        ignored=sum(finding.ignored is not None for finding in findings),
        skipped=len(skipped),
        fixable=sum(
            any(remedy.edits and remedy.applicability == "safe" for remedy in finding.remedies)
            for finding in findings
            if finding.ignored is None
        ),
    )


def _excerpts(findings: Sequence[Finding], launch: Launch) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield the source lines of the values that findings show, with the lines around them."""
    documents: dict[str, Document] = {
        checkpoint.config.name: checkpoint.config
        for checkpoint in (launch.target, launch.draft)
        if checkpoint is not None
    }
    for finding in findings:
        for value in finding.values:
            path, line = value.origin.path, value.origin.line
            if path in documents and line is not None:
                for near in range(max(line - _AROUND, 1), line + _AROUND + 1):
                    yield (path, near), documents[path].line_text(near)
