"""A diagnosis as text: the cause first, then what to do, then what is known of the launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import shorten
from typing import Final

from specpreflight.models.diagnosis import Diagnosis, Difference

_STAGES: Final = {
    "ARG": "while reading its arguments",
    "CFG": "while reading the configs",
    "DIST": "while the ranks were connecting",
    "TW": "while loading the target's weights",
    "TKV": "while reserving the target's KV cache",
    "TGR": "while capturing the target's graphs",
    "DCFG": "while reading the draft's config, the target being loaded",
    "DW": "while loading the draft's weights",
    "DKV": "while setting up the draft's KV cache and attention",
    "DGR": "while capturing the draft's graphs",
    "WARM": "at the first request",
    "READY": "while serving",
    "RUN": "while serving",
}
_BARS: Final = "▁▂▃▄▅▆▇█"
#: So many differences fit on a screen beside the diagnosis.
_MOST_DIFFERENCES: Final = 12
_SHOWN_VALUES: Final = (
    "target_context", "draft_context", "num_steps", "topk", "num_draft_tokens", "algorithm",
    "method", "num_spec_tokens", "target_class", "draft_class", "key", "backend", "architectures",
    "model_type", "tried", "free", "last_error", "missing_flag", "ranks",
    "rank_without_init_complete", "shards_done", "shards_total",
)  # fmt: skip


def render_diagnosis(
    diagnosis: Diagnosis,
    ways_out: Sequence[str] = (),
    differences: Sequence[Difference] | None = None,
) -> str:
    """Return the lines of a diagnosis, each ended.

    Args:
        diagnosis: of the run that is asked about.
        ways_out: what to do, the best first.
        differences: to a run that worked, or `None` where none was given.
    """
    lines = [_headline(diagnosis)]
    if diagnosis.message:
        lines.append(f"  {shorten(diagnosis.message, 300)}")
    if diagnosis.rule:
        lines.append(f"  would have been reported by: {diagnosis.rule}")
    lines += [f"  fix: {text}" for text in ways_out]
    if shown := [f"{k} {diagnosis.values[k]}" for k in _SHOWN_VALUES if k in diagnosis.values]:
        lines += ["", f"  {', '.join(shown)}"]
    lines += _acceptance(diagnosis)
    lines += [f"  note: {name}: {shorten(text, 90)}" for name, text in diagnosis.warnings.items()]
    if differences is not None:
        lines += ["", *_differences(differences)]
    return "\n".join(lines) + "\n"


def _headline(diagnosis: Diagnosis) -> str:
    if diagnosis.engine is None:
        return "no line of SGLang or vLLM is in this log"
    name = f"{diagnosis.engine} {diagnosis.version}"
    where = _STAGES.get(diagnosis.stage or "", "before its first step")
    if diagnosis.healthy is None:
        return f"{name}: the log ends {where}; nothing is decided yet"
    if diagnosis.healthy:
        fault = f", but {diagnosis.silent_fault}" if diagnosis.silent_fault else ""
        return f"{name}: started and served{fault}"
    after = diagnosis.seconds_to_death
    seconds = f" after {after:.0f} s" if after is not None else ""
    return f"{name}: died {where}{seconds} ({diagnosis.cause})"


def _acceptance(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.acceptance_length is None:
        return
    rate = diagnosis.acceptance_rate
    printed = f", rate {rate:.2f} as printed" if rate is not None else ""
    yield f"  acceptance length {diagnosis.acceptance_length:.2f}{printed}"
    yield f"  {sparkline(diagnosis.lengths)}"


def sparkline(lengths: Sequence[float], width: int = 60) -> str:
    """Return a plot of one line, each column the mean of its share of the values."""
    if not lengths:
        return ""
    count = min(width, len(lengths))
    edges = [round(column * len(lengths) / count) for column in range(count + 1)]
    columns = [sum(lengths[start:end]) / (end - start) for start, end in pairwise(edges)]
    low, high = min(columns), max(columns)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0
    return "".join(_BARS[round((value - low) * scale)] for value in columns) + (
        f" {low:.2f} to {high:.2f}"
    )


def _differences(differences: Sequence[Difference]) -> Iterator[str]:
    if not differences:
        yield "  no difference to the good run is in the logs"
        return
    shown = differences[:_MOST_DIFFERENCES]
    width = max(len(difference.name) for difference in shown)
    yield f"  {'against the good run':{width}}  good -> this"
    for difference in shown:
        good, bad = (
            shorten(value or "not printed", 40) for value in (difference.good, difference.bad)
        )
        yield f"  {difference.name:{width}}  {good} -> {bad}"
        if difference.explains:
            yield f"  {'':{width}}  {difference.explains}"
    if len(differences) > len(shown):
        yield f"  and {len(differences) - len(shown)} more; --format json lists them all"
