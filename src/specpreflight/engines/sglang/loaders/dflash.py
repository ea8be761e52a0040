"""`DFlashDraftModel`: a block of draft layers over features of several target layers.

Restates `models/dflash.py` and `speculative/dflash_utils.py` (from 0.5.11). Quantisation reaches
the layers from 0.5.15, `encoder.*` aliases exist from 0.5.18, grouped convolutions from 0.5.19,
Domino projectors and sink biases from 0.5.20, Gemma norms and `swigluoai` from 0.5.23.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from specpreflight.engines.sglang.loaders.dense import STACKED
from specpreflight.engines.sglang.loaders.draft_model import DraftModel, Refusal
from specpreflight.engines.sglang.loaders.layers import Layers, whole
from specpreflight.engines.sglang.loaders.parameters import Parameter
from specpreflight.engines.sglang.loaders.quantization import Quantization
from specpreflight.models.weights import Tensor

_ALIASES: Final = {
    "encoder.fc.weight": "fc.weight",
    "encoder.output_norm_enc.weight": "hidden_norm.weight",
}
_DOMINO: Final = ("prefix_gru.", "embed_proj.")


class DFlashDraftModel(DraftModel):
    """See the module."""

    architecture: ClassVar[str] = "DFlashDraftModel"
    source: ClassVar[str] = "models/dflash.py"

    def build(self) -> None:
        """Restate the constructors."""
        config = self.config
        quantised = self.quantization if self.release.since("0.5.15") else Quantization()
        layers = Layers(self.release, quantised, self.situation.ranks)
        hidden = whole(config.need("hidden_size"), "`hidden_size`")
        count = whole(config.need("num_hidden_layers"), "`num_hidden_layers`")
        gemma = self.release.since("0.5.23") and config.get("use_gemma_norm", False)
        norm = layers.gemma_norm if gemma else layers.norm
        for index in range(count):
            prefix = f"layers.{index}"
            self.add(norm(f"{prefix}.input_layernorm", hidden))
            self._attention(layers, f"{prefix}.self_attn", hidden)
            self.add(norm(f"{prefix}.post_attention_layernorm", hidden))
            self._mlp(layers, f"{prefix}.mlp", hidden)
            self._convolutions(prefix, hidden)
        self.features = len(self.target_layer_ids(count))
        self.add(norm("norm", hidden))
        self.add(layers.plain("fc", self.features * hidden, hidden))
        self.add(norm("hidden_norm", hidden))
        self._domino(hidden)

    def _attention(self, layers: Layers, prefix: str, hidden: int) -> None:
        config = self.config
        heads = whole(config.need("num_attention_heads"), "`num_attention_heads`")
        kv_heads = whole(config.get("num_key_value_heads", heads), "`num_key_value_heads`")
        head = whole(config.get("head_dim", hidden // heads), "`head_dim`")
        bias = bool(config.get("attention_bias", False))
        gemma = self.release.since("0.5.23") and config.get("use_gemma_norm", False)
        norm = layers.gemma_norm if gemma else layers.norm
        self.add(layers.qkv(f"{prefix}.qkv_proj", hidden, head, heads, kv_heads, bias))
        self.add(layers.row(f"{prefix}.o_proj", heads * head, hidden, bias))
        self.add(norm(f"{prefix}.q_norm", head))
        self.add(norm(f"{prefix}.k_norm", head))
        if self.release.since("0.5.20") and self.setting("attention_sink_bias") is True:
            self.add([Parameter(f"{prefix}.attention_sink_bias", (heads,))])
        if self.release.since("0.5.22"):
            self.add(layers.attention_scales(f"{prefix}.attn"))

    def _mlp(self, layers: Layers, prefix: str, hidden: int) -> None:
        size = whole(self.config.get("intermediate_size", 0), "`intermediate_size`")
        if size <= 0:
            raise Refusal("ValueError", f"Invalid intermediate_size={size} for DFlash MLP.")
        self.add(layers.gate_up(f"{prefix}.gate_up_proj", hidden, size))
        self.add(layers.row(f"{prefix}.down_proj", size, hidden))
        activation = self.config.get("hidden_act", "silu")
        late = self.release.since("0.5.23")
        if activation not in (("silu", "swigluoai") if late else ("silu",)):
            text = (
                "Supported activations are silu and swigluoai."
                if late
                else ("Only silu is supported for now.")
            )
            raise Refusal("ValueError", f"Unsupported DFlash activation: {activation}. {text}")

    def _convolutions(self, prefix: str, hidden: int) -> None:
        taps = self.setting("conv_kernel_size") or 0
        group = self.setting("conv_group_size") or 0
        if not taps or not group or not self.release.since("0.5.19"):
            return
        if hidden % group:
            text = f"DFLASH conv_group_size={group} must divide hidden_size={hidden}."
            raise Refusal("ValueError", text)
        for name in ("attention_conv", "mlp_conv"):
            projection = (2 * taps * (hidden // group), hidden)
            self.add([Parameter(f"{prefix}.{name}.base_kernel", (2, taps, hidden), "constant")])
            name = f"{prefix}.{name}.kernel_projection.weight"
            self.add([Parameter(name, projection, "random")])

    def _domino(self, hidden: int) -> None:
        self.domino = self.setting("projector_type", top_level=True) == "domino"
        if not self.domino or not self.release.since("0.5.20"):
            return
        gru = whole(self.setting("gru_hidden_dim", top_level=True), "`gru_hidden_dim`")
        width = whole(self.setting("emb_dim", top_level=True), "`emb_dim`")
        rows = whole(self.config.need("vocab_size"), "`vocab_size`")
        for name, shape in (
            ("prefix_gru.weight_ih_l0", (3 * gru, hidden)),
            ("prefix_gru.weight_hh_l0", (3 * gru, gru)),
            ("embed_proj.0.weight", (width, hidden + gru)),
            ("embed_proj.2.weight", (rows, width)),
        ):
            self.add([Parameter(name, shape, "random")])

    def setting(self, name: str, *, top_level: bool = False) -> Any:
        """Return a value of `dflash_config`, or of the config itself where that is read too."""
        nested = self.config.get("dflash_config") or {}
        return nested.get(name, self.config.get(name) if top_level else None)

    def target_layer_ids(self, draft_layers: int) -> list[int]:
        """Restate `resolve_target_layer_ids`; without ids there is one for each draft layer."""
        count = self.setting("num_target_layers", top_level=True)
        ids = self.setting("target_layer_ids", top_level=True)
        if ids is not None and not isinstance(ids, list):
            text = "DFLASH dflash_config.target_layer_ids must be a list of ints, got type="
            raise Refusal("ValueError", f"{text}{type(ids).__name__}.")
        if ids is not None and not ids:
            text = "DFLASH dflash_config.target_layer_ids must be non-empty. Got "
            raise Refusal("ValueError", f"{text}len(target_layer_ids)=0.")
        if count is None:
            count = draft_layers
            if ids is not None and self.release.since("0.5.18"):
                count = max(int(each) for each in ids) + 1
        if ids is None:
            if draft_layers > 1 and count < 4:
                text = "DFlash layer selection requires num_target_layers >= 4. "
                raise Refusal("ValueError", f"{text}Got num_target_layers={count}.")
            return list(range(draft_layers))
        for index, each in enumerate(ids):
            if not 0 <= int(each) < count:
                text = (
                    "DFLASH target_layer_ids contains an out-of-range layer id. "
                    f"target_layer_ids[{index}]={each}, target_num_layers={count}."
                )
                raise Refusal("ValueError", text)
        return [int(each) for each in ids]

    @property
    def reads_head(self) -> bool:
        """A DFlash draft has neither head nor embedding of its own."""
        return False

    def resolve(self, name: str) -> str | None:
        """Restate `resolve_param_name`."""
        if name in self.parameters:
            return name
        if name.startswith("model.") and name[len("model.") :] in self.parameters:
            return name[len("model.") :]
        if self.release.since("0.5.18"):
            return _ALIASES.get(name)
        return None

    def load(self, tensor: Tensor) -> None:
        """Restate the loop of `load_weights`."""
        name = tensor.name
        foreign = name.removeprefix("model.").startswith(_DOMINO) and not self.domino
        if foreign and self.release.since("0.5.20"):
            kind = self.setting("projector_type", top_level=True)
            text = "DFLASH checkpoint contains Domino projector weights but projector_type="
            raise Refusal("ValueError", f"{text}{kind!r}.")
        for parameter, weight, shard in STACKED:
            if f".{weight}." not in name:
                continue
            place = self.resolve(name.replace(weight, parameter))
            if place is not None:
                self.copy(place, tensor.shape, shard)
                return
        place = self.resolve(name)
        if place is None:
            return
        expected = self.parameters[place].shape
        if place.endswith("fc.weight") and tensor.shape != expected:
            text = (
                "DFLASH fc.weight shape mismatch. This usually means the draft checkpoint's "
                "number of context features (K) does not match this config. Expected "
                f"fc.weight.shape={expected} (num_context_features={self.features}, "
                f"hidden_size={self.config.get('hidden_size')}), but got {tensor.shape} "
                f"for weight '{name}'."
            )
            raise Refusal("ValueError", text)
        self.copy(place, tensor.shape)
