"""A diagnosis as text: the cause first, then what to do, then what is known of the launch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import fsum
from textwrap import fill, shorten
from typing import Any, Final

from specpreflight.models.diagnosis import Checked, Diagnosis, Difference
from specpreflight.models.finding import Finding
from specpreflight.reports.printable import printable_lines

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
_MOST_DIFFERENCES: Final = 10
_MOST_SUSPECTS: Final = 4
_MOST_FINDINGS: Final = 3
_SHOWN_VALUES: Final = (
    "target_context", "draft_context", "num_steps", "topk", "num_draft_tokens", "algorithm",
    "method", "num_spec_tokens", "target_class", "draft_class", "key", "backend", "architectures",
    "model_type", "tried", "free", "last_error", "missing_flag", "ranks", "exit_code",
    "rank_without_init_complete", "ranks_behind", "silent_seconds", "shards_done", "shards_total",
)  # fmt: skip
#: Name of the line, then the facts of it: key, and how it is shown.
_MEMORY: Final = (
    ("weights", (("target_weights_gb", "{:g} GB"), ("draft_weights_gb", "draft {:g} GB"),
                 ("weights_gib", "{:g} GiB"), ("target_weights_seconds", "{:g} s"))),
    ("KV cache", (("target_kv_tokens", "{:.0f} tokens"), ("kv_cache_tokens", "{:.0f} tokens"),
                  ("kv_cache_gib", "{:g} GiB"))),
    ("graphs", (("target_graph_gb", "{:g} GB"), ("draft_graph_gb", "draft {:g} GB"),
                ("graph_gib", "{:g} GiB"), ("target_graph_seconds", "{:g} s"))),
    ("left", (("free_gb", "{:g} GB"),)),
)  # fmt: skip


def fit_lines(text: str, width: int) -> str:
    """Return the text with lines of at most `width` columns, where it has blanks to break at."""
    return "".join(f"{_fit(line, width)}\n" for line in text.splitlines())


def _fit(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    body = line.lstrip()
    lead = line[: len(line) - len(body)]
    return fill(
        body, width, initial_indent=lead, subsequent_indent=f"{lead}  ", break_long_words=False
    )


def render_diagnosis(
    diagnosis: Diagnosis,
    ways_out: Sequence[str] = (),
    differences: Sequence[Difference] | None = None,
    checked: Checked | None = None,
) -> str:
    """Return the lines of a diagnosis, each ended.

    Args:
        diagnosis: of the run that is asked about.
        ways_out: what to do, the best first.
        differences: to a run that worked, or `None` where none was given.
        checked: what `check` says of the launch, or `None` where it was not asked.
    """
    lines = [_headline(diagnosis), *_error(diagnosis), *_checked(checked)]
    lines += [f"  fix: {text}" for text in ways_out]
    lines += _suspects(diagnosis)
    if shown := [f"{k} {diagnosis.values[k]}" for k in _SHOWN_VALUES if k in diagnosis.values]:
        lines += ["", f"  {', '.join(shown)}"]
    lines += [f"  {cut}"] if (cut := diagnosis.launch.cut) else []
    lines += _serving(diagnosis)
    lines += [f"  not as asked: {text}" for text in diagnosis.nccl.not_as_asked]
    if differences is None:
        lines += _start(diagnosis)
        lines += [
            f"  note: {name}: {shorten(text, 90)}" for name, text in diagnosis.warnings.items()
        ]
    else:
        lines += ["", *_differences(differences)]
    return printable_lines("\n".join(lines)) + "\n"


def _headline(diagnosis: Diagnosis) -> str:
    if diagnosis.engine is None:
        return f"no line of SGLang or vLLM is in this log ({diagnosis.cause})"
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


def _error(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the error's own text: cut where its shape is known, else whole."""
    if diagnosis.message and diagnosis.cause == "L-UNKNOWN":
        yield from (f"  {line}" for line in diagnosis.message.rstrip().split("\n"))
    elif diagnosis.message:
        yield f"  {shorten(diagnosis.message, 220)}"
    if diagnosis.rule:
        yield f"  would have been reported by: {diagnosis.rule}"
    elif diagnosis.nearest:
        yield f"  no known failure; the nearest: {', '.join(diagnosis.nearest)}"


