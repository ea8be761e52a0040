"""What vLLM's EAGLE-3 class takes of a draft's tensors, by name.

Restates vLLM `model_executor/models/llama_eagle3.py` (`LlamaModel`, `Eagle3LlamaForCausalLM` and
their `load_weights`) with `models/utils.py:AutoWeightsLoader`, read in the releases from 0.10.0 to
0.33.0:

- `t2d` is passed over, `d2t` becomes `draft_id_to_target_id`, all but the head get `model.` before;
- a name without a parameter stops the load: a `KeyError` of the model up to 0.24, from 0.25 on the
  loader's `ValueError`;
- a parameter without a tensor stays what it is, without a word; from 0.11.1 on a draft without a
  head or an embedding of its own gets the target's, before it gets the target's embedding only;
- from 0.18 on `norm_before_fc` builds `input_norm`; from 0.22 on the number of states is read, and
  `fc_norm` exists; from 0.30 on equal vocabularies build no map.

Shapes are compared for `fc` alone, whose width is what drafts get wrong; other classes are not
restated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model
from specpreflight.models.loader_report import LoaderError, LoaderReport, Untouched
from specpreflight.models.weights import Tensor, weights_of

#: The module that serves these drafts; the registry names it for each architecture.
CLASS = "Eagle3LlamaForCausalLM"
_SOURCE = "model_executor/models/llama_eagle3.py"

#: Parts of names → the fused parameter that they go into.
_FUSED = {
    ".q_proj": ".qkv_proj",
    ".k_proj": ".qkv_proj",
    ".v_proj": ".qkv_proj",
    ".gate_proj": ".gate_up_proj",
    ".up_proj": ".gate_up_proj",
}
_ROTARY = ("rotary_emb.inv_freq", "rotary_emb.cos_cached", "rotary_emb.sin_cached")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the class: its shape where that is restated, and what it begins as."""

    shape: tuple[int, ...] | None = None
    initial: str = "uninitialised"


def loader_for(
    knowledge: Knowledge, draft: Model, target: Model
) -> Callable[[], LoaderReport] | None:
    """Return what answers for a draft's tensors, `None` where its class is not restated."""
    registered = next((knowledge.architectures.get(name) for name in draft.architectures), None)
    if registered is None or registered.class_name != CLASS or draft.quantization is not None:
        return None
    return lambda: trace(knowledge, draft, target)


def trace(knowledge: Knowledge, draft: Model, target: Model) -> LoaderReport:
    """Return what the class does with every tensor of a draft."""
    table = weights_of(draft.checkpoint)
    tensors = {} if table is None else table.tensors
    parameters = dict(_parameters(knowledge, draft, target))
    taken: dict[str, tuple[str, ...]] = {}
    dropped: list[str] = []
    errors: list[LoaderError] = []
    for tensor in sorted(tensors.values()):
        name = _parameter_of(tensor.name, knowledge, draft)
        if name is None:
            dropped.append(tensor.name)
        elif name in parameters:
            taken[tensor.name] = (name,)
            errors += _clashes(tensor, name, parameters[name])
        else:
            errors.append(_unknown(tensor.name, name, knowledge))
    reached = {name for names in taken.values() for name in names}
    own_head = "lm_head.weight" in reached
    return LoaderReport(
        architecture=CLASS,
        source=_SOURCE,
        taken=taken,
        dropped=tuple(dropped),
        untouched=tuple(
            Untouched(name, parameter.shape, parameter.initial)
            for name, parameter in parameters.items()
            if name not in reached
        ),
        error=errors[0] if errors else None,
        further=tuple(errors[1:]),
        reads_head=own_head or not knowledge.since("0.11.1"),
        shares_embedding=True,
        notes=("shapes are compared for `fc` alone", "parts of a fused parameter are not counted"),
    )


def _parameter_of(name: str, knowledge: Knowledge, draft: Model) -> str | None:
    """Return the parameter that a tensor is meant for, `None` where it is passed over."""
    if "t2d" in name or "mask_hidden" in name or any(part in name for part in _ROTARY):
        return None
    if "d2t" in name:
        return name.replace("d2t", "draft_id_to_target_id")
    if "lm_head" in name:
        return name
    if _is_unused(name, knowledge, draft):
        return None
    found = f"model.{name}".replace("midlayer.", "layers.0.")
    part = next((part for part in _FUSED if f"{part}." in found), None)
    return found if part is None else found.replace(part, _FUSED[part])


