"""Two checkpoints side by side: their configs, the shapes of their tensors, their other files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from specpreflight.changes.differences import diff_values, flatten
from specpreflight.models.change import Change, Consequence, Part
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.comparison import Comparison
from specpreflight.models.finding import Severity
from specpreflight.models.report import Report
from specpreflight.models.weights import weights_of
from specpreflight.rules.registry import load_rules, read_page
from specpreflight.sources.file_hashes import hash_checkpoint
from specpreflight.sources.weight_index import INDEX_NAME

_KEY_IN_PAGE = re.compile(r"`(\w+)`")


def compare_checkpoints(
    before: Checkpoint, after: Checkpoint, report: Report | None, *, everything: bool = False
) -> Comparison:
    """Return what differs between two checkpoints.

    Of a multimodal config beside a plain one, the language model's part is compared.

    Args:
        before: the first.
        after: the second.
        report: of a launch of both, where one is a draft for the other.
        everything: list what both have, too.
    """
    old, new = _values(before, after)
    changes = [
        replace(
            change,
            consequences=tuple(_found(change.name, report)),
            rules=rules_about(change.name),
        )
        for change in diff_values("config", old, new)
    ]
    same: list[tuple[Part, str, Any]] = [
        ("config", name, value) for name, value in old.items() if new.get(name, ...) == value
    ]
    return Comparison(
        before=before.given,
        after=after.given,
        changes=(*changes, *_tensors(before, after), *_files(before, after)),
        after_verdict=None if report is None else report.verdict,
        same=tuple(same) if everything else (),
    )


def rules_about(name: str) -> tuple[str, ...]:
    """Return the rules whose page names a config key, by the last part of its pointer."""
    return _rules_by_key().get(name.rpartition("/")[2], ())


@cache
def _rules_by_key() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for rule in load_rules():
        for key in sorted(set(_KEY_IN_PAGE.findall(read_page(rule.name)))):
            found.setdefault(key, []).append(rule.name)
    return {key: tuple(names) for key, names in found.items()}


def _values(before: Checkpoint, after: Checkpoint) -> tuple[dict[str, Any], dict[str, Any]]:
    if before.text_pointer == after.text_pointer:
        return flatten(before.config.root), flatten(after.config.root)
    return flatten(before.text), flatten(after.text)


def _found(name: str, report: Report | None) -> Iterator[Consequence]:
    """Yield what rules found about a key of either config."""
    for finding in () if report is None else report.findings:
        if any(_names(value.origin.pointer, name) for value in finding.values):
            severity = finding.severity or Severity.NOTE
            yield Consequence(
                "other" if severity is Severity.NOTE else "worse",
                f"{severity.value}: {finding.message}",
                finding.rule,
            )


def _names(pointer: str | None, name: str) -> bool:
    return pointer is not None and (pointer == f"/{name}" or pointer.endswith(f"/{name}"))


def _tensors(before: Checkpoint, after: Checkpoint) -> Iterator[Change]:
    """Yield the tensors that differ in dtype or shape, of two drafts or two targets."""
    old, new = weights_of(before), weights_of(after)
    if old is None or new is None or not old.tensors or not new.tensors:
        return
    sides = [
        {name: f"{tensor.dtype} {list(tensor.shape)}" for name, tensor in table.tensors.items()}
        for table in (old, new)
    ]
    yield from diff_values("tensors", *sides)


def _files(before: Checkpoint, after: Checkpoint) -> Iterator[Change]:
    """Yield the files that differ and are neither the config nor weights."""
    if before.directory is None or after.directory is None:
        return
    old, new = (
        {
            name: found.sha256[:12]
            for name, found in hash_checkpoint(folder).items()
            if name not in ("config.json", INDEX_NAME) and found.hashed == found.size
        }
        for folder in (before.directory, after.directory)
    )
    for change in diff_values("files", old, new):
        yield replace(change, note="file")
