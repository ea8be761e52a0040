"""When a release reads the draft's config, with which context length, and what is loaded by then.

Restates `model_executor/model_runner.py` (`ModelRunner.initialize` to 0.5.7, `__init__` from
0.5.8), `model_runner_components/spec_aux_hidden_state.py` (0.5.16 on), the draft workers in
`speculative/` and `managers/scheduler.py:init_model_worker`.
"""

from __future__ import annotations

from specpreflight.engines.sglang.config_events import Moment
from specpreflight.engines.sglang.knowledge import Knowledge
from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.models.finding import Stage

_WITH_GRAPHS = "the target's weights, KV cache and CUDA graphs"
_WITHOUT_GRAPHS = "the target's weights and KV cache"

#: Algorithms whose draft feeds on hidden states of the target (`SpeculativeAlgorithm.is_eagle`).
EAGLE_FAMILY = frozenset({"EAGLE", "EAGLE3", "NEXTN", "FROZEN_KV_MTP"})
BLOCK_DRAFTS = frozenset({"DFLASH", "DSPARK"})

#: Algorithms that have no draft model.
WITHOUT_DRAFT = frozenset({"NGRAM", "UNO"})


def loaded_before_draft(knowledge: Knowledge, *, graphs: bool) -> str:
    """Return what the scheduler has loaded when it builds the draft worker.

    From 0.5.14 on `init_model_worker` builds the draft worker before KV pools and CUDA graphs.
    """
    if knowledge.since("0.5.14"):
        return "the target's weights"
    return _WITH_GRAPHS if graphs else _WITHOUT_GRAPHS


def target_runner_reads_draft(knowledge: Knowledge, algorithm: str, *, has_path: bool) -> bool:
    """Return whether the target's own runner reads the draft's config before the draft worker.

    It does so with the user's `--context-length` alone. EAGLE-3 in all releases, since it has to
    know the auxiliary layers; from 0.5.14 every EAGLE and STANDALONE launch with a draft path, to
    size the KV cache; from 0.5.22 also those without one.
    """
    if algorithm in ("EAGLE3", *BLOCK_DRAFTS):
        return knowledge.since("0.4.9")
    if algorithm not in EAGLE_FAMILY and algorithm != "STANDALONE":
        return False
    return knowledge.since("0.5.22") or (has_path and knowledge.since("0.5.14"))


def target_runner_moment(knowledge: Knowledge, *, graphs: bool) -> Moment:
    """Return when the target's runner reads the draft's config."""
    if knowledge.since("0.5.8"):
        return Moment("draft", Stage.DRAFT_CONFIG, "the target's runner")
    loaded = _WITH_GRAPHS if graphs else _WITHOUT_GRAPHS
    return Moment("draft", Stage.DRAFT_CONFIG, "the target's runner", loaded, starting=True)


def draft_worker_moment(knowledge: Knowledge, *, graphs: bool) -> Moment:
    """Return when the draft worker reads the draft's config, given the target's length."""
    loaded = loaded_before_draft(knowledge, graphs=graphs)
    return Moment("draft", Stage.DRAFT_CONFIG, "the draft worker", loaded, starting=True)


def passes_length_as_argument(knowledge: Knowledge) -> bool:
    """Return how the draft worker hands the target's length on.

    Up to 0.5.14 it writes it into `server_args.context_length`; from 0.5.15 `TpModelWorker` takes
    it as an argument (`managers/tp_worker.py`).
    """
    return knowledge.since("0.5.15")


def drops_overrides(args: ServerArgs) -> bool:
    """Return whether the draft worker replaces `--json-model-override-args` by its own.

    With `--speculative-token-map` it writes `{"hot_vocab_size": N}` into the shared arguments
    (`eagle_worker.py`, `eagle_worker_v2.py`, `standalone_worker.py`), up to 0.5.16. EAGLE-3
    ignores the map.
    """
    mapped = args.speculative_token_map is not None and args.speculative_algorithm != "EAGLE3"
    return mapped and not args.since("0.5.17")
