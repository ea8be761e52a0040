"""Write small draft checkpoints with the real safetensors library, and a broken twin for each rule.

    python tools/make_checkpoints.py DIRECTORY

Names and config keys are those of the published drafts (SafeAILab EAGLE, SpecForge, AngelSlim,
speculators, Kimi MLA, Qwen3-Next MTP, DFlash), sizes are tiny. `DIRECTORY/<format>` holds a sound
checkpoint, `DIRECTORY/broken/<rule>` one on which that rule has something to say, each with its
target beside it.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import TensorSpec, serialize_file

HIDDEN, MLP, VOCABULARY, REDUCED, HEAD = 128, 320, 256, 192, 64
#: Bytes of an element, by the names that safetensors' serializer takes.
WIDTH = {"bfloat16": 2, "float16": 2, "float32": 4, "int64": 8, "bool": 1, "float8_e4m3fn": 1}

Config = dict[str, Any]
Shapes = dict[str, tuple[int, ...]]


@dataclass
class Draft:
    """A checkpoint to be written; everything may be changed before that.

    `data` holds the bytes of tensors whose content matters; the others are zeros. `files` are
    further files by name; `shards` puts tensors into files other than `model.safetensors`.
    """

    config: Config
    shapes: Shapes
    dtypes: dict[str, str] = field(default_factory=dict)
    data: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, str | bytes] = field(default_factory=dict)
    shards: dict[str, str] = field(default_factory=dict)
    index: dict[str, Any] | None = None

    def rename(self, change: Callable[[str], str]) -> None:
        """Give every tensor another name."""
        self.shapes = {change(name): shape for name, shape in self.shapes.items()}
        self.dtypes = {change(name): dtype for name, dtype in self.dtypes.items()}
        self.data = {change(name): data for name, data in self.data.items()}

    def write(self, directory: Path) -> Path:
        """Write the checkpoint and return its directory."""
        directory.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.config, indent=2) + "\n"
        (directory / "config.json").write_text(text, encoding="utf-8")
        groups: dict[str, dict[str, TensorSpec]] = {}
        buffers = []
        for name, shape in self.shapes.items():
            dtype = self.dtypes.get(name, "bfloat16")
            size = WIDTH[dtype]
            for length in shape:
                size *= length
            buffer = ctypes.create_string_buffer(self.data.get(name, bytes(size)), size)
            buffers.append(buffer)
            spec = TensorSpec(
                dtype=dtype,
                shape=list(shape),
                data_ptr=ctypes.addressof(buffer),
                data_len=size,
            )
            groups.setdefault(self.shards.get(name, "model.safetensors"), {})[name] = spec
        for file, tensors in groups.items():
            serialize_file(tensors, str(directory / file), {"format": "pt"})
        if self.index is not None:
            path = directory / "model.safetensors.index.json"
            path.write_text(json.dumps(self.index), encoding="utf-8")
        for name, content in self.files.items():
            data = content.encode() if isinstance(content, str) else content
            (directory / name).write_bytes(data)
        return directory


LLAMA: Mapping[str, Any] = {
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": MLP,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": HEAD,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def llama_target() -> Draft:
    """A target of eight layers; of its weights only what drafts are compared with."""
    config = {**LLAMA, "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 8}
    shapes = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN)}
    return Draft(config, {**shapes, "lm_head.weight": (VOCABULARY, HIDDEN)})


def _decoder(prefix: str, width: int) -> Shapes:
    return {
        f"{prefix}.self_attn.q_proj.weight": (2 * HEAD, width),
        f"{prefix}.self_attn.k_proj.weight": (HEAD, width),
        f"{prefix}.self_attn.v_proj.weight": (HEAD, width),
        f"{prefix}.self_attn.o_proj.weight": (HIDDEN, 2 * HEAD),
        f"{prefix}.mlp.gate_proj.weight": (MLP, HIDDEN),
        f"{prefix}.mlp.up_proj.weight": (MLP, HIDDEN),
        f"{prefix}.mlp.down_proj.weight": (HIDDEN, MLP),
        f"{prefix}.post_attention_layernorm.weight": (HIDDEN,),
    }


def eagle_llama() -> Draft:
    """EAGLE-1/2 as SafeAILab writes it: no input norm, no head."""
    config = {**LLAMA, "architectures": ["LlamaForCausalLMEagle"], "num_hidden_layers": 1}
    shapes: Shapes = {
        "embed_tokens.weight": (VOCABULARY, HIDDEN),
        "fc.weight": (HIDDEN, 2 * HIDDEN),
        "fc.bias": (HIDDEN,),
        **_decoder("layers.0", HIDDEN),
    }
    return Draft(config, shapes)


def eagle3_specforge() -> Draft:
    """EAGLE-3 as SpecForge exports it: `midlayer`, a reduced head, both maps."""
    config = {
        **LLAMA,
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "draft_vocab_size": REDUCED,
    }
    shapes: Shapes = {
        "fc.weight": (HIDDEN, 3 * HIDDEN),
        **_decoder("midlayer", 2 * HIDDEN),
        "midlayer.input_layernorm.weight": (HIDDEN,),
        "midlayer.hidden_norm.weight": (HIDDEN,),
        "norm.weight": (HIDDEN,),
        "lm_head.weight": (REDUCED, HIDDEN),
        "d2t": (REDUCED,),
        "t2d": (VOCABULARY,),
    }
    return Draft(config, shapes, {"d2t": "int64", "t2d": "bool"})


def eagle3_angelslim() -> Draft:
    """EAGLE-3 as AngelSlim exports it: the official names, `eagle_config` with layer ids."""
    draft = eagle3_specforge()
    ids = {"eagle_aux_hidden_state_layer_ids": [1, 3, 4], "use_aux_hidden_state": True}
    draft.config["eagle_config"] = ids
    return draft


def eagle3_speculators() -> Draft:
    """EAGLE-3 as speculators saves it: `layers.0`, an embedding of its own, its own config."""
    draft = eagle3_specforge()
    draft.rename(lambda name: name.replace("midlayer.", "layers.0."))
    draft.shapes["embed_tokens.weight"] = (VOCABULARY, HIDDEN)
    layer = {key: value for key, value in draft.config.items() if key != "architectures"}
    draft.config = {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "speculators_version": "0.2.0",
        "draft_vocab_size": REDUCED,
        "norm_before_residual": False,
        "transformer_layer_config": layer,
        "speculators_config": {"algorithm": "eagle3", "verifier": {"name_or_path": "target"}},
    }
    return draft


def eagle3_mla() -> Draft:
    """EAGLE-3 with multi-head latent attention, as Model-Optimizer exports it for Kimi-K2."""
    config = {
        **LLAMA,
        "architectures": ["Eagle3DeepseekV2ForCausalLM"],
        "model_type": "kimi_k2",
        "num_hidden_layers": 1,
        "draft_vocab_size": VOCABULARY,
        "q_lora_rank": 96,
        "kv_lora_rank": 64,
        "qk_nope_head_dim": 64,
        "qk_rope_head_dim": 64,
        "v_head_dim": 64,
        "n_routed_experts": 4,
    }
    del config["head_dim"]
    prefix = "layers.0"
    shapes: Shapes = {
        "fc.weight": (HIDDEN, 3 * HIDDEN),
        f"{prefix}.self_attn.q_a_proj.weight": (96, 2 * HIDDEN),
        f"{prefix}.self_attn.q_a_layernorm.weight": (96,),
        f"{prefix}.self_attn.q_b_proj.weight": (2 * 128, 96),
        f"{prefix}.self_attn.kv_a_proj_with_mqa.weight": (128, 2 * HIDDEN),
        f"{prefix}.self_attn.kv_a_layernorm.weight": (64,),
        f"{prefix}.self_attn.kv_b_proj.weight": (2 * 128, 64),
        f"{prefix}.self_attn.o_proj.weight": (HIDDEN, 128),
        f"{prefix}.mlp.gate_proj.weight": (MLP, HIDDEN),
        f"{prefix}.mlp.up_proj.weight": (MLP, HIDDEN),
        f"{prefix}.mlp.down_proj.weight": (HIDDEN, MLP),
        f"{prefix}.input_layernorm.weight": (HIDDEN,),
        f"{prefix}.hidden_norm.weight": (HIDDEN,),
        f"{prefix}.post_attention_layernorm.weight": (HIDDEN,),
        "norm.weight": (HIDDEN,),
        "lm_head.weight": (VOCABULARY, HIDDEN),
    }
    return Draft(config, shapes)


def qwen3_next_mtp() -> Draft:
    """A Qwen3-Next checkpoint with its MTP layer, as far as a draft reads it."""
    config = {
        **LLAMA,
        "architectures": ["Qwen3NextForCausalLM"],
        "model_type": "qwen3_next",
        "num_hidden_layers": 4,
        "num_nextn_predict_layers": 1,
        "num_experts": 2,
        "num_experts_per_tok": 1,
        "moe_intermediate_size": 64,
        "shared_expert_intermediate_size": 96,
    }
    layer = "mtp.layers.0"
    shapes: Shapes = {
        "model.embed_tokens.weight": (VOCABULARY, HIDDEN),
        "lm_head.weight": (VOCABULARY, HIDDEN),
        "mtp.fc.weight": (HIDDEN, 2 * HIDDEN),
        "mtp.norm.weight": (HIDDEN,),
        "mtp.pre_fc_norm_embedding.weight": (HIDDEN,),
        "mtp.pre_fc_norm_hidden.weight": (HIDDEN,),
        f"{layer}.input_layernorm.weight": (HIDDEN,),
        f"{layer}.post_attention_layernorm.weight": (HIDDEN,),
        f"{layer}.self_attn.q_proj.weight": (4 * HEAD, HIDDEN),
        f"{layer}.self_attn.k_proj.weight": (HEAD, HIDDEN),
        f"{layer}.self_attn.v_proj.weight": (HEAD, HIDDEN),
        f"{layer}.self_attn.o_proj.weight": (HIDDEN, 2 * HEAD),
        f"{layer}.self_attn.q_norm.weight": (HEAD,),
        f"{layer}.self_attn.k_norm.weight": (HEAD,),
        f"{layer}.mlp.gate.weight": (2, HIDDEN),
        f"{layer}.mlp.shared_expert_gate.weight": (1, HIDDEN),
    }
    for part, shape in (("gate", (64, HIDDEN)), ("up", (64, HIDDEN)), ("down", (HIDDEN, 64))):
        for expert in range(2):
            shapes[f"{layer}.mlp.experts.{expert}.{part}_proj.weight"] = shape
    for part, shape in (("gate", (96, HIDDEN)), ("up", (96, HIDDEN)), ("down", (HIDDEN, 96))):
        shapes[f"{layer}.mlp.shared_expert.{part}_proj.weight"] = shape
    return Draft(config, shapes)


def dflash() -> Draft:
    """A DFlash draft of two layers in z-lab's format."""
    config = {
        **LLAMA,
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "num_hidden_layers": 2,
        "block_size": 8,
        "num_target_layers": 8,
        "dflash_config": {"target_layer_ids": [1, 3, 5], "mask_token_id": 3},
    }
    shapes: Shapes = {
        "fc.weight": (HIDDEN, 3 * HIDDEN),
        "hidden_norm.weight": (HIDDEN,),
        "norm.weight": (HIDDEN,),
    }
    for layer in range(2):
        shapes.update(_decoder(f"layers.{layer}", HIDDEN))
        shapes[f"layers.{layer}.input_layernorm.weight"] = (HIDDEN,)
        shapes[f"layers.{layer}.self_attn.q_norm.weight"] = (HEAD,)
        shapes[f"layers.{layer}.self_attn.k_norm.weight"] = (HEAD,)
    return Draft(config, shapes)


#: Sound checkpoints: how each is made and the algorithm that takes it.
FORMATS: Mapping[str, tuple[Callable[[], Draft], str]] = {
    "eagle-llama": (eagle_llama, "EAGLE"),
    "eagle3-specforge": (eagle3_specforge, "EAGLE3"),
    "eagle3-angelslim": (eagle3_angelslim, "EAGLE3"),
    "eagle3-speculators": (eagle3_speculators, "EAGLE3"),
    "eagle3-mla": (eagle3_mla, "EAGLE3"),
    "qwen3-next-mtp": (qwen3_next_mtp, "NEXTN"),
    "dflash": (dflash, "DFLASH"),
}


def write_all(directory: Path) -> None:
    """Write every sound checkpoint and every broken twin."""
    from broken_checkpoints import write_twins

    for name, (make, _) in FORMATS.items():
        make().write(directory / name)
    llama_target().write(directory / "target")
    write_twins(directory / "broken")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write_all(Path(sys.argv[1]))
