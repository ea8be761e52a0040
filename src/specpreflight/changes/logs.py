"""Two logs side by side, in the terms of every other comparison."""

from __future__ import annotations

from specpreflight.engines.logs.compare import compare
from specpreflight.models.change import Change, Consequence
from specpreflight.models.comparison import Comparison
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.models.finding import MISSING


def compare_logs(before: Diagnosis, after: Diagnosis, names: tuple[str, str]) -> Comparison:
    """Return what differs between two logs; what can explain the second's failure comes first."""
    changes = tuple(
        Change(
            "log",
            one.name,
            MISSING if one.good is None else one.good,
            MISSING if one.bad is None else one.bad,
            ()
            if one.explains is None
            else (Consequence("worse" if after.healthy is False else "other", one.explains),),
        )
        for one in compare(after, before)
    )
    return Comparison(_title(names[0], before), _title(names[1], after), changes)


def _title(name: str, diagnosis: Diagnosis) -> str:
    if diagnosis.healthy is None:
        became = "ends before anything is decided"
    elif diagnosis.healthy:
        became = "started and served"
    else:
        rule = f", {diagnosis.rule}" if diagnosis.rule else ""
        became = f"died ({diagnosis.cause}{rule})"
    return f"{name}: {diagnosis.engine} {diagnosis.version} {became}"
