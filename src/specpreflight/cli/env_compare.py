"""`specpreflight env compare`: say on which variables nodes disagree that must be the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from specpreflight.errors import UsageError
from specpreflight.reports.printable import printable

if TYPE_CHECKING:
    from specpreflight.models.finding import Finding
    from specpreflight.models.snapshot import Difference, Snapshot
    from specpreflight.sources.ray_nodes import RayNode

_MEANING = {
    "all": "must be the same on all ranks",
    "node": "must be the same within a node",
    "no": "may differ",
    "unknown": "not known whether it may differ",
}


@click.command()
@click.argument("snapshots", nargs=-1, metavar="SNAPSHOT|DIR...")
@click.option("--ray", "address", metavar="ADDRESS", help="Ask every node of a Ray cluster.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.pass_context
def compare(
    ctx: click.Context, /, snapshots: tuple[str, ...], address: str | None, form: str
) -> None:
    """Compare the NCCL environments of several nodes or containers.

    A SNAPSHOT is what `env show --format json` wrote there; DIR holds several. The exit code is 1
    where a launch across them would hang or crash.

    \b
      srun sh -c 'specpreflight env show --format json > env/$(hostname).json'
      specpreflight env compare env/
      specpreflight env compare --ray auto
    """
    from specpreflight.engines.nccl.compare import compare_snapshots

    taken = _take(snapshots, address)
    differences = compare_snapshots(taken)
    findings = _find(taken, differences)
    render = _as_json if form == "json" else _as_text
    click.echo(render(taken, differences, findings))
    ctx.exit(int(bool(findings)))


def _take(given: Sequence[str], address: str | None) -> list[Snapshot]:
    if address is None:
        from specpreflight.sources.snapshots import read_snapshots

        return read_snapshots(given)
    if given:
        raise UsageError("--ray asks the nodes itself; name no snapshots beside it")
    from specpreflight.sources.ray_nodes import read_ray_nodes

    return [_snapshot(node) for node in read_ray_nodes(address)]


def _snapshot(node: RayNode) -> Snapshot:
    """Read what a task saw on a node as NCCL there would."""
    from specpreflight.engines.nccl.read import read_nccl
    from specpreflight.engines.nccl.versions import determine_release
    from specpreflight.models.finding import Origin
    from specpreflight.models.launch import Variable
    from specpreflight.models.snapshot import KeptVariable, Snapshot
    from specpreflight.sources.nccl_conf import parse_nccl_conf

    release, determined_by = determine_release(None, node.nccl, "none", "0")
    texts = dict(node.environment)
    for data in node.conf_files.values():
        for line in parse_nccl_conf(data, release):
            texts.setdefault(line.name, line.value or "")
    origin = Origin("environment", name=node.name)
    variables = {name: Variable(name, value, origin) for name, value in texts.items()}
    return Snapshot(
        label=node.name,
        node=node.name,
        release=str(release),
        determined_by=determined_by,
        variables={
            one.name: KeptVariable(
                one.value,
                one.understood.text,
                one.effect,
                one.facts.agreement if one.facts else "unknown",
            )
            for one in read_nccl(variables, release, determined_by).variables
        },
    )


def _find(snapshots: Sequence[Snapshot], differences: Sequence[Difference]) -> tuple[Finding, ...]:
    from specpreflight.cli.environment import find_problems
    from specpreflight.engines.nccl.compare import find_disagreements, group_releases
    from specpreflight.models.launch import EngineVersion, Launch

    return find_problems(
        Launch(
            engine=EngineVersion("none", "0", "not asked"),
            target=None,
            draft=None,
            argv=(),
            flags={},
            facts={
                "nccl_disagreements": find_disagreements(differences),
                "nccl_releases": group_releases(snapshots),
            },
        )
    )


def _as_json(
    snapshots: Sequence[Snapshot], differences: Sequence[Difference], findings: Sequence[Finding]
) -> str:
    from specpreflight.reports.environment import finding_data

    data = {
        "format_version": "1",
        "nodes": [{"label": one.label, "nccl": one.release} for one in snapshots],
        "differences": [_difference_data(one) for one in differences],
        "findings": [finding_data(finding) for finding in findings],
    }
    return json.dumps(data, indent=2)


def _difference_data(difference: Difference) -> dict[str, Any]:
    data = asdict(difference)
    data["confidence"] = difference.confidence.value
    data["groups"] = [{"value": value, "nodes": nodes} for value, nodes in difference.groups]
    return data


def _as_text(
    snapshots: Sequence[Snapshot], differences: Sequence[Difference], findings: Sequence[Finding]
) -> str:
    return "\n".join(map(printable, _lines(snapshots, differences, findings)))


def _lines(
    snapshots: Sequence[Snapshot], differences: Sequence[Difference], findings: Sequence[Finding]
) -> Iterator[str]:
    yield f"{len(snapshots)} nodes: {', '.join(one.label for one in snapshots)}"
    if not differences:
        yield "NCCL understands the same variables on all of them"
    for one in differences:
        yield ""
        yield f"{one.name}  {_MEANING[one.agreement]}"
        for value, labels in one.groups:
            shown = "(unset)" if value is None else value
            yield f"  {shown}  {', '.join(labels)}"
    for finding in findings:
        yield ""
        yield f"error: {finding.message}  [{finding.rule}]"
        if finding.engine_message:
            yield f"  NCCL: {finding.engine_message}"
