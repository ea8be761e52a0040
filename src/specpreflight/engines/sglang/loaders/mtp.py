"""Multi-token-prediction heads that sit in their target's checkpoint: Qwen3-Next, Qwen3.5, MiMo.

Restates `models/qwen3_next_mtp.py` with `models/qwen3_next.py:load_weights` (from 0.5.2),
`models/qwen3_5_mtp.py` (from 0.5.9) and `models/mimo_mtp.py` (all releases).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import ClassVar, Final

from specpreflight.engines.sglang.loaders import dense
from specpreflight.engines.sglang.loaders.draft_config import DraftConfig
from specpreflight.engines.sglang.loaders.draft_model import (
    DraftModel,
    Refusal,
    experts_mapping,
)
from specpreflight.engines.sglang.loaders.layers import Layers, whole
from specpreflight.engines.sglang.loaders.parameters import Clash, Parameter, Shape
from specpreflight.engines.sglang.loaders.quantization import Quantization
from specpreflight.models.weights import Tensor

_GDN: Final[dense.StackedMapping] = (
    ("in_proj_qkvz.", "in_proj_qkv.", (0, 1, 2)),
    ("in_proj_qkvz.", "in_proj_z.", 3),
    ("in_proj_ba.", "in_proj_b.", 0),
    ("in_proj_ba.", "in_proj_a.", 1),
)
_IGNORED: Final = tuple(
    sign + part
    for part in ("bias", "k_scale", "v_scale", "weight_scale", "input_scale")
    for sign in (".", "_")
)


def _attention(
    layers: Layers, config: DraftConfig, prefix: str, hidden: int, scales_since: str
) -> Iterator[Parameter]:
    """The full-attention layer of Qwen3-Next and Qwen3.5: queries carry their output gates.

    `scales_since` is the release that began to hand the quantisation to `RadixAttention`.
    """
    heads = whole(config.need("num_attention_heads"), "`num_attention_heads`")
    kv_heads = whole(config.get("num_key_value_heads"), "`num_key_value_heads`")
    if kv_heads == 0:
        raise Refusal("ZeroDivisionError", "integer modulo by zero")
    head = dense.head_size(config, heads) or hidden // heads
    gates = 1 + bool(config.get("attn_output_gate", True))
    yield from layers.qkv(f"{prefix}.qkv_proj", hidden, head, heads * gates, kv_heads)
    yield from layers.row(f"{prefix}.o_proj", heads * head, hidden)
    if layers.release.since(scales_since):
        yield from layers.attention_scales(f"{prefix}.attn")


def _norms(layers: Layers, config: DraftConfig, prefix: str, hidden: int) -> Iterator[Parameter]:
    head = dense.head_size(config, whole(config.need("num_attention_heads"), "heads"))
    for norm in ("input_layernorm", "post_attention_layernorm"):
        yield from layers.gemma_norm(f"{prefix}.{norm}", hidden)
    for norm in ("q_norm", "k_norm"):
        yield from layers.gemma_norm(f"{prefix}.{norm}", head)


def _fuses_shared_expert(config: DraftConfig) -> bool:
    """Restate `models/qwen2_moe.py:can_fuse_shared_expert` on an NVIDIA GPU."""
    size = config.get("shared_expert_intermediate_size", 0)
    return bool(size > 0 and size == config.get("moe_intermediate_size"))


def _moe(
    layers: Layers, config: DraftConfig, prefix: str, hidden: int, fused: int
) -> Iterator[Parameter]:
    """`Qwen2MoeSparseMoeBlock`; `fused` shared experts take slots among the routed ones."""
    count = whole(config.need("num_experts"), "`num_experts`")
    size = whole(config.need("moe_intermediate_size"), "`moe_intermediate_size`")
    shared = whole(config.need("shared_expert_intermediate_size"), "a size")
    yield from layers.experts(f"{prefix}.experts", count + fused, hidden, size)
    yield from Layers(layers.release, Quantization()).replicated(f"{prefix}.gate", hidden, count)
    if shared > 0 and not fused:
        yield from layers.gate_up(f"{prefix}.shared_expert.gate_up_proj", hidden, shared)
        yield from layers.row(f"{prefix}.shared_expert.down_proj", shared, hidden)
        dense.require_silu(config)
    yield from layers.plain(f"{prefix}.shared_expert_gate", hidden, 1)


class Qwen3NextForCausalLMMTP(DraftModel):
    """Qwen3-Next's MTP layer; names without a parameter are KeyErrors."""

    architecture: ClassVar[str] = "Qwen3NextForCausalLMMTP"
    source: ClassVar[str] = "models/qwen3_next.py"

    def build(self) -> None:
        """Restate the constructors."""
        config, layers = self.config, Layers(self.release, self.quantization, self.situation.ranks)
        hidden = whole(config.need("hidden_size"), "`hidden_size`")
        late = self.release.since("0.5.14")
        self.fused = int(late and _fuses_shared_expert(config))
        self.add(layers.plain("fc", 2 * hidden, hidden))
        self.add(layers.gemma_norm("pre_fc_norm_embedding", hidden))
        self.add(layers.gemma_norm("pre_fc_norm_hidden", hidden))
        self.add(layers.vocabulary("model.embed_tokens", config.need("vocab_size"), hidden))
        self.add(_attention(layers, config, "model.layers.0", hidden, "0.5.9"))
        self.add(_moe(layers, config, "model.layers.0.mlp", hidden, self.fused))
        self.add(_norms(layers, config, "model.layers.0", hidden))
        self.add(layers.gemma_norm("model.norm", hidden))
        self.add(layers.vocabulary("lm_head", config.need("vocab_size"), hidden))
        self.experts = experts_mapping(whole(config.get("num_experts"), "experts") + self.fused)

    @property
    def reads_head(self) -> bool:
        """Head and embedding are the target's."""
        return False

    def load(self, tensor: Tensor) -> None:
        """Restate the loop of `load_weights` with `is_mtp`."""
        name = tensor.name
        if "mtp" not in name:
            return
        if name in (
            "mtp.fc.weight",
            "mtp.pre_fc_norm_embedding.weight",
            "mtp.pre_fc_norm_hidden.weight",
        ):
            name = name.replace("mtp.", "")
        else:
            name = name.replace("mtp", "model")
        if "rotary_emb.inv_freq" in name:
            return
        name = name.replace(".self_attn", "") if ".self_attn." in name else name
        if self.fused:
            place = f"mlp.experts.{self.config.get('num_experts')}."
            name = name.replace("mlp.shared_expert.", place)
        if self.release.since("0.5.9"):
            name = re.sub(r"\.[kv]_proj\.([kv])_scale$", r".attn.\1_scale", name)
        mapping = dense.STACKED + (_GDN if self.release.since("0.5.10") else ())
        for parameter, weight, shard in mapping:
            if weight not in name or "mlp.experts" in name:
                continue
            renamed = name.replace(weight, parameter)
            if renamed in self.parameters:
                self.copy(renamed, tensor.shape, shard)
                return
            if not self.release.since("0.5.9"):
                name = renamed
        self._load_other(name, tensor)

    def _load_other(self, name: str, tensor: Tensor) -> None:
        for weight, (parameter, place) in self.experts.items():
            if weight not in name:
                continue
            renamed = name.replace(weight, parameter)
            if renamed.endswith((".bias", "_bias")) and renamed not in self.parameters:
                continue
            self._strictly(renamed, tensor, place)
            return
        if name.endswith(".bias") and name not in self.parameters:
            return
        late = self.release.since("0.5.10")
        if late and name.endswith("_scale") and name not in self.parameters:
            self._expect_one(name, tensor)
            return
        self._strictly(name, tensor)

    def _strictly(self, name: str, tensor: Tensor, shard: Hashable = None) -> None:
        if name not in self.parameters:
            raise Refusal("KeyError", f"'{name}'")
        self.copy(name, tensor.shape, shard)

    def _expect_one(self, name: str, tensor: Tensor) -> None:
        """A scale without a parameter is skipped if it is 1.0, else an AssertionError."""
        values = self.situation.values(tensor)
        if values is not None and len(values) == 1 and abs(values[0] - 1.0) < 1e-6:
            return
        found = f"{values[0]}" if values else "?"
        raise Refusal("AssertionError", f"Expected 1.0, got {found} in skipped {name}")


