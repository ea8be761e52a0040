"""Checking the launch that a log tells of: which findings explain what became of it."""

from __future__ import annotations

import shlex
from typing import Final

from specpreflight.api import check
from specpreflight.cli.check import Options
from specpreflight.cli.observed_launch import launch_of_log
from specpreflight.errors import InputError, UsageError
from specpreflight.models.diagnosis import Checked, Diagnosis
from specpreflight.models.finding import STOPPING, Finding, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.secrets import redact_words

#: Rules about how the ranks reach each other.
_OF_CONNECTIONS: Final = frozenset(
    {
        "nccl-p2p-across-host-bridge",
        "nccl-p2p-settings-contradict",
        "nccl-no-direct-transport",
        "nccl-nvls-forced",
        "nccl-cumem-conflict",
        "nccl-mnnvl-without-fabric",
        "nccl-interface-list",
        "nccl-ranks-disagree",
        "nccl-releases-differ",
    }
)
_STAGES: Final = {
    "ARG": {Stage.ARGUMENTS},
    "CFG": {Stage.ARGUMENTS, Stage.TARGET_CONFIG, Stage.DRAFT_CONFIG},
    "DCFG": {Stage.DRAFT_CONFIG},
    "TW": {Stage.TARGET_CONFIG, Stage.WEIGHTS},
    "DW": {Stage.DRAFT_CONFIG, Stage.WEIGHTS},
    "RUN": {Stage.SERVING},
}


def check_logged(
    path: str, diagnosis: Diagnosis, target: str | None, draft: str | None
) -> Checked | None:
    """Check the launch of a log, and return what explains the diagnosis.

    Args:
        path: the log's.
        diagnosis: what became of the launch.
        target: where the target lies here, if not where the log says.
        draft: the same for the draft.

    Returns:
        `None` where nothing is to be explained: a server that works, and nothing was given.
    """
    if not (target or draft or diagnosis.healthy is False or diagnosis.serving.suspects):
        return None
    told = diagnosis.launch
    if told.cut and not (told.command or told.draft or draft):
        return Checked(problem=f"no launch to check: {told.cut}")
    try:
        launch = launch_of_log(path, diagnosis, Options(paths=(target or "", draft or "")))
    except (InputError, UsageError) as error:
        return Checked(problem=error.message)
    if launch.target is None and launch.draft is None and not launch.argv:
        return None
    report = check(launch)
    missing = tuple(_missing(launch))
    findings = [one for one in report.findings if not (missing and one.rule == "config-unreadable")]
    explaining = _explaining(findings, diagnosis)
    stops = [one for one in findings if one.outcome in STOPPING and one not in explaining]
    return Checked(
        explaining=explaining,
        others=len(stops),
        missing=missing,
        differs=diagnosis.rule is not None and not (missing or explaining),
        command=_command(launch),
    )


def _missing(launch: Launch) -> list[str]:
    roles: dict[str, list[str]] = {}
    for checkpoint in (launch.target, launch.draft):
        if checkpoint is not None and checkpoint.problem is not None:
            roles.setdefault(checkpoint.given, []).append(f"--{checkpoint.role}")
    return [f"{given} (give {' and '.join(named)})" for given, named in roles.items()]


def _explaining(findings: list[Finding], diagnosis: Diagnosis) -> tuple[Finding, ...]:
    rules = [diagnosis.rule, *(suspect.rule for suspect in diagnosis.serving.suspects)]
    named = [finding for finding in findings if finding.rule in rules]
    if named or diagnosis.healthy is not False:
        return tuple(sorted(named, key=lambda finding: rules.index(finding.rule)))
    if str(diagnosis.cause).startswith(("L-NCCL", "L-DIST")):
        return tuple(one for one in findings if one.rule in _OF_CONNECTIONS)
    stages = _STAGES.get(diagnosis.stage or "", {Stage.WARMUP})
    return tuple(
        finding for finding in findings if finding.outcome in STOPPING and finding.stage in stages
    )


def _command(launch: Launch) -> str:
    engine = f"{launch.engine.name}@{launch.engine.version}"
    variables = [
        f"--env {shlex.quote(f'{name}={variable.value}')} "
        for name, variable in launch.environment.items()
        if variable.value is not None
    ]
    words = shlex.join(redact_words(launch.argv))
    return f"specpreflight check --engine {engine} {''.join(variables)}-- {words}"
