"""Whether target and draft class fit the algorithm: auxiliary layers, shared embedding and head.

Restates `speculative/eagle_worker.py`, `eagle_worker_v2.py` (the sharing of embedding and head),
`model_executor/model_runner.py` (auxiliary layer ids) and `models/*.py`
(`set_eagle3_layers_to_capture`), all releases from 0.4.6.post5 to 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from specpreflight.engines.sglang.knowledge import ModelClass
from specpreflight.engines.sglang.pair import Pair
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Confidence, Outcome, Stage
from specpreflight.models.resolved import Event, ResolvedValue

_IDS = "eagle_aux_hidden_state_layer_ids"
_POINTER = f"/eagle_config/{_IDS}"

#: Targets that capture the layers as they are given unless the first id is 1 (0.5.13 on):
#: classes of `models/deepseek_v2.py` and those that wrap them.
_DEEPSEEK_FAMILY = frozenset(
    {
        "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM",
        "GlmMoeDsaForCausalLM", "KimiK25ForConditionalGeneration", "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
    }
)  # fmt: skip


def uses_auxiliary_layers(pair: Pair) -> bool:
    """Return whether the target has to hand over hidden states of inner layers.

    `use_aux_hidden_state: false` in `eagle_config` is read from 0.5.8 on.
    """
    if pair.algorithm != "EAGLE3":
        return False
    stated = pair.eagle_config
    if pair.knowledge.since("0.5.8") and isinstance(stated, Mapping):
        return bool(stated.get("use_aux_hidden_state", True))
    return True


def auxiliary_layers(pair: Pair) -> ResolvedValue | None:
    """Return the layers that the target captures (before layer i), and why."""
    if not uses_auxiliary_layers(pair):
        return None
    given = _given_ids(pair)
    if given is None:
        layers = pair.target.num_hidden_layers
        if not isinstance(layers, int):
            return None
        return ResolvedValue(
            [2, layers // 2, layers - 3], f"default for {layers} layers: 2, n/2, n-3"
        )
    offset = layer_offset(pair)
    if offset == 0:
        return ResolvedValue(given, f"`{_IDS}` of the draft, used as they are")
    return ResolvedValue(
        [one + offset for one in given], f"`{_IDS}` of the draft, plus 1: captured before a layer"
    )


def layer_offset(pair: Pair) -> int:
    """Return what the target's class adds to the given ids."""
    given, probe = _given_ids(pair) or [], pair.knowledge.probe
    if pair.target_class in _DEEPSEEK_FAMILY:
        as_is = probe("eagle3.deepseek-ids") == "plus-one-if-first-is-1" and given[:1] != [1]
        return 0 if as_is else 1
    if pair.target_class == "GptOssForCausalLM":
        known = probe("eagle3.gpt-oss-ids") == "plus-one-unless-largest-is-layers"
        return 0 if known and max(given, default=0) == pair.target.num_hidden_layers else 1
    return 1


def _given_ids(pair: Pair) -> list[int] | None:
    """Return the ids that the release reads; any error while reading means the default layers."""
    if not pair.knowledge.since("0.4.9") or not isinstance(pair.eagle_config, Mapping):
        return None
    ids = pair.eagle_config.get(_IDS)
    if isinstance(ids, list) and ids and all(type(one) is int for one in ids):
        return ids
    return None


def capture_events(pair: Pair) -> Iterator[Event]:
    """Yield what happens when the target is made to capture its inner layers."""
    target = pair.known(pair.target_class)
    if not uses_auxiliary_layers(pair):
        return
    if target is None or "eagle3_capture" not in target.offers:
        yield _cannot_capture(pair)
        return
    yield from _shifted_ids(pair)
    if pair.graphs and _captures_default_layers(pair):
        yield Event(
            "eagle3.graphs-default-layers",
            Outcome.DEGRADES,
            Stage.SERVING,
            "CUDA graphs are captured with the default layers, not with the draft's",
            source="model_executor/cuda_graph_runner.py:CudaGraphRunner.__init__",
            values=pair.draft_value(_POINTER),
            facts={"read": "probes.eagle3.graphs-with-default-layers"},
            confidence=Confidence.INFERRED,
        )


def _shifted_ids(pair: Pair) -> Iterator[Event]:
    """DeepSeek's kin add 1 to all ids up to 0.5.12; 0.5.13 takes those from 2 on as they are."""
    given = _given_ids(pair)
    shifts = pair.knowledge.probe("eagle3.deepseek-ids") == "plus-one"
    if pair.target_class not in _DEEPSEEK_FAMILY or not shifts:
        return
    if given is None or given[0] == 1:
        return
    yield Event(
        "eagle3.ids-shifted",
        Outcome.STARTS,
        Stage.SERVING,
        f"layer ids that start with {given[0]} count inputs; this release captures one layer later",
        source="models/deepseek_v2.py:DeepseekV2ForCausalLM.set_eagle3_layers_to_capture",
        values=pair.draft_value(_POINTER),
        facts={"read": "probes.eagle3.deepseek-ids"},
        confidence=Confidence.OBSERVED,
    )