class Qwen3_5ForCausalLMMTP(DraftModel):
    """Qwen3.5's MTP layer, dense or MoE; unknown names are skipped."""

    architecture: ClassVar[str] = "Qwen3_5ForCausalLMMTP"
    source: ClassVar[str] = "models/qwen3_5_mtp.py"
    reads_text_config: ClassVar[bool] = True

    def build(self) -> None:
        """Restate the constructors; the config is the text config."""
        config, layers = self.config, Layers(self.release, self.quantization, self.situation.ranks)
        hidden = whole(config.need("hidden_size"), "`hidden_size`")
        self.add(layers.plain("fc", 2 * hidden, hidden))
        self.add(layers.gemma_norm("pre_fc_norm_embedding", hidden))
        self.add(layers.gemma_norm("pre_fc_norm_hidden", hidden))
        self.add(layers.vocabulary("model.embed_tokens", config.need("vocab_size"), hidden))
        self.add(_attention(layers, config, "model.layers.0", hidden, "0.5.17"))
        kind = config.get("model_type")
        if kind == "qwen3_5_text":
            self.add(dense.mlp(layers, config, "model.layers.0.mlp"))
        elif kind == "qwen3_5_moe_text":
            self.add(_moe(layers, config, "model.layers.0.mlp", hidden, 0))
        else:
            raise Refusal("ValueError", f"Invalid model type: {kind}")
        self.add(_norms(layers, config, "model.layers.0", hidden))
        self.add(layers.gemma_norm("model.norm", hidden))
        if not config.get("tie_word_embeddings"):
            self.add(layers.vocabulary("lm_head", config.need("vocab_size"), hidden))
        self.count = config.get("num_experts")
        self.separate = experts_mapping(self.count) if isinstance(self.count, int) else {}
        self.fused_seen = False

    @property
    def reads_head(self) -> bool:
        """Head and embedding are the target's."""
        return False

    def load(self, tensor: Tensor) -> None:
        """Restate the loop of `load_weights`."""
        name = tensor.name
        own = ("model.embed_tokens.weight", "model.language_model.embed_tokens.weight")
        if self.release.since("0.5.20") and name in own:
            self.copy("model.embed_tokens.weight", tensor.shape)
            return
        if self.release.since("0.5.19"):
            name = re.sub(r"\.self_attn\.(?:[kv]_proj\.)?([kv])_scale$", r".attn.\1_scale", name)
        if "rotary_emb.inv_freq" in name or "mtp" not in name:
            return
        if name.startswith("mtp."):
            name = name.replace("mtp.", "model.")
            name = name.replace("model.fc", "fc").replace("model.pre_fc", "pre_fc")
        name = name.replace(".self_attn", "") if ".self_attn." in name else name
        fused = "experts.gate_up_proj" in name or "experts.down_proj" in name
        if not self.release.since("0.5.21"):
            stacked = any(weight in name for _, weight, _ in dense.STACKED)
            self.fused_seen |= fused and (stacked or "down_proj" in name)
            fused = self.fused_seen
        for parameter, weight, shard in dense.STACKED:
            renamed = name.replace(weight, parameter)
            if weight in name and "mlp.experts" not in name and renamed in self.parameters:
                self.copy(renamed, tensor.shape, shard)
                return
        self._load_other(name, tensor, fused)

    def _load_other(self, name: str, tensor: Tensor, fused: bool) -> None:
        if fused and self._load_fused(name, tensor):
            return
        for weight, (parameter, place) in ({} if fused else self.separate).items():
            if weight not in name:
                continue
            renamed = name.replace(weight, parameter)
            if renamed in self.parameters:
                self.copy(renamed, tensor.shape, place)
            return
        if name in self.parameters:
            self.copy(name, tensor.shape)
        elif not name.endswith(_IGNORED):
            self.warn(f"Parameter {name} not found in params_dict, skip loading")

    def _load_fused(self, name: str, tensor: Tensor) -> bool:
        """Split a tensor of all experts; return whether the name is one of those."""
        for weight, parameter, shards in (
            ("experts.gate_up_proj", "experts.w13_weight", ("w1", "w3")),
            ("experts.down_proj", "experts.w2_weight", ("w2",)),
        ):
            if weight not in name:
                continue
            place = name.replace(weight, parameter)
            if not isinstance(self.count, int):
                if place in self.parameters:
                    self.copy(place, tensor.shape)
                return True
            if place not in self.parameters:
                raise Refusal("KeyError", f"'{place}'")
            shape = _halved(tensor.shape) if len(shards) == 2 else tensor.shape
            for shard in shards:
                for expert in range(self.count):
                    if expert >= shape[0]:
                        text = (
                            f"index {expert} is out of bounds for dimension 0 with size {shape[0]}"
                        )
                        raise Clash("IndexError", text)
                    self.copy(place, shape[1:], (expert, shard))
            return True
        return False


