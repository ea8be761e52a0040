"""Dense decoders and their name rules: Llama, Qwen2, Qwen3, and the EAGLE-1/2 heads made of them.

Restates `models/llama.py`, `models/qwen2.py` and `models/qwen3.py` (`load_weights` and the
attention and decoder constructors), `models/llama_eagle.py` and `models/qwen2_eagle.py`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from specpreflight.engines.sglang.loaders.draft_config import DraftConfig
from specpreflight.engines.sglang.loaders.draft_model import DraftModel, Refusal, Release
from specpreflight.engines.sglang.loaders.layers import Layers, whole
from specpreflight.engines.sglang.loaders.parameters import Parameter
from specpreflight.models.weights import Tensor

StackedMapping = tuple[tuple[str, str, Hashable], ...]

STACKED: Final[StackedMapping] = (
    ("qkv_proj", "q_proj", "q"),
    ("qkv_proj", "k_proj", "k"),
    ("qkv_proj", "v_proj", "v"),
    ("gate_up_proj", "gate_proj", 0),
    ("gate_up_proj", "up_proj", 1),
)
DOTTED: Final[StackedMapping] = tuple((f".{p}", f".{w}", shard) for p, w, shard in STACKED)
_SKIPPED: Final = (
    "rotary_emb.inv_freq",
    "projector",
    "rotary_emb.cos_cached",
    "rotary_emb.sin_cached",
)
_LAYER: Final = re.compile(r"layers\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class DenseNames:
    """How a dense model's `load_weights` maps names.

    Attributes:
        mapping: the stacked parameters; a name that was renamed and not found goes on renamed.
        strict: whether a stacked name without a parameter is a KeyError.
        scales: whether key/value scales are renamed (`maybe_remap_kv_scale_name`).
        inverse_scales: whether `weight_scale_inv` becomes `weight_scale` (Llama, 0.5.6.post1).
        skips_tied_head: whether `lm_head.weight` is skipped under tied embeddings.
        layers: the number of layers where the model checks it, else `None`.
    """

    mapping: StackedMapping
    strict: bool
    scales: bool
    inverse_scales: bool
    skips_tied_head: bool
    layers: int | None

    def load(self, model: DraftModel, name: str, tensor: Tensor) -> None:
        """Restate one turn of the loop for a tensor that the file calls `name`."""
        if self.inverse_scales:
            name = re.sub(r"\.activation_scale$", ".input_scale", name)
            name = re.sub(r"\.weight_scale_inv$", ".weight_scale", name)
        layer = _LAYER.search(name)
        if self.layers is not None and layer is not None and int(layer[1]) >= self.layers:
            return
        if any(part in name for part in _SKIPPED):
            return
        if self.skips_tied_head and "lm_head.weight" in name:
            return
        if self.scales and "scale" in name:
            renamed = remap_scale(name, model.parameters)
            if renamed is None:
                return
            name = renamed
        for parameter, weight, shard in self.mapping:
            if weight not in name:
                continue
            name = name.replace(weight, parameter)
            if name in model.parameters:
                model.copy(name, tensor.shape, shard)
                return
            if self.strict and not name.endswith(".bias"):
                raise Refusal("KeyError", f"'{name}'")
        if name in model.parameters:
            model.copy(name, tensor.shape)
        elif not name.endswith(".bias"):
            model.warn(f"Parameter {name} not found in params_dict")


def remap_scale(name: str, parameters: dict[str, Parameter]) -> str | None:
    """Restate `model_loader/weight_utils.py:maybe_remap_kv_scale_name`."""
    renamed = name
    if name.endswith(".kv_scale"):
        renamed = name.replace(".kv_scale", ".attn.k_scale")
    for scale in (".k_scale", ".v_scale"):
        if name.endswith(scale):
            nested = f".self_attn.{scale[1]}_proj{scale}"
            if nested in name:
                renamed = name.replace(nested, f".self_attn.attn{scale}")
            else:
                renamed = name.replace(scale, f".attn{scale}")
    return renamed if renamed == name or renamed in parameters else None


def llama_names(config: DraftConfig, release: Release, layers: int | None = None) -> DenseNames:
    """Return the name rules of `LlamaForCausalLM` at a release."""
    return DenseNames(
        DOTTED,
        strict=not release.since("0.4.7"),
        scales=True,
        inverse_scales=release.since("0.5.6.post1"),
        skips_tied_head=bool(config.get("tie_word_embeddings")),
        layers=layers,
    )


def qwen2_names(config: DraftConfig, release: Release, layers: int | None = None) -> DenseNames:
    """Return the name rules of `Qwen2ForCausalLM` at a release."""
    return DenseNames(
        STACKED,
        strict=not release.since("0.4.9.post2"),
        scales=False,
        inverse_scales=False,
        skips_tied_head=bool(config.get("tie_word_embeddings")) and not release.since("0.5.9"),
        layers=layers,
    )


def head_size(config: DraftConfig, heads: int) -> int:
    """Return `head_dim`; null and absent are hidden size / heads."""
    stated = config.get("head_dim")
    if stated is None:
        return whole(config.need("hidden_size"), "`hidden_size`") // heads
    return whole(stated, "`head_dim`")


def attention(
    layers: Layers,
    config: DraftConfig,
    prefix: str,
    columns: int,
    qkv_bias: bool,
    o_bias: bool,
) -> Iterator[Parameter]:
    """`qkv_proj`, `o_proj` and the scales of an attention layer with input width `columns`."""
    hidden = whole(config.need("hidden_size"), "`hidden_size`")
    heads = whole(config.need("num_attention_heads"), "`num_attention_heads`")
    stated = config.get("num_key_value_heads")
    kv_heads = heads if stated is None else whole(stated, "`num_key_value_heads`")
    if kv_heads == 0:
        raise Refusal("ZeroDivisionError", "integer modulo by zero")
    head = head_size(config, heads)
    if head == 0:
        raise Refusal("ZeroDivisionError", "0.0 cannot be raised to a negative power")
    require_rotary(layers.release, head)
    yield from layers.qkv(f"{prefix}.qkv_proj", columns, head, heads, kv_heads, qkv_bias)
    yield from layers.row(f"{prefix}.o_proj", heads * head, hidden, o_bias)
    yield from layers.attention_scales(f"{prefix}.attn")


def mlp(layers: Layers, config: DraftConfig, prefix: str) -> Iterator[Parameter]:
    """`gate_up_proj` and `down_proj` of a SiLU MLP."""
    hidden = whole(config.need("hidden_size"), "`hidden_size`")
    size = whole(config.need("intermediate_size"), "`intermediate_size`")
    yield from layers.gate_up(f"{prefix}.gate_up_proj", hidden, size)
    yield from layers.row(f"{prefix}.down_proj", size, hidden)
    require_silu(config)


def require_rotary(release: Release, size: int) -> None:
    """Refuse head sizes for which `layers/rotary_embedding.py` imports vllm, up to 0.5.6."""
    if size not in (64, 128, 256, 512) and not release.since("0.5.6.post1"):
        raise Refusal("ModuleNotFoundError", "No module named 'vllm'")


def require_silu(config: DraftConfig) -> None:
    """Refuse another activation, as the constructors of `LlamaMLP` and `Qwen2MoeMLP` do."""
    activation = config.get("hidden_act", "silu")
    if activation != "silu":
        text = f"Unsupported activation: {activation}. Only silu is supported for now."
        raise Refusal("ValueError", text)


def llama_bias(config: DraftConfig) -> bool:
    """Return whether a Llama attention layer has biases."""
    return bool(config.get("attention_bias", False) or config.get("bias", False))


class _Eagle(DraftModel):
    """EAGLE-1/2: embedding, decoder layers without the first input norm, and `fc`."""

    def build(self) -> None:
        """Restate the constructors."""
        config, layers = self.config, Layers(self.release, self.quantization, self.situation.ranks)
        hidden = whole(config.need("hidden_size"), "`hidden_size`")
        self.add(layers.vocabulary("model.embed_tokens", config.need("vocab_size"), hidden))
        for index in range(whole(config.need("num_hidden_layers"), "`num_hidden_layers`")):
            prefix = f"model.layers.{index}"
            self.add(self.attention(layers, f"{prefix}.self_attn", hidden))
            self.add(mlp(layers, config, f"{prefix}.mlp"))
            if index:
                self.add(layers.norm(f"{prefix}.input_layernorm", hidden))
            self.add(layers.norm(f"{prefix}.post_attention_layernorm", hidden))
        self.add(layers.plain("model.fc", 2 * hidden, hidden, bias=True))
        if not config.get("tie_word_embeddings"):
            rows = config.get("hot_vocab_size", config.need("vocab_size"))
            self.add(layers.vocabulary("lm_head", rows, hidden))

    def attention(self, layers: Layers, prefix: str, hidden: int) -> Iterator[Parameter]:
        """Return the parameters of one attention layer."""
        bias = llama_bias(self.config)
        return attention(layers, self.config, prefix, hidden, bias, bias)

    @property
    def names(self) -> DenseNames:
        """The rules of the parent class; its model has no layer range."""
        return llama_names(self.config, self.release)

    @property
    def reads_head(self) -> bool:
        """The target's head is always used (`set_embed_and_head`)."""
        return False

    def load(self, tensor: Tensor) -> None:
        """`load_weights`: everything but a head, with `model.` in front."""
        if "lm_head" not in tensor.name:
            self.names.load(self, f"model.{tensor.name}", tensor)