def _captures_default_layers(pair: Pair) -> bool:
    """Return whether graphs use other layers than prefill (0.4.9 to 0.5.10.post1)."""
    if pair.knowledge.probe("eagle3.graphs-with-default-layers") is not True:
        return False
    given, layers = _given_ids(pair), pair.target.num_hidden_layers
    if given is None or not isinstance(layers, int):
        return False
    return [one + layer_offset(pair) for one in given] != [2, layers // 2, layers - 3]


def _cannot_capture(pair: Pair) -> Event:
    name = pair.target_class or pair.target.architecture
    readable = pair.knowledge.since("0.5.23")
    return Event(
        "architecture.target-cannot-capture",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"this release cannot capture EAGLE-3 layers from `{name}`",
        engine_message=(
            f"Model {name} does not implement set_eagle3_layers_to_capture, which EAGLE3 aux "
            "hidden-state capture requires."
            if readable
            else f"'{name}' object has no attribute 'set_eagle3_layers_to_capture'"
        ),
        exception="ValueError" if readable else "AttributeError",
        source=(
            "model_executor/model_runner_components/attention_backend_setup.py"
            if pair.knowledge.since("0.5.16")
            else "model_executor/model_runner.py:ModelRunner.initialize"
        ),
        values=pair.target_value("/architectures/0"),
        facts={"architecture": name, "read": "classes"},
    )


def sharing_events(pair: Pair) -> Iterator[Event]:
    """Yield what happens when the draft worker shares the target's embedding and head."""
    target, draft = pair.known(pair.target_class), pair.known(pair.draft_class)
    if pair.algorithm not in ("EAGLE", "EAGLE3", "NEXTN"):
        return
    if target is not None and "get_embed_and_head" not in target.offers:
        yield _cannot_share(pair, target)
    if draft is None:
        return
    if pair.algorithm == "EAGLE3":
        yield from _eagle3_draft_events(pair, draft)
    elif draft.form == "eagle3":
        yield Event(
            "eagle3.algorithm-eagle",
            Outcome.ACCEPTS_NOTHING,
            Stage.SERVING,
            "an EAGLE-3 draft is run as EAGLE: its layers are never fed and nothing is accepted",
            source="speculative/eagle_worker.py:EAGLEWorker.__init__",
            values=pair.draft_value("/architectures/0"),
            confidence=Confidence.OBSERVED,
        )
    elif "set_embed_and_head" not in draft.offers:
        yield _no_draft_class(pair, draft, "set_embed_and_head", "eagle3.draft-not-eagle")


def _cannot_share(pair: Pair, target: ModelClass) -> Event:
    return Event(
        "architecture.target-cannot-share",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"`{target.name}` cannot hand its embedding and head to a draft in this release",
        engine_message=f"'{target.name}' object has no attribute 'get_embed_and_head'",
        exception="AttributeError",
        source="speculative/eagle_worker.py:EAGLEWorker.__init__",
        values=pair.target_value("/architectures/0"),
        facts={"architecture": target.name, "read": "classes"},
    )


def _no_draft_class(pair: Pair, draft: ModelClass, missing: str, topic: str) -> Event:
    kind = "EAGLE-3" if pair.algorithm == "EAGLE3" else "EAGLE"
    return Event(
        topic,
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"`{draft.name}` is no {kind} draft, but the algorithm is {pair.algorithm}",
        engine_message=f"'{draft.name}' object has no attribute '{missing}'",
        exception="AttributeError",
        source="speculative/eagle_worker.py:EAGLEWorker.__init__",
        values=pair.draft_value("/architectures/0"),
        facts={"read": "classes"},
    )


def _eagle3_draft_events(pair: Pair, draft: ModelClass) -> Iterator[Event]:
    needed = "hot_token_id" if pair.knowledge.since("0.4.9") else "get_hot_token_id"
    for name in ("set_embed", needed):
        if name not in draft.offers and draft.form != "eagle3":
            yield _no_draft_class(pair, draft, name, "eagle3.draft-not-eagle3")
            return
    stated = pair.draft_checkpoint
    if stated is None or not _crashes_on_null(pair, stated):
        return
    yield Event(
        "eagle3.config-null",
        Outcome.CRASHES,
        Stage.WARMUP,
        "`eagle_config` is null, which this release does not expect",
        engine_message="'NoneType' object has no attribute 'get'",
        exception="AttributeError",
        source="speculative/eagle_worker.py:EAGLEWorker.__init__",
        values=(stated.value("draft", "/eagle_config"),),
    )


def _crashes_on_null(pair: Pair, draft: Checkpoint) -> bool:
    """Return whether an explicit null breaks the draft worker (0.5.8 to 0.5.14)."""
    root = draft.config.root
    is_null = isinstance(root, dict) and "eagle_config" in root and root["eagle_config"] is None
    return is_null and pair.knowledge.since("0.5.8") and not pair.knowledge.since("0.5.15")
