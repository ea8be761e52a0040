"""Multi-head latent attention: the EAGLE-3 head of MLA targets and the DeepSeek NextN layer.

Restates `models/kimi_k25_eagle3.py` (from 0.5.12), `models/deepseek_nextn.py` and the loader it
shares with the target: `models/deepseek_v2.py:load_weights` up to 0.5.7,
`models/deepseek_common/deepseek_weight_loader.py` from 0.5.8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from specpreflight.engines.sglang.loaders.dense import head_size, require_rotary, require_silu
from specpreflight.engines.sglang.loaders.draft_config import DraftConfig
from specpreflight.engines.sglang.loaders.draft_model import (
    DraftModel,
    Refusal,
    experts_mapping,
)
from specpreflight.engines.sglang.loaders.layers import Layers, whole
from specpreflight.engines.sglang.loaders.parameters import Clash, Parameter, Shape, map_shape
from specpreflight.models.weights import Tensor

_HALVES: Final = {"q_a_proj": "kv_a_proj_with_mqa", "kv_a_proj_with_mqa": "q_a_proj"}
_FUSED: Final = "fused_qkv_a_proj_with_mqa"
_GATE_UP: Final = (("gate_up_proj", "gate_proj", 0), ("gate_up_proj", "up_proj", 1))


def attention(
    layers: Layers, config: DraftConfig, prefix: str, columns: int
) -> Iterator[Parameter]:
    """`DeepseekV2AttentionMLA` with input width `columns`."""

    def size(name: str) -> int:
        return whole(config.need(name), f"`{name}`")

    heads, rope, nope = (
        size("num_attention_heads"),
        size("qk_rope_head_dim"),
        size("qk_nope_head_dim"),
    )
    kv_rank, hidden = size("kv_lora_rank"), size("hidden_size")
    value = _value_size(layers, config)
    require_rotary(layers.release, rope)
    if config.get("q_lora_rank") is not None:
        rank = size("q_lora_rank")
        yield from layers.replicated(f"{prefix}.{_FUSED}", columns, rank + kv_rank + rope)
        yield from layers.norm(f"{prefix}.q_a_layernorm", rank)
        yield from layers.column(f"{prefix}.q_b_proj", rank, heads * (nope + rope))
    else:
        yield from layers.column(f"{prefix}.q_proj", columns, heads * (nope + rope))
        yield from layers.replicated(f"{prefix}.kv_a_proj_with_mqa", columns, kv_rank + rope)
    yield from layers.column(f"{prefix}.kv_b_proj", kv_rank, heads * (nope + value))
    yield from layers.row(f"{prefix}.o_proj", heads * value, hidden)
    yield from layers.norm(f"{prefix}.kv_a_layernorm", kv_rank)
    for name in ("attn_mqa", "attn_mha"):
        yield from layers.attention_scales(f"{prefix}.{name}")


def _value_size(layers: Layers, config: DraftConfig) -> int:
    """Return `v_head_dim`; from 0.5.14 `model_config.py:_derive_model_shapes` fills a gap in it."""
    if layers.release.since("0.5.14") and config.get("v_head_dim") in (None, 0):
        return head_size(config, whole(config.need("num_attention_heads"), "heads"))
    return whole(config.need("v_head_dim"), "`v_head_dim`")


class _Halves:
    """The two halves of `fused_qkv_a_proj_with_mqa`, kept until both are there."""

    def __init__(self, model: DraftModel) -> None:
        self.model = model
        self.waiting: dict[str, Tensor] = {}

    def load(self, name: str, tensor: Tensor) -> bool:
        """Take a half; when both are there, copy them. Return whether `name` was a half."""
        half = next((half for half in _HALVES if half in name), None)
        if half is None:
            return False
        self.waiting[name] = tensor
        query, other = name, name.replace(half, _HALVES[half])
        if half != "q_a_proj":
            query, other = other, query
        if query not in self.waiting or other not in self.waiting:
            return True
        parts = (self.waiting.pop(query), self.waiting.pop(other))
        promote(parts[0].dtype, parts[1].dtype)
        shape = join(parts[0].shape, parts[1].shape, len(parts))
        fused = name.replace(half, _FUSED)
        if fused in self.model.parameters:
            self.model.copy(fused, shape, tensors=parts)
        elif isinstance(self.model, DeepseekV3ForCausalLMNextN):
            self.model.without_fused(fused)
        return True


#: torch's names of dtypes in error texts.
_TORCH: Final = {
    "BF16": "BFloat16",
    "F16": "Half",
    "F32": "Float",
    "F64": "Double",
    "F8_E4M3": "Float8_e4m3fn",
    "F8_E5M2": "Float8_e5m2",
}


def promote(first: str, second: str) -> None:
    """Restate that `torch.cat` promotes no fp8 dtype."""
    if first != second and (first.startswith("F8") or second.startswith("F8")):
        names = f"{_TORCH.get(first, first)} and {_TORCH.get(second, second)}"
        text = f"Promotion for Float8 Types is not supported, attempted to promote {names}"
        raise Clash("RuntimeError", text)


def join(first: Shape, second: Shape, count: int) -> Shape:
    """Restate the shape of `torch.cat([first, second], dim=0)`."""
    if not first and not second:
        return ()
    if not first or not second:
        text = "zero-dimensional tensor (at position 0) cannot be concatenated"
        raise Clash("RuntimeError", text)
    if len(first) != len(second):
        text = f"Tensors must have same number of dimensions: got {len(first)} and {len(second)}"
        raise Clash("RuntimeError", text)
    for dim in range(1, len(first)):
        if first[dim] != second[dim]:
            text = (
                f"Sizes of tensors must match except in dimension 0. Expected size {first[dim]} "
                f"but got size {second[dim]} for tensor number {count - 1} in the list."
            )
            raise Clash("RuntimeError", text)
    return (first[0] + second[0], *first[1:])


class Eagle3DeepseekV2ForCausalLM(DraftModel):
    """EAGLE-3 head with MLA (Kimi-K2.x), registered from 0.5.12."""

    architecture: ClassVar[str] = "Eagle3DeepseekV2ForCausalLM"
    source: ClassVar[str] = "models/kimi_k25_eagle3.py"

    def build(self) -> None:
        """Restate the constructors of the class and of `Eagle3MLAModel`."""
        config, layers = self.config, Layers(self.release, self.quantization, self.situation.ranks)
        config.need("kv_lora_rank")
        hidden = whole(config.need("hidden_size"), "`hidden_size`")
        target = whole(config.get("target_hidden_size") or hidden, "`target_hidden_size`")
        count, bias = self.aux_states(), bool(config.get("bias", False))
        self.add(layers.vocabulary("model.embed_tokens", config.need("vocab_size"), hidden))
        if self.release.since("0.5.15"):
            self.add(layers.column("model.fc", target * count, hidden, bias))
        else:
            self.add(layers.plain("model.fc", target * count, hidden, bias))
        normed = config.get("fc_norm") or config.get("use_aux_norm", False)
        if normed and self.release.since("0.5.13"):
            for index in range(count):
                self.add(layers.norm(f"model.fc_norm.{index}", target))
        if config.need("num_hidden_layers") != 1:
            raise Refusal("ValueError", "EAGLE3 currently only supports 1 layer")
        if config.get("q_lora_rank") is None:
            text = "Eagle3 MLA layer requires q_lora_rank in the draft config"
            raise Refusal("ValueError", text)
        prefix, size = "model.midlayer", whole(config.need("intermediate_size"), "size")
        self.add(attention(layers, config, f"{prefix}.self_attn", 2 * hidden))
        self.add(layers.gate_up(f"{prefix}.mlp.gate_up_proj", hidden, size))
        self.add(layers.row(f"{prefix}.mlp.down_proj", size, hidden))
        require_silu(config)
        for norm in ("input_layernorm", "hidden_norm", "post_attention_layernorm"):
            self.add(layers.norm(f"{prefix}.{norm}", hidden))
        self.add(layers.norm("model.norm", hidden))
        if not config.get("tie_word_embeddings"):
            rows = config.get("draft_vocab_size")
            rows = config.need("vocab_size") if rows is None else rows
            self.add(layers.vocabulary("lm_head", rows, hidden))
        self._halves = _Halves(self)

    def aux_states(self) -> int:
        """Restate `_get_eagle_aux_layer_count`."""
        nested = self.config.get("eagle_config")
        name = "eagle_aux_hidden_state_layer_ids"
        ids = nested.get(name) if isinstance(nested, dict) else None
        if ids is None:
            ids = self.config.get(name)
        return 3 if ids is None else len(ids)

    @property
    def reads_head(self) -> bool:
        """The target's head is taken where `draft_vocab_size` is null or absent."""
        tied = bool(self.config.get("tie_word_embeddings"))
        return not tied and self.config.get("draft_vocab_size") is not None

    @property
    def shares_embedding(self) -> bool:
        """The embedding is kept where the target's width differs (`set_embed`)."""
        stated = self.config.get("target_hidden_size")
        return stated is None or stated == self.config.need("hidden_size")

    def load(self, tensor: Tensor) -> None:
        """Restate the loop of `load_weights`."""
        name = tensor.name
        if name == "d2t" or name.endswith(".d2t"):
            self.map_shape = map_shape(tensor.shape)
            self.take(tensor, "attribute hot_token_id")
            return
        if name == "t2d" or name.endswith(".t2d"):
            return
        name = re.sub(r"^layers\.0\.", "midlayer.", name)
        if not name.startswith("lm_head."):
            name = f"model.{name}"
        for parameter, weight, shard in _GATE_UP:
            place = name.replace(f".{weight}", f".{parameter}")
            if f".{weight}" in name and place in self.parameters:
                self.copy(place, tensor.shape, shard)
                return
        if self._halves.load(name, tensor):
            return
        if name in self.parameters:
            self.copy(name, tensor.shape)
        else:
            self.warn(f"Eagle3 MLA: skipping unexpected weight {tensor.name}")

    def finish(self) -> None:
        """`post_load_weights` splits `kv_b_proj`, in float only."""
        if self.quantization.method == "fp8" and self.quantization.serialized:
            text = "Eagle3 MLA draft post_load_weights only supports float dtypes"
            raise Refusal("NotImplementedError", text)