def _is_unused(name: str, knowledge: Knowledge, draft: Model) -> bool:
    """Tell whether the class passes over a tensor because the config switches its part off."""
    if knowledge.since("0.12.0") and "fc." in name and not _uses_states(draft):
        return True
    norms = knowledge.since("0.18.0") and not _norms_before(knowledge, draft)
    return norms and "input_norm." in name


def _eagle_config(draft: Model) -> Mapping[str, object]:
    found = draft.config.get("eagle_config")
    return found if isinstance(found, Mapping) else {}


def _uses_states(draft: Model) -> bool:
    return bool(_eagle_config(draft).get("use_aux_hidden_state", True))


def _norms_before(knowledge: Knowledge, draft: Model) -> bool:
    top = draft.config.get("norm_before_fc", False)
    return bool(
        _eagle_config(draft).get("norm_before_fc", top) if knowledge.since("0.22.0") else top
    )


def _states(knowledge: Knowledge, draft: Model) -> int:
    """Return how many hidden states of the target the draft joins."""
    stated = draft.config.get("num_aux_hidden_states") if knowledge.since("0.22.0") else None
    ids = _eagle_config(draft).get("eagle_aux_hidden_state_layer_ids")
    if isinstance(stated, int):
        return stated
    return len(ids) if isinstance(ids, list) and ids and knowledge.since("0.22.0") else 3


def _parameters(
    knowledge: Knowledge, draft: Model, target: Model
) -> Iterator[tuple[str, Parameter]]:
    config = draft.config
    layers = config.get("num_hidden_layers")
    yield "model.embed_tokens.weight", Parameter()
    for index in range(layers if isinstance(layers, int) else 1):
        prefix = f"model.layers.{index}"
        for part in ("self_attn.qkv_proj", "self_attn.o_proj", "mlp.gate_up_proj", "mlp.down_proj"):
            yield f"{prefix}.{part}.weight", Parameter()
        if config.get("attention_bias"):
            yield f"{prefix}.self_attn.qkv_proj.bias", Parameter()
            yield f"{prefix}.self_attn.o_proj.bias", Parameter()
        for norm in ("input_layernorm", "post_attention_layernorm", "hidden_norm"):
            yield f"{prefix}.{norm}.weight", Parameter(initial="ones")
    width, hidden = config.get("target_hidden_size"), config.get("hidden_size")
    width = hidden if width is None else width
    count = _states(knowledge, draft)
    known = isinstance(width, int) and isinstance(hidden, int)
    if _uses_states(draft) or not knowledge.since("0.12.0"):
        yield "model.fc.weight", Parameter((hidden, width * count) if known else None)
    if knowledge.since("0.18.0") and _norms_before(knowledge, draft):
        yield "model.input_norm.weight", Parameter(initial="ones")
    if knowledge.since("0.22.0") and config.get("fc_norm"):
        for index in range(count):
            yield f"model.fc_norm.{index}.weight", Parameter(initial="ones")
    yield "model.norm.weight", Parameter(initial="ones")
    yield "lm_head.weight", Parameter()
    vocabulary = config.get("draft_vocab_size") or config.get("vocab_size")
    if not knowledge.since("0.30.0") or vocabulary != target.text.get("vocab_size"):
        yield "draft_id_to_target_id", Parameter(initial="zeros")


def _clashes(tensor: Tensor, name: str, parameter: Parameter) -> Iterator[LoaderError]:
    if parameter.shape is not None and tensor.shape != parameter.shape:
        given, wanted = list(tensor.shape), list(parameter.shape)
        text = (
            f"Tried to load weights of size torch.Size({given})to a parameter of size "
            f"torch.Size({wanted})"
        )
        yield LoaderError("load", "AssertionError", text, tensor.name, _SOURCE)


def _unknown(tensor: str, name: str, knowledge: Knowledge) -> LoaderError:
    """Return what a name without a parameter raises."""
    if name.startswith("model.") and not knowledge.since("0.25.0"):
        inner = name.removeprefix("model.")
        return LoaderError("load", "KeyError", f"'{inner}'", tensor, _SOURCE)
    inner, owner = name, CLASS
    if name.startswith("model."):
        inner, owner = name.removeprefix("model."), "LlamaModel"
    text = f"There is no module or parameter named '{inner}' in {owner}."
    return LoaderError("load", "ValueError", text, tensor, "model_executor/models/utils.py")