class LlamaForCausalLMEagle(_Eagle):
    """EAGLE-1/2 head of Llama shape, all releases."""

    architecture: ClassVar[str] = "LlamaForCausalLMEagle"
    source: ClassVar[str] = "models/llama_eagle.py"


class Qwen2ForCausalLMEagle(_Eagle):
    """EAGLE-1/2 head of Qwen2 shape (biases on q, k, v), all releases."""

    architecture: ClassVar[str] = "Qwen2ForCausalLMEagle"
    source: ClassVar[str] = "models/qwen2_eagle.py"

    def attention(self, layers: Layers, prefix: str, hidden: int) -> Iterator[Parameter]:
        """Return the parameters of one attention layer."""
        return attention(layers, self.config, prefix, hidden, qkv_bias=True, o_bias=False)

    @property
    def names(self) -> DenseNames:
        """The rules of the parent class."""
        return qwen2_names(self.config, self.release)


class LlamaForCausalLM(DraftModel):
    """A whole dense model, as a standalone draft."""

    architecture: ClassVar[str] = "LlamaForCausalLM"
    source: ClassVar[str] = "models/llama.py"

    @property
    def count(self) -> int:
        """The number of layers."""
        return whole(self.config.need("num_hidden_layers"), "`num_hidden_layers`")

    def build(self) -> None:
        """Restate the constructors."""
        config, layers = self.config, Layers(self.release, self.quantization, self.situation.ranks)
        hidden = whole(config.need("hidden_size"), "`hidden_size`")
        self.add(layers.vocabulary("model.embed_tokens", config.need("vocab_size"), hidden))
        for index in range(self.count):
            prefix = f"model.layers.{index}"
            self.add(self.attention(layers, f"{prefix}.self_attn", hidden))
            self.add(mlp(layers, config, f"{prefix}.mlp"))
            self.add(layers.norm(f"{prefix}.input_layernorm", hidden))
            self.add(layers.norm(f"{prefix}.post_attention_layernorm", hidden))
        self.add(layers.norm("model.norm", hidden))
        if not config.get("tie_word_embeddings"):
            self.add(layers.vocabulary("lm_head", config.need("vocab_size"), hidden))

    def attention(self, layers: Layers, prefix: str, hidden: int) -> Iterator[Parameter]:
        """Return the parameters of one attention layer."""
        bias = llama_bias(self.config)
        return attention(layers, self.config, prefix, hidden, bias, bias)

    @property
    def shares_embedding(self) -> bool:
        """A standalone draft keeps its own embedding."""
        return False

    def load(self, tensor: Tensor) -> None:
        """Restate `load_weights`."""
        llama_names(self.config, self.release, self.count).load(self, tensor.name, tensor)


