"""A list of interfaces or adapters takes none, or others than it seems.

## What it checks
NCCL_SOCKET_IFNAME and NCCL_IB_HCA: marks inside the list (`^a,^b`, `=a,=b`), blanks, quotes,
wildcards, too many entries, and, where the machine's interfaces are known, what the list takes.

## What the engine does
`^` (all but) and `=` (exact) count once, in front of the whole list; later ones are part of a name.
Names are prefixes without `=`, nothing is trimmed and there are no wildcards. No interface stops
the start with "Bootstrap : no socket interface found"; no adapter means a quiet fall back to
sockets.

## Example
`NCCL_SOCKET_IFNAME=^lo,^docker` excludes lo and nothing else.

## Fix
`NCCL_SOCKET_IFNAME=^lo,docker`

## Fix safety
Shown only: names are the machine's.

## How sure
Proven: compared with NCCL's own functions of nine releases.

## References
NVIDIA/nccl `src/misc/utils.cc:parseStringList`, `src/misc/socket.cc:ncclFindInterfaces`;
NVIDIA/nccl#1837.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy, Severity, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclVariable, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown
from specpreflight.rules.rule import Rule

_MOST = {"NCCL_SOCKET_IFNAME": 16, "NCCL_IB_HCA": 32}
_NO_INTERFACE = "Bootstrap : no socket interface found"


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a list that is not what it seems."""
    reading = reading_of(launch)
    if reading is None:
        return
    hosts = {
        "NCCL_SOCKET_IFNAME": launch.hardware.interfaces,
        "NCCL_IB_HCA": launch.hardware.hcas,
    }
    for name, most in _MOST.items():
        variable = reading.in_force(name)
        if variable is None or len(variable.value or "") < 2:
            continue
        if hosts[name] is not None and variable.understood.text == "none":
            yield _nothing(variable)
        elif (problem := _problem(variable.value or "", most)) is not None:
            yield _odd(variable, problem)
    comm_id = reading.in_force("NCCL_COMM_ID")
    if comm_id is not None and comm_id.understood.effect == "fatal":
        yield _invalid_address(comm_id)


def _nothing(variable: NcclVariable) -> Finding:
    stops = variable.name == "NCCL_SOCKET_IFNAME"
    return Finding(
        RULE.name,
        Outcome.CRASHES if stops else Outcome.DEGRADES,
        f"{variable.name}=`{shown(variable.value)}` takes nothing on this machine",
        stage=Stage.WEIGHTS if stops else Stage.SERVING,
        engine_message=_NO_INTERFACE if stops else None,
        values=(variable.as_value(),),
    )


def _problem(text: str, most: int) -> str | None:
    list_text = re.sub(r"^\^?=?", "", text)
    entries = [entry for entry in list_text.split(",") if entry]
    if re.search(r"(^|,)[\^=]", list_text):
        return "^ and = count once, in front"
    if re.search(r"[\s\"']", list_text):
        return "blanks and quotes are part of a name"
    if re.search(r"[*?;\[\]]", list_text):
        return "there are no wildcards, and the comma separates"
    if len(entries) > most:
        return f"only the first {most} entries count"
    return None


def _odd(variable: NcclVariable, problem: str) -> Finding:
    text = variable.value or ""
    mark = "^" if text.startswith("^") else ""
    names = re.sub(r"[\^\s\"'*?]", "", text[len(mark) :]).replace(";", ",").replace(",=", ",")
    remedies: tuple[Remedy, ...] = ()
    if mark + names != text:
        remedies = (set_to(variable.name, mark + names, safe=False),)
    return Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"{variable.name}=`{shown(text)}`: {problem}",
        stage=Stage.WEIGHTS,
        confidence=Confidence.PROVEN,
        severity=Severity.WARNING,
        detail=f"NCCL takes {variable.understood.text}. A list that takes no interface stops the "
        f'start with "{_NO_INTERFACE}".',
        values=(variable.as_value(),),
        remedies=remedies,
    )


def _invalid_address(variable: NcclVariable) -> Finding:
    return Finding(
        RULE.name,
        Outcome.CRASHES,
        f"NCCL_COMM_ID=`{shown(variable.value)}` is no address",
        stage=Stage.WEIGHTS,
        engine_message=variable.understood.message.removeprefix("WARN: "),
        values=(variable.as_value(),),
    )


RULE = Rule(
    name="nccl-interface-list",
    summary="a list of interfaces or adapters takes none, or others than it seems",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
