"""`specpreflight convert`: write a draft with the tensor names that an engine takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from specpreflight.errors import UsageError
from specpreflight.reports.printable import printable_lines

if TYPE_CHECKING:
    from specpreflight.models.checkpoint import Checkpoint
    from specpreflight.models.loader_report import LoaderReport


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
    The config of a speculators EAGLE-3 draft is restated, where SGLang computes the same.

    \b
      specpreflight convert DRAFT OUT --for sglang@0.5.11
    """
    from specpreflight.cli.keys import trace_loader
    from specpreflight.fixes.convert import convert_checkpoint

    checkpoint, _, report, _ = trace_loader(draft, target, engine, algorithm)
    if checkpoint.directory is None:
        raise UsageError(f"{draft}: is not a local directory")
    config = _flat_config(checkpoint, target)
    if config is None:
        _require_renaming(draft, report)
    else:
        with _under_another_config(checkpoint.directory, config) as place:
            _, _, report, _ = trace_loader(str(place), target, engine, algorithm)
    written = convert_checkpoint(checkpoint.directory, out, report.renaming, config)
    _, _, after, stopped = trace_loader(str(out), target, engine, algorithm)
    if config is not None:
        click.echo("config.json: from speculators' layout to the one that SGLang reads")
    click.echo(render_conversion(out, report, after, written), nl=False)
    if stopped is not None:
        click.echo(f"it stops: {stopped}")
    ctx.exit(int(stopped is not None or after.error is not None or bool(after.lost)))


def _flat_config(checkpoint: Checkpoint, target: str | None) -> bytes | None:
    """Return the config that SGLang reads in place of speculators' own; `None` for other drafts."""
    from specpreflight.fixes.speculators import flatten_config, is_speculators
    from specpreflight.models.draft_format import first_architecture
    from specpreflight.sources.checkpoint import read_checkpoint

    root = checkpoint.config.root
    if not is_speculators(root):
        return None
    architecture = None if target is None else first_architecture(read_checkpoint("target", target))
    return json.dumps(flatten_config(root, architecture), indent=2).encode() + b"\n"


@contextmanager
def _under_another_config(directory: Path, config: bytes) -> Iterator[Path]:
    """Give a directory with links to a checkpoint's weights and another config."""
    with TemporaryDirectory(prefix="specpreflight-") as name:
        place = Path(name)
        for entry in directory.iterdir():
            if entry.is_file() and entry.name != "config.json":
                (place / entry.name).symlink_to(entry.resolve())
        (place / "config.json").write_bytes(config)
        yield place


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
    width = max(map(len, before.renaming), default=0)
    lines = [f"{old.ljust(width)}  ->  {new}" for old, new in sorted(before.renaming.items())]
    if lines:
        lines.append("")
    lines.append(f"{len(before.renaming)} tensors renamed, {len(written)} files in {out}")
    lines.append(
        f"{after.architecture} takes {len(after.taken)} tensors (before: {len(before.taken)}), "
        f"{len(after.lost)} of its parameters stay without weights"
    )
    if after.error is not None:
        lines.append(f"it stops: {after.error.exception}: {after.error.message}")
    return printable_lines("\n".join((*lines, "")))
