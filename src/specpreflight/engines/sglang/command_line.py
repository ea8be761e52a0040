"""SGLang's command line: what it names, and how it is completed for checkpoints named beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specpreflight.engines.base import Arguments
from specpreflight.engines.sglang.arguments import parse
from specpreflight.engines.sglang.knowledge import Knowledge
from specpreflight.models.argument_parser import Arguments as Parsed
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Origin

#: The algorithm that runs a format of draft.
_ALGORITHMS = {
    DraftFormat.EAGLE: "EAGLE",
    DraftFormat.EAGLE3: "EAGLE3",
    DraftFormat.MTP: "NEXTN",
    DraftFormat.DFLASH: "DFLASH",
    DraftFormat.DSPARK: "DSPARK",
    DraftFormat.STANDALONE: "STANDALONE",
}


def read_command_line(argv: Sequence[str], knowledge: Knowledge) -> Arguments:
    """Return the flags of a command line and the checkpoints they name."""
    parsed = parse(argv, knowledge)
    target = parsed.values.get("model_path")
    draft = parsed.values.get("speculative_draft_model_path")
    return Arguments(
        written_flags(parsed),
        target if isinstance(target, str) else None,
        draft if isinstance(draft, str) else None,
    )


def written_flags(parsed: Parsed) -> Mapping[str, Any]:
    """Return canonical name without dashes → value as written; the last of a repeated flag."""
    return {
        given.option.name.removeprefix("--"): list(given.words)
        if len(given.words) > 1
        else (given.words[0] if given.words else True)
        for given in parsed.given
    }


def flag_origins(parsed: Parsed) -> Mapping[str, Origin]:
    """Return attribute → the flag that was given for it."""
    return {given.option.dest: Origin("flag", name=given.spelling) for given in parsed.given}


def complete_command_line(
    words: Sequence[str],
    target: Checkpoint | None,
    draft: Checkpoint | None,
    knowledge: Knowledge,
) -> tuple[str, ...]:
    """Return the words with the two paths added where they lack them.

    Without any words the draft's format decides the algorithm.
    """
    parsed = parse(words, knowledge)
    given = {each.option.dest for each in parsed.given}
    completed = list(words)
    if target is not None and "model_path" not in given:
        completed = ["--model-path", target.given, *completed]
    if draft is None:
        return tuple(completed)
    if not words:
        completed += ["--speculative-algorithm", _ALGORITHMS.get(draft_format(draft), "EAGLE3")]
    if "speculative_draft_model_path" not in given:
        completed += ["--speculative-draft-model-path", draft.given]
    return tuple(completed)
