"""What happens to a launch that vLLM's configuration lets through: loading, warm-up, serving.

Restates what the workers do with the draft's length, the target's interface and the auxiliary
layers; nothing here is seen by the configuration stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specpreflight.engines.vllm import pairing
from specpreflight.engines.vllm.context_length import LENGTH_KEYS, rope_parameters
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model
from specpreflight.engines.vllm.options import Options
from specpreflight.engines.vllm.record import Record, engine_value, flag_value, speculative_value
from specpreflight.engines.vllm.speculation import Speculation
from specpreflight.models.finding import Confidence, Outcome, Stage, Value

_V1 = "v1/worker/gpu_model_runner.py"
_V2 = "v1/worker/gpu/spec_decode/eagle/eagle3_utils.py"

#: RoPE types whose table has `original_max_position_embeddings` times `factor` rows.
_FACTOR_TABLES = ("yarn", "deepseek_yarn")

#: Keys of `--hf-overrides` that change how far a model's positions reach.
_LENGTH_OVERRIDES = ("max_position_embeddings", "rope_parameters", "rope_scaling", "rope_theta")


def foresee(
    record: Record,
    knowledge: Knowledge,
    options: Options,
    target: Model,
    found: Speculation,
    runner: str,
) -> None:
    """Add what follows after the configuration stage, in the order of the stages."""
    draft = found.draft
    if draft is None or not found.has_draft:
        return
    layers = read_aux_layers(draft, knowledge, runner)
    if not _has_class(record, knowledge, draft):
        return
    _check_draft_model(record, knowledge, options, draft, found, runner)
    pairing.check_backend(record, knowledge, options, target, draft, found, runner)
    pairing.check_cache_pages(record, knowledge, options, target, draft)
    _check_interface(record, knowledge, target, found)
    pairing.check_layers(record, target, draft, found, layers)
    pairing.check_head(record, knowledge, target, draft, found, runner)
    pairing.check_numerics(record, options, target, draft)
    _check_aux_layers(record, target, draft, found, layers, runner)
    _check_rotary_table(record, knowledge, target, draft, found, runner)
    _check_overrides(record, options, target, draft)


def _has_class(record: Record, knowledge: Knowledge, draft: Model) -> bool:
    """Restate the look-up of the draft's class at loading, under the name that wrapping gave it.

    Releases that look it up while they build the config have refused it by then.
    """
    names = draft.architectures
    if any(name in knowledge.architectures for name in names):
        return True
    topic = "architecture.draft-unregistered"
    if all(event.topic != topic for event in record.events):
        record.add(
            topic,
            Outcome.CRASHES,
            Stage.WEIGHTS,
            f"vLLM {knowledge.version} has no class `{names[0] if names else None}` for the draft",
            text=f"Model architectures {names} are not supported for now.",
            source="model_executor/models/registry.py:_raise_for_unsupported",
            values=(draft.value("architectures"),),
            facts={"architectures": names},
        )
    return False


def _check_draft_model(
    record: Record,
    knowledge: Knowledge,
    options: Options,
    draft: Model,
    found: Speculation,
    runner: str,
) -> None:
    """Restate what `DraftModelProposer` needs of a draft that runs by itself."""
    if found.method != "draft_model":
        return
    sizes = found.draft_tp, options.tensor_parallel_size
    if runner == "V1" and sizes[0] != sizes[1]:
        record.add(
            "parallelism.draft-tp",
            Outcome.CRASHES,
            Stage.WEIGHTS,
            f"an independent draft runs with the target's tensor parallel size {sizes[1]} only",
            text=(
                "Currently, 'draft_tensor_parallel_size' and 'tensor_parallel_size' must be the "
                f"same. Got {sizes[0]} and {sizes[1]}. Please pass 'draft_tensor_parallel_size' in "
                "the speculative_config."
            ),
            source="v1/spec_decode/draft_model.py:_raise_if_draft_tp_mismatch",
            values=(speculative_value("draft_tensor_parallel_size", sizes[0]),),
        )
    classes = [knowledge.architectures.get(name) for name in draft.architectures]
    dependent = next((c for c in classes if c and c.group == "speculative_decoding"), None)
    if dependent is not None and not record.stopped:
        record.add(
            "launch.draft-taken-for-model",
            Outcome.CRASHES,
            Stage.WARMUP,
            f"the draft `{dependent.name}` runs as an independent model, which it is not",
            text="forward() missing 1 required positional argument: 'hidden_states'",
            source="v1/spec_decode/draft_model.py:DraftModelProposer",
            values=(
                draft.value("architectures"),
                speculative_value("method", found.keys.given.get("method")),
            ),
            facts={"class": dependent.class_name},
            confidence=Confidence.INFERRED,
        )


def _check_interface(
    record: Record, knowledge: Knowledge, target: Model, found: Speculation
) -> None:
    """Restate `supports_eagle3(model)`, asked after the target's weights are loaded."""
    if found.method not in ("eagle3", "dflash", "dspark"):
        return
    classes = [
        registered
        for name in target.architectures
        if (registered := knowledge.architectures.get(name)) is not None
    ]
    if not classes or "eagle3" in classes[0].interfaces:
        return
    record.add(
        "architecture.target-lacks-eagle3",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"the target's class `{classes[0].class_name}` cannot give hidden states to a draft",
        text="Model does not support EAGLE3 interface",
        source=f"{_V1}:_setup_eagle3_aux_hidden_state_outputs",
        values=(target.value("architectures"),),
        facts={"method": found.method},
    )


