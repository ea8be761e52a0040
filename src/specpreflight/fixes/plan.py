"""From the remedies of many findings to one set of edits per file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specpreflight.documents import Document, parse_document
from specpreflight.documents.edits import edit_bytes, remove_bytes
from specpreflight.documents.pointer import array_index, split_pointer
from specpreflight.errors import UsageError
from specpreflight.models.finding import MISSING, Edit, Finding

#: Keys that must match the weights or the training. No edit of one is ever planned: the remedy
#: stays in the report for a human.
PROTECTED_KEYS = frozenset(
    {
        "rope_theta",
        "rope_scaling",
        "rope_parameters",
        "partial_rotary_factor",
        "vocab_size",
        "draft_vocab_size",
        "hidden_size",
        "target_hidden_size",
        "intermediate_size",
        "head_dim",
        "num_attention_heads",
        "num_key_value_heads",
        "num_hidden_layers",
        "quantization_config",
        "eagle_aux_hidden_state_layer_ids",
        "aux_hidden_state_layer_ids",
        "target_layer_ids",
    }
)


class FixConflict(UsageError):
    """Two remedies do not go together, or one does not fit the file."""


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What will be done to one file.

    Attributes:
        document: the file as it was read.
        edits: in the order in which they were applied; none overlaps another.
        new_data: the bytes that will be written.
        rules: the rules whose remedies these are, in the order of their findings.
    """

    document: Document
    edits: tuple[Edit, ...]
    new_data: bytes
    rules: tuple[str, ...]

    @property
    def edited(self) -> Document:
        """The document that the file will hold, for the rules to look at before it is written."""
        return parse_document(self.new_data, self.document.name, self.document.path)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the edits: the keys that are there more than once."""
        hidden = {key.pointer for key in self.document.duplicates}
        return tuple(
            f"{edit.pointer} is there more than once; the last one, which parsers take, is edited"
            for edit in self.edits
            if edit.pointer in hidden
        )


def plan_fixes(
    findings: Iterable[Finding],
    documents: Iterable[Document],
    applicability: Sequence[str] = ("safe",),
) -> tuple[FilePlan, ...]:
    """Return a plan for each file that the findings' remedies change, in the order of `documents`.

    Of each finding that is not ignored, the first `edit` remedy of that applicability counts.
    Edits that are done already are left out, and so are those of `PROTECTED_KEYS`.

    Raises:
        FixConflict: two remedies want different things of one value, or of a value and what holds
            it; a remedy expects another value than the file has; or it names no file that was
            read.
    """
    by_name = _one_per_file(documents)
    wanted: dict[str, list[tuple[Edit, str]]] = {document.name: [] for document in by_name.values()}
    for finding in findings:
        for edit in chosen_edits(finding, applicability):
            document = by_name.get(edit.path)
            if document is None:
                raise FixConflict(f"{finding.rule} edits {edit.path}, which was not read")
            wanted[document.name].append((edit, finding.rule))
    plans = (_plan_file(by_name[name], edits) for name, edits in wanted.items())
    return tuple(plan for plan in plans if plan.edits)


def chosen_edits(finding: Finding, applicability: Sequence[str]) -> tuple[Edit, ...]:
    """Return the edits of the remedy that would be written for this finding; none if none would."""
    if finding.ignored is not None:
        return ()
    for remedy in finding.remedies:
        if (
            remedy.kind == "edit"
            and remedy.applicability in applicability
            and not any(is_protected(edit.pointer) for edit in remedy.edits)
        ):
            return remedy.edits
    return ()


def is_protected(pointer: str) -> bool:
    """Return whether a value must match the weights, so that no fix may ever write it."""
    return not PROTECTED_KEYS.isdisjoint(split_pointer(pointer))


def _one_per_file(documents: Iterable[Document]) -> dict[str, Document]:
    """Map every name to its document; names of the same file map to the first of them."""
    by_name: dict[str, Document] = {}
    by_path: dict[Any, Document] = {}
    for document in documents:
        identity = document.name if document.path is None else document.path.resolve()
        by_name[document.name] = by_path.setdefault(identity, document)
    return by_name


def _plan_file(document: Document, wanted: Sequence[tuple[Edit, str]]) -> FilePlan:
    accepted: dict[str, tuple[Edit, str]] = {}
    rules: dict[str, None] = {}
    for edit, rule in wanted:
        if _same(document.get(edit.pointer, MISSING), edit.after):
            continue
        _refuse_misfit(document, edit, rule)
        for other, other_rule in accepted.values():
            _refuse_conflict(document.name, edit, rule, other, other_rule)
        accepted.setdefault(edit.pointer, (edit, rule))
        rules[rule] = None
    edits = sorted((edit for edit, _ in accepted.values()), key=_application_order)
    data = document.data
    for edit in edits:
        data = _apply(data, edit)
    return FilePlan(document, tuple(edits), data, tuple(rules))


def _apply(data: bytes, edit: Edit) -> bytes:
    if edit.after == MISSING:
        return remove_bytes(data, edit.pointer)
    return edit_bytes(data, edit.pointer, edit.after)


def _refuse_misfit(document: Document, edit: Edit, rule: str) -> None:
    found = document.get(edit.pointer, MISSING)
    if not _same(found, edit.before):
        raise FixConflict(
            f"{document.name}: {rule} expects {_shown(edit.before)} at {edit.pointer}, "
            f"found {_shown(found)}"
        )
    *holder, _ = edit.pointer.rsplit("/", 1)
    if found == MISSING and not isinstance(document.get(holder[0]), (dict, list)):
        raise FixConflict(f"{document.name}: {rule} adds {edit.pointer}, but nothing can hold it")


def _refuse_conflict(name: str, edit: Edit, rule: str, other: Edit, other_rule: str) -> None:
    if edit.pointer == other.pointer:
        clash = not _same(edit.after, other.after)
    else:
        clash = (edit.pointer + "/").startswith(other.pointer + "/") or (
            other.pointer + "/"
        ).startswith(edit.pointer + "/")
    if clash:
        raise FixConflict(
            f"{name}: {other_rule} wants {other.pointer} = {_shown(other.after)} and "
            f"{rule} wants {edit.pointer} = {_shown(edit.after)}",
            hint="apply one of them with --select-fix RULE",
        )


def _application_order(edit: Edit) -> tuple[int, int]:
    """Order replacements, then removals from the end of a list, then additions."""
    if edit.after == MISSING:
        index = array_index(edit.pointer.rpartition("/")[2])
        return 1, -(index or 0)
    return (2 if edit.before == MISSING else 0), 0


def _same(one: Any, other: Any) -> bool:
    """Compare JSON values, telling 1, 1.0 and true apart."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _shown(value: Any) -> str:
    return "no key" if value == MISSING else json.dumps(value)


def edits_as_json(edits: Iterable[Edit]) -> list[Mapping[str, Any]]:
    """Return edits as the journal records them; a missing value is left out."""
    return [
        {
            "pointer": edit.pointer,
            **({} if edit.before == MISSING else {"before": edit.before}),
            **({} if edit.after == MISSING else {"after": edit.after}),
        }
        for edit in edits
    ]
