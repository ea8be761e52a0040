"""What a release takes for the draft: the target's own layers, the target again, or an MTP head.

Restates `configs/model_config.py:ModelConfig._config_draft_model` (which architectures become MTP
heads; the evaluated code decides that) together with the draft-path list of `server_args.py`
(`arg_groups/speculative_hook.py` from 0.5.13 on), and what follows where the two do not agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.engines.sglang.draft_reading import BLOCK_DRAFTS
from specpreflight.engines.sglang.pair import Pair
from specpreflight.models.finding import Confidence, Outcome, Stage
from specpreflight.models.resolved import Event

_SOURCE = "configs/model_config.py:ModelConfig._config_draft_model"


def own_draft_events(pair: Pair) -> Iterator[Event]:
    """Yield what becomes of a draft that is the target's own checkpoint, or is rewritten."""
    rewritten = pair.draft.architecture != _written(pair)
    if pair.algorithm == "STANDALONE":
        if rewritten:
            yield _standalone_rewritten(pair)
        elif pair.draft.path == pair.target.path:
            yield _target_twice(pair)
        return
    if pair.algorithm in BLOCK_DRAFTS or pair.draft.path != pair.target.path:
        return
    known = pair.known(pair.draft_class)
    if not rewritten and (known is None or known.kind != "draft"):
        yield _target_twice(pair)
    elif rewritten and pair.setting("speculative_draft_model_path") is None:
        yield from _path_not_defaulted(pair)


def _written(pair: Pair) -> str | None:
    """Return `architectures[0]` of the draft's config.json."""
    checkpoint = pair.draft_checkpoint
    names = None if checkpoint is None else checkpoint.config.get("/architectures")
    return str(names[0]) if isinstance(names, list) and names else None


def _target_twice(pair: Pair) -> Event:
    """The target is loaded a second time; an MTP target of hundreds of GB does not fit twice."""
    expected = pair.target.architecture in pair.knowledge.draft_path_targets
    return Event(
        "draft.is-target",
        Outcome.CRASHES if expected else Outcome.DEGRADES,
        Stage.WEIGHTS,
        f"this release has no MTP head for `{pair.target.architecture}`: it loads the target twice"
        if expected
        else "no draft is named, so that the target is loaded a second time as its own draft",
        source=_SOURCE,
        values=pair.target_value("/architectures/0"),
        confidence=Confidence.INFERRED if expected else Confidence.PROVEN,
    )


def _standalone_rewritten(pair: Pair) -> Event:
    return Event(
        "draft.standalone-rewritten",
        Outcome.ACCEPTS_NOTHING,
        Stage.SERVING,
        f"the standalone draft is run as the MTP head `{pair.draft.architecture}`",
        source=_SOURCE,
        values=pair.draft_value("/architectures/0"),
        confidence=Confidence.INFERRED,
    )


def _path_not_defaulted(pair: Pair) -> Iterator[Event]:
    """The target's own MTP layers are used, but its path is not filled in as the draft's.

    From 0.5.14 to 0.5.21 the target's runner then counts no draft layers when it sizes the KV
    cache (`spec_aux_hidden_state.py:_resolve_eagle_aux_hidden_state`). Before, the draft shares
    the target's cached config object and rewrites it; a slow server was reported for Qwen3.5.
    """
    if pair.since("0.5.22"):
        return
    counted = not pair.since("0.5.14")
    if counted and pair.draft.architecture != "Qwen3_5ForCausalLMMTP":
        return
    yield Event(
        "draft.path-not-defaulted",
        Outcome.DEGRADES,
        Stage.SERVING,
        "the draft's path is not given, and this release does not fill in the target's",
        source="configs/model_config.py:ModelConfig.from_server_args"
        if counted
        else "model_executor/model_runner_components/spec_aux_hidden_state.py",
        values=pair.target_value("/architectures/0"),
        facts={"path": pair.setting("model_path"), "counted": counted},
        confidence=Confidence.OBSERVED,
    )