def read_aux_layers(draft: Model, knowledge: Knowledge, runner: str) -> tuple[int, ...] | None:
    """Return the auxiliary layers that the runner reads from the draft, `None` for its defaults."""
    ids = draft.config.get("eagle_aux_hidden_state_layer_ids")
    block, eagle = draft.config.get("dflash_config"), draft.config.get("eagle_config")
    if runner == "V1":
        if not ids and knowledge.since("0.20.0") and isinstance(block, Mapping):
            step = 1 if knowledge.since("0.22.0") else 0
            ids = _later_by(step, block.get("target_layer_ids"))
        if not ids and knowledge.since("0.22.0") and isinstance(eagle, Mapping):
            ids = eagle.get("eagle_aux_hidden_state_layer_ids")
    else:
        if not ids and knowledge.since("0.24.0") and isinstance(block, Mapping):
            ids = _later_by(1, block.get("target_layer_ids"))
        for name in ("dspark_target_layer_ids", "target_layer_ids"):
            if not ids and knowledge.since("0.25.0"):
                ids = _later_by(1, draft.config.get(name))
        if not ids and knowledge.since("0.27.0"):
            parts = [part for part in (block, eagle) if isinstance(part, Mapping)]
            ids = next((part["layer_ids"] for part in parts if part.get("layer_ids")), None)
    known = knowledge.since("0.11.1") and isinstance(ids, list | tuple) and len(ids) > 0
    return tuple(ids) if known and ids is not None else None


def _later_by(step: int, ids: Any) -> list[int]:
    """Return layer ids counted from another layer; none where they are no ids, which vLLM meets
    long after loading."""
    return [each + step for each in ids] if _are_layers(ids) else []


def _are_layers(ids: Any) -> bool:
    return isinstance(ids, list) and all(isinstance(each, int) for each in ids)