def _halved(shape: Shape) -> Shape:
    """Restate the first part of `tensor.chunk(2, dim=-2)`."""
    if len(shape) < 2:
        raise Clash("IndexError", "Dimension out of range")
    return (*shape[:-2], -(-shape[-2] // 2), shape[-1])


class MiMoMTP(DraftModel):
    """MiMo's MTP layer (Qwen2 decoder); names without a parameter are KeyErrors."""

    architecture: ClassVar[str] = "MiMoMTP"
    source: ClassVar[str] = "models/mimo_mtp.py"
    _OUTER: ClassVar[tuple[str, ...]] = (
        "token_layernorm",
        "hidden_layernorm",
        "input_proj",
        "final_layernorm",
    )

    def build(self) -> None:
        """Restate the constructors."""
        config, layers = self.config, Layers(self.release, self.quantization, self.situation.ranks)
        hidden = whole(config.need("hidden_size"), "`hidden_size`")
        block = "model.mtp_block"
        self.add(layers.vocabulary("model.embed_tokens", config.need("vocab_size"), hidden))
        self.add(layers.norm("model.token_layernorm", hidden))
        self.add(layers.norm("model.hidden_layernorm", hidden))
        self.add(layers.plain("model.input_proj", 2 * hidden, hidden))
        self.add(dense.attention(layers, config, f"{block}.self_attn", hidden, True, False))
        self.add(dense.mlp(layers, config, f"{block}.mlp"))
        self.add(layers.norm(f"{block}.input_layernorm", hidden))
        self.add(layers.norm(f"{block}.post_attention_layernorm", hidden))
        self.add(layers.norm("model.final_layernorm", hidden))
        self.add(layers.vocabulary("lm_head", config.need("vocab_size"), hidden))

    @property
    def reads_head(self) -> bool:
        """Head and embedding are the target's."""
        return False

    def load(self, tensor: Tensor) -> None:
        """Restate the loop of `load_weights`."""
        name = tensor.name
        skipped = (
            "rotary_emb.inv_freq",
            "projector",
            "rotary_emb.cos_cached",
            "rotary_emb.sin_cached",
        )
        if any(part in name for part in skipped):
            return
        if self.config.get("tie_word_embeddings") and "lm_head.weight" in name:
            return
        if name.startswith("model.vision_tower") and name not in self.parameters:
            return
        name = self._renamed(name)
        for parameter, weight, shard in dense.STACKED:
            if weight not in name:
                continue
            if "mtp_block" not in name:
                return
            name = name.replace(weight, parameter)
            if name.endswith(".bias") and name not in self.parameters:
                continue
            self._strictly(name, tensor, shard)
            return
        if name.endswith(".bias") and name not in self.parameters:
            return
        known = (*self._OUTER, "embed_tokens", "lm_head", "mtp_block")
        if any(part in name for part in known):
            self._strictly(name, tensor)

    def _renamed(self, name: str) -> str:
        """Restate `map_model_name_to_mtp_param_name`."""
        match = re.match(r"model.mtp_layers.(\d+).", name)
        if match is None:
            return name
        outer = any(part in name for part in self._OUTER)
        return name.replace(match.group(), "model." if outer else "model.mtp_block.")

    def _strictly(self, name: str, tensor: Tensor, shard: Hashable = None) -> None:
        if name not in self.parameters:
            raise Refusal("KeyError", f"'{name}'")
        self.copy(name, tensor.shape, shard)
