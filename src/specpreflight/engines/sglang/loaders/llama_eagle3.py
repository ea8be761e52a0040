"""`LlamaForCausalLMEagle3`: the EAGLE-3 head of every target but the MLA ones.

Restates `models/llama_eagle3.py`, read in all releases from 0.4.6.post5 to 0.5.23:

- up to 0.4.8.post1 names go through `LlamaForCausalLM.load_weights` with `model.` in front;
- from 0.4.9 its own loop drops what it does not know, without a word;
- from 0.5.2 `draft_vocab_size: null` means the target's head;
- from 0.5.12 the decoder is `layers.0` (`midlayer` is renamed), several layers are allowed, the
  number of aux states is read, and `fc_norm` exists;
- from 0.5.17 `norm_before_fc` builds `input_norm`.
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.loaders.dense import (
    DOTTED,
    attention,
    llama_bias,
    llama_names,
    require_silu,
)
from specpreflight.engines.sglang.loaders.draft_model import DraftModel, Refusal
from specpreflight.engines.sglang.loaders.layers import Layers, whole
from specpreflight.engines.sglang.loaders.parameters import map_shape
from specpreflight.models.weights import Tensor

_LEGACY: Final = {
    "midlayer": "layers.0",
    "aux_norm_low": "fc_norm.0",
    "aux_norm_mid": "fc_norm.1",
    "aux_norm_high": "fc_norm.2",
}


class LlamaForCausalLMEagle3(DraftModel):
    """See the module."""

    architecture = "LlamaForCausalLMEagle3"
    source = "models/llama_eagle3.py"

    def build(self) -> None:
        """Restate the constructors of the class and of its `LlamaModel`."""
        config, layers = self.config, Layers(self.release, self.quantization, self.situation.ranks)
        many = self.release.since("0.5.12")
        if not many and config.need("num_hidden_layers") != 1:
            raise Refusal("ValueError", "EAGLE3 currently only supports 1 layer")
        hidden = whole(config.need("hidden_size"), "`hidden_size`")
        target = hidden
        if config.has("target_hidden_size"):
            target = whole(config.get("target_hidden_size"), "`target_hidden_size`")
        count = self.aux_states() if many else 3
        bias = bool(config.get("bias", False)) or not self.release.since("0.4.9")
        self.add(layers.vocabulary("model.embed_tokens", config.need("vocab_size"), hidden))
        self.add(layers.plain("model.fc", target * count, hidden, bias))
        if self.release.since("0.5.17") and self.norm_before_fc():
            self.add(layers.norm("model.input_norm", target * count))
        if many and (config.get("fc_norm") or config.get("use_aux_norm", False)):
            for index in range(count):
                self.add(layers.norm(f"model.fc_norm.{index}", target))
        if many:
            for index in range(whole(config.need("num_hidden_layers"), "`num_hidden_layers`")):
                self._decoder(layers, f"model.layers.{index}", hidden, index == 0)
        else:
            self._decoder(layers, "model.midlayer", hidden, True)
        self.add(layers.norm("model.norm", hidden))
        self._head(layers, hidden)

    def _decoder(self, layers: Layers, prefix: str, hidden: int, first: bool) -> None:
        config = self.config
        kind = "intermediate_size"
        if config.get("model_type") == "llama4_text":
            kind = "intermediate_size_mlp"
        size = whole(config.need(kind), f"`{kind}`")
        columns = 2 * hidden if first else hidden
        require_silu(config)
        bias = llama_bias(config)
        self.add(attention(layers, config, f"{prefix}.self_attn", columns, False, bias))
        self.add(layers.gate_up(f"{prefix}.mlp.gate_up_proj", hidden, size))
        self.add(layers.row(f"{prefix}.mlp.down_proj", size, hidden))
        for norm in ("input_layernorm", "post_attention_layernorm", "hidden_norm"):
            self.add(layers.norm(f"{prefix}.{norm}", hidden))

    def _head(self, layers: Layers, hidden: int) -> None:
        config = self.config
        strict = self.release.since("0.5.4.post2")
        if config.get("tie_word_embeddings"):
            if strict:
                rows = config.need("draft_vocab_size")
                if rows is None and self.release.since("0.5.11"):
                    text = "Validation error for field 'vocab_size'"
                    raise Refusal("StrictDataclassFieldValidationError", text)
            return
        rows = config.need("draft_vocab_size")
        if rows is None and self.release.since("0.5.2"):
            rows = config.need("vocab_size")
        self.add(layers.vocabulary("lm_head", rows, hidden))

    def aux_states(self) -> int:
        """Return how many hidden states of the target are concatenated (0.5.12 on)."""
        stated = self.config.get("num_aux_hidden_states")
        if stated is not None:
            return whole(stated, "`num_aux_hidden_states`")
        ids = (self.config.get("eagle_config") or {}).get("eagle_aux_hidden_state_layer_ids")
        return len(ids) if ids else 3

    def norm_before_fc(self) -> bool:
        """Return whether the concatenated states are normalised before `fc` (0.5.17 on)."""
        nested = self.config.get("eagle_config") or {}
        return bool(nested.get("norm_before_fc", self.config.get("norm_before_fc", False)))

    @property
    def reads_head(self) -> bool:
        """The target's head is taken only where `draft_vocab_size` is null (0.5.2 on)."""
        tied = bool(self.config.get("tie_word_embeddings"))
        return not tied and self.config.get("draft_vocab_size") is not None

    @property
    def shares_embedding(self) -> bool:
        """The embedding is kept where the target's width differs (`set_embed`)."""
        stated = self.config.get("target_hidden_size")
        return stated is None or stated == self.config.need("hidden_size")

    def load(self, tensor: Tensor) -> None:
        """Restate the loop of `load_weights`."""
        if not self.release.since("0.4.9"):
            self._load_by_llama(tensor)
            return
        name = tensor.name
        if self.release.since("0.5.12"):
            for legacy, new in _LEGACY.items():
                name = name.replace(legacy, new)
        if "d2t" in name:
            self.map_shape = map_shape(tensor.shape)
            self.take(tensor, "attribute hot_token_id")
            return
        if "t2d" in name:
            return
        for parameter, weight, shard in DOTTED:
            if weight in name:
                name = name.replace(weight, parameter)
                place = name if name in self.parameters else f"model.{name}"
                if place in self.parameters:
                    self.copy(place, tensor.shape, shard)
                return
        place = name if name in self.parameters else f"model.{name}"
        if place in self.parameters:
            self.copy(place, tensor.shape)

    def _load_by_llama(self, tensor: Tensor) -> None:
        if "d2t" in tensor.name:
            self.map_shape = map_shape(tensor.shape)
            self.take(tensor, "attribute hot_token_id")
        if "d2t" in tensor.name or "t2d" in tensor.name:
            return
        prefix = "" if "lm_head" in tensor.name else "model."
        llama_names(self.config, self.release).load(self, prefix + tensor.name, tensor)