def _check_aux_layers(
    record: Record,
    target: Model,
    draft: Model,
    found: Speculation,
    read: tuple[int, ...] | None,
    runner: str,
) -> None:
    if found.method != "eagle3":
        return
    layers = target.text.get("num_hidden_layers")
    defaults = (2, layers // 2, layers - 3) if isinstance(layers, int) else None
    written, place = _written_layers(draft)
    if read is not None:
        record.resolve("aux_layers", list(read), "read from the draft's config")
    elif defaults is not None:
        record.resolve("aux_layers", list(defaults), "the target class's default: 2, n/2, n-3")
    if read is not None or written is None or defaults is None or tuple(written) == defaults:
        return
    if "eagle_config" in place and tuple(layer + 1 for layer in written) == defaults:
        # Trainers for SGLang count layer outputs: the same layers, one lower.
        return
    source = f"{_V2 if runner == 'V2' else _V1}:get_eagle3_aux_layers_from_config"
    record.add(
        "architecture.aux-layers-ignored",
        Outcome.DEGRADES,
        Stage.SERVING,
        f"runner {runner} does not read the draft's layers {list(written)}, and takes {defaults}",
        text=f"Using Eagle3 auxiliary layers from model: {defaults}",
        source=source,
        values=(
            *((draft.checkpoint.value("draft layers", place),) if draft.checkpoint else ()),
            engine_value(
                "layers taken", list(defaults), "get_eagle3_default_aux_hidden_state_layers"
            ),
        ),
        facts={"written": list(written), "taken": list(defaults), "runner": runner},
    )


def _written_layers(draft: Model) -> tuple[list[int] | None, str]:
    """Return the layer ids that the draft's config names anywhere, and their place."""
    name = "eagle_aux_hidden_state_layer_ids"
    top = draft.config.get(name)
    eagle = draft.config.get("eagle_config")
    nested = eagle.get(name) if isinstance(eagle, Mapping) else None
    for ids, place in ((top, f"/{name}"), (nested, f"/eagle_config/{name}")):
        if _are_layers(ids) and ids:
            return ids, place
    return None, ""


def _check_rotary_table(
    record: Record,
    knowledge: Knowledge,
    target: Model,
    draft: Model,
    found: Speculation,
    runner: str,
) -> None:
    """Compare the positions that the target serves with those that the draft has."""
    served = target.max_model_len
    if served is None or draft.max_model_len is None:
        return
    skips = runner == "V1" and knowledge.since("0.11.0")
    drafted = draft.max_model_len if skips else _table_rows(knowledge, draft)
    if drafted is None or drafted >= served:
        return
    asked = found.keys.get("max_model_len")
    if skips and asked is not None:
        record.add(
            "context.draft-length-given",
            Outcome.DEGRADES,
            Stage.SERVING,
            f"`max_model_len` {asked}: a batch with a longer sequence gets no drafts at all",
            source=f"{_V1}:effective_drafter_max_model_len",
            values=(speculative_value("max_model_len", asked), *_length_values(target, draft)[1:]),
        )
        return
    facts = {"wanted": served, "derived": drafted, "keys": _length_keys(draft, served)}
    facts |= {"flag": "--max-model-len", "runner": runner}
    if skips:
        record.add(
            "context.draft-shorter",
            Outcome.DEGRADES,
            Stage.SERVING,
            f"a batch with a sequence past {drafted} tokens gets no drafts at all",
            source=f"{_V1}:effective_drafter_max_model_len",
            values=_length_values(target, draft),
            facts={
                **facts,
                "explained": (
                    f"The target serves {served} tokens, the draft {drafted}. Runner V1 does not "
                    "draft while the longest sequence of the batch is past the draft's length, so "
                    "that one long request slows all others down."
                ),
            },
        )
        return
    record.add(
        "context.draft-shorter",
        Outcome.CRASHES,
        Stage.SERVING,
        f"positions past {drafted} lie outside the draft's rotary table, up to {served} are served",
        text=f"index out of bounds: 0 <= tmp < {drafted}",
        source="model_executor/layers/rotary_embedding/base.py",
        values=_length_values(target, draft),
        facts={
            **facts,
            "explained": (
                f"The draft's rotary table has {drafted} rows. The first request that goes past "
                "them stops the server, or drafts from other memory where the kernel does not "
                "check."
            ),
        },
        confidence=Confidence.OBSERVED,
    )


def _length_keys(draft: Model, wanted: int) -> tuple[str, ...]:
    """Return the keys that hold a length below `wanted`, the one that decides first."""
    deciding = draft.length.key if draft.length is not None else None
    names = (deciding or "max_position_embeddings", "max_position_embeddings", *LENGTH_KEYS)
    short = [name for name in names if isinstance(n := draft.text.get(name), int) and n < wanted]
    return tuple(dict.fromkeys(short)) or (names[0],)


def _table_rows(knowledge: Knowledge, draft: Model) -> int | None:
    """Return how many positions the draft's rotary table has, `None` where unknown."""
    for entry in rope_parameters(draft.config, knowledge):
        original = entry.get("original_max_position_embeddings")
        factor = entry.get("factor")
        if entry.get("rope_type") in _FACTOR_TABLES and isinstance(original, int):
            return int(original * factor) if isinstance(factor, int | float) else None
    rows = draft.config.get("max_position_embeddings")
    return rows if isinstance(rows, int) else None


def _length_values(target: Model, draft: Model) -> tuple[Value, ...]:
    key = draft.length.key if draft.length is not None else None
    served = target.max_model_len
    return (
        draft.value(key or "max_position_embeddings"),
        engine_value("target max_model_len", served, "ModelConfig.max_model_len"),
    )


def _check_overrides(record: Record, options: Options, target: Model, draft: Model) -> None:
    """Note that a dictionary of `--hf-overrides` never reaches the draft."""
    changed = [name for name in _LENGTH_OVERRIDES if name in (options.hf_overrides or {})]
    if not changed or draft.path != target.path:
        return
    given = options.hf_overrides or {}
    record.add(
        "context.overrides-not-inherited",
        Outcome.DEGRADES,
        Stage.SERVING,
        f"`--hf-overrides` changes `{changed[0]}` of the target, but not of its MTP layers",
        source="config/speculative.py:SpeculativeConfig.__post_init__",
        values=(
            flag_value(changed[0], given[changed[0]], "--hf-overrides"),
            draft.value(changed[0]),
        ),
        facts={"keys": changed},
    )