class Qwen2ForCausalLM(LlamaForCausalLM):
    """A whole Qwen2 model."""

    architecture: ClassVar[str] = "Qwen2ForCausalLM"
    source: ClassVar[str] = "models/qwen2.py"

    def attention(self, layers: Layers, prefix: str, hidden: int) -> Iterator[Parameter]:
        """Return the parameters of one attention layer."""
        return attention(layers, self.config, prefix, hidden, qkv_bias=True, o_bias=False)

    def load(self, tensor: Tensor) -> None:
        """Restate `load_weights`."""
        qwen2_names(self.config, self.release, self.count).load(self, tensor.name, tensor)


class Qwen3ForCausalLM(LlamaForCausalLM):
    """A whole Qwen3 model: norms of query and key, stacked names strict from 0.4.7 on."""

    architecture: ClassVar[str] = "Qwen3ForCausalLM"
    source: ClassVar[str] = "models/qwen3.py"

    def attention(self, layers: Layers, prefix: str, hidden: int) -> Iterator[Parameter]:
        """Return the parameters of one attention layer."""
        head = head_size(self.config, whole(self.config.need("num_attention_heads"), "heads"))
        bias = bool(self.config.need("attention_bias"))
        yield from layers.norm(f"{prefix}.q_norm", head)
        yield from layers.norm(f"{prefix}.k_norm", head)
        yield from attention(layers, self.config, prefix, hidden, bias, bias)

    def load(self, tensor: Tensor) -> None:
        """Restate `load_weights`; from 0.5.9 a missing `model.` is put in front."""
        name, late = tensor.name, self.release.since("0.5.9")
        if late and name.startswith(("layers.", "embed_tokens.", "norm.")):
            name = f"model.{name}"
        DenseNames(
            STACKED,
            strict=True,
            scales=True,
            inverse_scales=False,
            skips_tied_head=bool(self.config.get("tie_word_embeddings")) and not late,
            layers=self.count,
        ).load(self, name, tensor)