_FUSED_EXPERTS: Final = (
    (".experts.gate_up_proj_scale", ".experts.w13_weight_scale_inv", ("w1", "w3")),
    (".experts.down_proj_scale", ".experts.w2_weight_scale_inv", ("w2",)),
    (".experts.gate_up_proj", ".experts.w13_weight", ("w1", "w3")),
    (".experts.down_proj", ".experts.w2_weight", ("w2",)),
)


class DeepseekV3ForCausalLMNextN(DraftModel):
    """The NextN layer of DeepSeek V3 and its relatives, all releases."""

    architecture: ClassVar[str] = "DeepseekV3ForCausalLMNextN"
    source: ClassVar[str] = "models/deepseek_common/deepseek_weight_loader.py"
    threads: ClassVar[bool] = True

    def build(self) -> None:
        """Restate the constructors of the class and of `DeepseekModelNextN`."""
        config, layers = self.config, Layers(self.release, self.quantization, self.situation.ranks)
        hidden = whole(config.need("hidden_size"), "`hidden_size`")
        self.add(layers.vocabulary("model.embed_tokens", config.need("vocab_size"), hidden))
        self.add(layers.norm("model.enorm", hidden))
        self.add(layers.norm("model.hnorm", hidden))
        self.add(layers.plain("model.eh_proj", 2 * hidden, hidden))
        self.add(attention(layers, config, "model.decoder.self_attn", hidden))
        self._moe(layers, "model.decoder.mlp", hidden)
        self.add(layers.norm("model.decoder.input_layernorm", hidden))
        self.add(layers.norm("model.decoder.post_attention_layernorm", hidden))
        self.add(layers.norm("model.shared_head.norm", hidden))
        self.add(layers.vocabulary("lm_head", config.need("vocab_size"), hidden))
        self._halves = _Halves(self)

    def _moe(self, layers: Layers, prefix: str, hidden: int) -> None:
        """`DeepseekV2MoE`: router, routed experts, shared experts (fused for V3 itself)."""
        config = self.config
        count = whole(config.need("n_routed_experts"), "`n_routed_experts`")
        size = whole(config.need("moe_intermediate_size"), "`moe_intermediate_size`")
        shared = config.get("n_shared_experts")
        self.fused = count == 256 and shared == 1
        if self.fused:
            self.notes.append("the shared expert counts as fused: NVIDIA GPUs from compute 8.0")
        self.add([Parameter(f"{prefix}.gate.weight", (count, hidden))])
        if config.need("topk_method") == "noaux_tc":
            self.add([Parameter(f"{prefix}.gate.e_score_correction_bias", (count,))])
        self.add(layers.experts(f"{prefix}.experts", count + self.fused, hidden, size))
        if shared is not None and not self.fused:
            width = size * whole(shared, "`n_shared_experts`")
            self.add(layers.gate_up(f"{prefix}.shared_experts.gate_up_proj", hidden, width))
            self.add(layers.row(f"{prefix}.shared_experts.down_proj", width, hidden))
            require_silu(config)
        self.experts = experts_mapping(count + self.fused)
        self.count = count

    @property
    def reads_head(self) -> bool:
        """Head and embedding are always the target's (`set_embed_and_head`)."""
        return False

    def begin(self) -> None:
        """Restate `_initialize_nextn_conf`."""
        if not self.config.has("num_nextn_predict_layers"):
            raise Refusal("ValueError", "num_nextn_predict_layers is not in the config")
        if self.config.get("num_nextn_predict_layers") != 1:
            raise Refusal("AssertionError", "Only 1 nextn layer is supported")
        layers = self.config.need("num_hidden_layers")
        self.prefix = f"model.layers.{0 if layers == 1 else layers}"

    def load(self, tensor: Tensor) -> None:
        """Restate the loop of `do_load_weights` with `is_nextn`."""
        name = tensor.name
        if self.fused:
            name = name.replace("mlp.shared_experts", f"mlp.experts.{self.count}")
        if not name.startswith(self.prefix):
            return
        if "shared_head.head" in name or "embed_tokens" in name:
            return
        special = ("shared_head.norm", "eh_proj", "enorm", "hnorm")
        inner = "model" if any(part in name for part in special) else "model.decoder"
        name = name.replace(self.prefix, inner)
        if self.release.since("0.5.20") and self._load_fused_experts(name, tensor):
            return
        if "rotary_emb.inv_freq" in name:
            return
        if ".indexer." in name and self.release.since("0.5.18"):
            return
        for parameter, weight, shard in _GATE_UP:
            if weight not in name or ("mlp.experts." in name and name not in self.parameters):
                continue
            name = name.replace(weight, parameter)
            if name in self.parameters:
                self.copy(name, tensor.shape, shard)
                return
            if not name.endswith(".bias"):
                raise Refusal("KeyError", f"'{name}'")
        self._load_other(name, tensor)

    def _load_other(self, name: str, tensor: Tensor) -> None:
        for weight, (parameter, place) in self.experts.items():
            if weight not in name:
                continue
            name = name.replace(weight, parameter)
            if name in self.parameters:
                self.copy(name, tensor.shape, place)
                return
            if not self.release.since("0.5.6"):
                raise Refusal("KeyError", f"'{name}'")
        if name.endswith(".bias") and name not in self.parameters:
            return
        if self.config.get("q_lora_rank") is not None and self._halves.load(name, tensor):
            return
        if name not in self.parameters:
            for scale in ("k_scale", "v_scale"):
                if scale in name:
                    name = name.replace(f"{scale[0]}_proj", "attn_mqa")
                    break
        if name in self.parameters:
            self.copy(name, tensor.shape)
        else:
            self.warn(f"{name} not found in params_dict.")

    def _load_fused_experts(self, name: str, tensor: Tensor) -> bool:
        """Restate `_load_fused_expert_tensor` (0.5.20 on)."""
        for source, target, shards in _FUSED_EXPERTS:
            if not name.endswith(source):
                continue
            place = name[: -len(source)] + target
            if place not in self.parameters:
                return False
            if not tensor.shape:
                raise Clash("TypeError", "iteration over a 0-d tensor")
            held = self.parameters[place].shape[0]
            for expert in range(tensor.shape[0]):
                if expert >= held:
                    text = f"index {expert} is out of bounds for dimension 0 with size {held}"
                    raise Clash("IndexError", text)
                for shard, shape in zip(shards, _chunks(tensor.shape[1:], shards), strict=True):
                    self.copy(place, shape, (expert, shard))
            return True
        return False

    def without_fused(self, name: str) -> None:
        """Both halves are there and their parameter is not: KeyError up to 0.5.22."""
        if not self.release.since("0.5.23"):
            raise Refusal("KeyError", f"'{name}'")
        self.warn(f"{name} not found in params_dict.")


def _chunks(shape: Shape, shards: tuple[str, ...]) -> Iterator[Shape]:
    """Restate `chunk(2, dim=0)` of one expert's gate and up; the second gets what is left."""
    if len(shards) == 1:
        yield shape
        return
    if not shape:
        raise Clash("RuntimeError", "chunk expects at least a 1-dimensional tensor")
    if shape[0] < 2:
        raise Clash("ValueError", "not enough values to unpack (expected 2, got 1)")
    first = -(-shape[0] // 2)
    yield (first, *shape[1:])
    yield (shape[0] - first, *shape[1:])
