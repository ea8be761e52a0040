"""`specpreflight convert`: write a draft with the tensor names that an engine takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from specpreflight.errors import UsageError

if TYPE_CHECKING:
    from specpreflight.models.weights import LoaderReport


@click.command()
@click.argument("draft")
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--for",
    "engine",
    default="sglang",
    metavar="NAME[@VERSION]",
    help="Engine and release; sglang at its newest known release if not given.",
)
@click.option("--algorithm", metavar="NAME", help="--speculative-algorithm of the launch.")
@click.option("--target", metavar="PATH", help="The target of the draft.")
@click.pass_context
def convert(
    ctx: click.Context,
    draft: str,
    out: Path,
    engine: str,
    algorithm: str | None,
    target: str | None,
) -> None:
    """Write DRAFT to OUT with the tensor names that an engine's loader takes.

    The data bytes stay the same, DRAFT is only read, OUT must not exist. The renaming is one under
    which the restated loader takes more of the checkpoint; without such a one nothing is written.

    \b
      specpreflight convert DRAFT OUT --for sglang@0.5.11
    """
    from specpreflight.cli.keys import trace_loader
    from specpreflight.fixes.convert import convert_checkpoint

    checkpoint, _, report, _ = trace_loader(draft, target, engine, algorithm)
    if checkpoint.directory is None:
        raise UsageError(f"{draft}: is not a local directory")
    _require_renaming(draft, report)
    written = convert_checkpoint(checkpoint.directory, out, report.renaming)
    _, _, after, _ = trace_loader(str(out), target, engine, algorithm)
    click.echo(render_conversion(out, report, after, written), nl=False)
    ctx.exit(int(after.error is not None or bool(after.lost)))


def _require_renaming(draft: str, report: LoaderReport) -> None:
    """Refuse to write a copy that no engine takes better."""
    if report.renaming:
        return
    if report.error is None and not report.lost:
        raise UsageError(
            f"{draft}: {report.architecture} takes every tensor it needs, there is nothing to do"
        )
    raise UsageError(
        f"{draft}: no renaming is known under which {report.architecture} would take more of it",
        hint="`specpreflight keys` shows what becomes of each tensor",
    )


def render_conversion(
    out: Path, before: LoaderReport, after: LoaderReport, written: tuple[str, ...]
) -> str:
    """Return the report: each renaming, and what the loader says of the copy."""
    width = max(len(old) for old in before.renaming)
    lines = [f"{old.ljust(width)}  ->  {new}" for old, new in sorted(before.renaming.items())]
    lines += ["", f"{len(before.renaming)} tensors renamed, {len(written)} files in {out}"]
    lines.append(
        f"{after.architecture} takes {len(after.taken)} tensors (before: {len(before.taken)}), "
        f"{len(after.lost)} of its parameters stay without weights"
    )
    if after.error is not None:
        lines.append(f"it stops: {after.error.exception}: {after.error.message}")
    return "\n".join((*lines, ""))