def _checked(checked: Checked | None) -> Iterator[str]:
    if checked is None:
        return
    if checked.problem:
        yield f"  check: {checked.problem}"
    for finding in checked.explaining[:_MOST_FINDINGS]:
        yield f"  check: {_place(finding)}{finding.message}"
    if checked.differs:
        yield "  check: these checkpoints do not have it; others were launched"
    if checked.missing:
        yield f"  check: not on this machine: {', '.join(checked.missing)}"


def _place(finding: Finding) -> str:
    """Return where the value stands that the first edit would change, else the first of all."""
    edited = [edit.path for remedy in finding.remedies for edit in remedy.edits][:1]
    for value in finding.values:
        origin = value.origin
        if origin.path and origin.line and (not edited or origin.path in edited):
            return f"{origin.path}:{origin.line}: "
    return ""


def _suspects(diagnosis: Diagnosis) -> Iterator[str]:
    for suspect in diagnosis.serving.suspects[:_MOST_SUSPECTS]:
        sure = "the log shows" if suspect.seen else "can be"
        yield f"  {sure}: {suspect.why} ({suspect.rule})"


def _serving(diagnosis: Diagnosis) -> Iterator[str]:
    length, rate, lengths = (
        diagnosis.acceptance_length,
        diagnosis.acceptance_rate,
        diagnosis.lengths,
    )
    if length is not None:
        printed = f", rate {rate:.2f} as printed" if rate is not None else ""
        quarter = max(len(lengths) // 4, 1)
        first, last = (fsum(part) / quarter for part in (lengths[:quarter], lengths[-quarter:]))
        falls = ", it falls" if diagnosis.serving.is_falling else ""
        yield (
            f"  acceptance length {length:.2f}{printed}; {first:.2f} at first, {last:.2f} at last"
            f"{falls}"
        )
        yield f"  {sparkline(lengths)}"
    if (speed := diagnosis.serving.tokens_per_second) is not None:
        each = diagnosis.serving.tokens_per_request
        yield f"  {speed:.0f} tokens/s" + (f", {each:.0f} a request" if each is not None else "")


def _start(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.seconds_to_ready is not None:
        yield f"  ready after {diagnosis.seconds_to_ready:.0f} s"
    if memory := "; ".join(_memory(diagnosis.memory)):
        yield f"  {memory}"
    if nccl := ", ".join(_nccl(diagnosis.nccl.told)):
        yield f"  {nccl}"


def _memory(told: Mapping[str, Any]) -> Iterator[str]:
    for name, facts in _MEMORY:
        if shown := ", ".join(form.format(told[key]) for key, form in facts if key in told):
            yield f"{name} {shown}"


def _nccl(told: Mapping[str, Any]) -> Iterator[str]:
    if "version" in told:
        yield f"NCCL {told['version']}"
    if "coll" in told.get("channels", {}):
        yield f"{told['channels']['coll']} channels"
    if "transports" in told:
        yield f"via {', '.join(told['transports'])}"
    if "network" in told:
        yield f"network {told['network']}"
    if "connected" in told:
        yield " and ".join(told["connected"])
    if "nvls" in told:
        yield "NVLS" if told["nvls"] else "no NVLS"
    for name, pairs in told.get("collectives", {}).items():
        yield f"{name} {' '.join('/'.join(pair) for pair in pairs)}"


def sparkline(lengths: Sequence[float], width: int = 60) -> str:
    """Return a plot of one line, each column the mean of its share of the values."""
    if not lengths:
        return ""
    count = min(width, len(lengths))
    edges = [round(column * len(lengths) / count) for column in range(count + 1)]
    columns = [fsum(lengths[start:end]) / (end - start) for start, end in pairwise(edges)]
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
        mark = " (the default changed)" if difference.by_default else ""
        yield f"  {difference.name:{width}}  {good} -> {bad}{mark}"
        if difference.explains:
            yield f"  {'':{width}}  {difference.explains}"
    if len(differences) > len(shown):
        yield f"  and {len(differences) - len(shown)} more; --format json lists them all"
