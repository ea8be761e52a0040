"""`specpreflight keys`: what an engine's loader does with every tensor of a draft."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from specpreflight.cli.check import WordsCommand
from specpreflight.errors import InputError, UsageError
from specpreflight.reports.printable import printable_lines

if TYPE_CHECKING:
    from specpreflight.models.checkpoint import Checkpoint
    from specpreflight.models.loader_report import LoaderReport, Untouched
    from specpreflight.models.resolved import Resolved
    from specpreflight.models.weights import WeightTable

#: What the draft worker replaces by the target's.
_SHARED: Final = ("embed_tokens.weight", "lm_head.weight")
#: Refusals of what `keys` is told itself: the algorithm.
_GIVEN: Final = frozenset(
    ("arguments.not-parsed", "arguments.parse", "arguments.unknown-algorithm")
)


@click.command(cls=WordsCommand)
@click.argument("draft", metavar="DRAFT [-- ENGINE ARGUMENTS]")
@click.option(
    "--for",
    "engine",
    default="sglang",
    metavar="NAME[@VERSION]",
    help="Engine and release; sglang at its newest known release if not given.",
)
@click.option("--algorithm", metavar="NAME", help="--speculative-algorithm of the launch.")
@click.option(
    "--target", metavar="PATH", help="The target; without it DRAFT is the target's own checkpoint."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.pass_context
def keys(
    ctx: click.Context,
    draft: str,
    engine: str,
    algorithm: str | None,
    target: str | None,
    form: str,
) -> None:
    """Say which tensors of DRAFT an engine's loader takes, and which it drops.

    \b
      specpreflight keys DRAFT --for sglang@0.5.11 --algorithm EAGLE3 --target TARGET
      specpreflight keys CHECKPOINT_WITH_MTP --for sglang@0.5.16 --algorithm NEXTN
      specpreflight keys DRAFT --algorithm EAGLE3 --target TARGET -- --quantization fp8

    Exit code 1 if the loader would fail, or leave parameters without weights that the draft
    computes with; what the worker takes from the target afterwards does not count.
    """
    words = tuple(ctx.meta["words"] or ())
    checkpoint, table, report, stopped = trace_loader(draft, target, engine, algorithm, words)
    if form == "json":
        click.echo(json.dumps(as_data(report, stopped), indent=2))
    else:
        click.echo(render_keys(checkpoint, table, report, stopped), nl=False)
    ctx.exit(int(stopped is not None or report.error is not None or bool(report.lost)))


def trace_loader(
    draft: str,
    target: str | None,
    engine: str,
    algorithm: str | None,
    words: tuple[str, ...] = (),
) -> tuple[Checkpoint, WeightTable, LoaderReport, str | None]:
    """Return the draft, its tensors, the loader's answer, and what stops the launch before it.

    Raises:
        InputError: the draft has no tensors that can be seen.
        UsageError: an unknown engine, or one whose loaders are not restated.
    """
    from specpreflight.api import build_launch
    from specpreflight.engines.registry import find_engine
    from specpreflight.models.draft_format import DraftFormat, draft_format
    from specpreflight.models.weights import loader_of, weights_of
    from specpreflight.sources.checkpoint import read_checkpoint

    checkpoint = read_checkpoint("draft", draft)
    if checkpoint.problem is not None:
        raise InputError(checkpoint.problem.message, hint=checkpoint.problem.hint)
    table = weights_of(checkpoint)
    if table is None or table.unseen is not None:
        why = "is not a local directory" if table is None else f"can't be read: {table.unseen}"
        raise InputError(f"{draft}: {why}", hint="only the headers of safetensors files are read")
    if algorithm is not None and not engine.startswith("vllm"):
        words = ("--speculative-algorithm", algorithm, *words)
    own = target is None and draft_format(checkpoint) in (DraftFormat.STANDALONE, DraftFormat.MTP)
    launch = build_launch(
        draft if own else target, None if own else draft, engine=engine, words=words
    )
    resolved = find_engine(launch.engine.name).resolve(launch)
    report = loader_of(resolved)
    if report is None:
        if launch.engine.name == "vllm":
            hint = "of vLLM only `Eagle3LlamaForCausalLM` is, for drafts that are not quantised"
        else:
            hint = "give --algorithm, and --target where the draft has a checkpoint of its own"
        raise UsageError(
            f"the loaders of {launch.engine.name} are not restated for this launch", hint=hint
        )
    return checkpoint, table, report, _stopped_before(resolved)


def _stopped_before(resolved: Resolved) -> str | None:
    """Return what stops the launch when the configs are read, or the algorithm is.

    Of the arguments only those count that `keys` was given: what the launch's other flags would
    mend is not asked here.
    """
    from specpreflight.models.finding import STOPPING, Stage

    for event in resolved.events:
        reading = event.stage in (Stage.TARGET_CONFIG, Stage.DRAFT_CONFIG)
        if (reading or event.topic in _GIVEN) and event.outcome in STOPPING:
            return f"{event.exception or 'error'}: {event.engine_message or event.message}"
    return None


def as_data(report: LoaderReport, stopped: str | None) -> dict[str, Any]:
    """Return the answer as JSON data; what stops the launch earlier leaves the lists empty."""
    if stopped is not None:
        return {"taken": [], "dropped": [], "untouched": [], "error": stopped}
    error = report.error
    return {
        "taken": sorted(report.taken),
        "dropped": sorted(report.dropped),
        "untouched": [each.parameter for each in report.untouched],
        "error": None if error is None else f"{error.exception}: {error.message}",
        "class": report.architecture,
        "source": report.source,
        "parameters": {name: list(places) for name, places in sorted(report.taken.items())},
        "resized": [list(each) for each in report.resized],
        "zero_filled": [list(each) for each in report.zero_filled],
        "overwritten": list(report.overwritten),
        "not_read": list(report.not_read),
        "notes": list(report.notes),
    }


def render_keys(
    checkpoint: Checkpoint, table: WeightTable, report: LoaderReport, stopped: str | None
) -> str:
    """Return the table: tensor, dtype, shape, what becomes of it."""
    rows = [
        (tensor.name, tensor.dtype, _dimensions(tensor.shape), _fate(report, tensor.name))
        for tensor in sorted(table.tensors.values())
    ]
    rows += [("-", "-", _dimensions(each.shape), _state(report, each)) for each in report.untouched]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [f"{checkpoint.given} as {report.architecture} ({report.source})", ""]
    lines += [
        "  ".join(
            (*(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)), row[3])
        )
        for row in rows
    ]
    cut = {each.tensor: each for each in report.resized}
    lines += [
        f"cut: {name}, {each.used} of {each.elements} elements used" for name, each in cut.items()
    ]
    lines += [
        f"padded: {each.parameter}, {each.zeros} zeros after {each.tensor}"
        for each in report.zero_filled
        if not each.parameter.endswith(("lm_head.weight", "embed_tokens.weight"))
    ]
    if stopped is not None:
        lines += ["", f"stopped before loading: {stopped}"]
    elif report.error is not None:
        lines += ["", f"stops: {report.error.exception}: {report.error.message}"]
    lines += [f"note: {note}" for note in report.notes]
    counts = (
        f"{len(report.taken)} taken, {len(report.dropped)} dropped, "
        f"{len(report.untouched)} parameters untouched"
    )
    return printable_lines("\n".join((*lines, "", counts, "")))


def _dimensions(shape: tuple[int, ...] | None) -> str:
    return "?" if shape is None else "x".join(map(str, shape)) or "scalar"


def _state(report: LoaderReport, untouched: Untouched) -> str:
    if untouched not in report.lost and untouched.parameter.endswith(_SHARED):
        return f"untouched: {untouched.parameter}, later the target's"
    return f"untouched: {untouched.parameter} stays {untouched.initial}"


def _fate(report: LoaderReport, name: str) -> str:
    if name in report.taken:
        return f"taken as {', '.join(report.taken[name])}"
    if name in report.dropped:
        return "dropped"
    if report.error is not None and report.error.tensor == name:
        return f"fails: {report.error.exception}"
    return "not read"
