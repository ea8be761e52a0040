"""Deliberately broken checkpoints: for each rule about weights and files, one that it speaks of.

Each twin is a sound checkpoint with one thing changed; `write(directory)` puts `draft` and `target`
below `directory`. `release` is one in which the rule speaks, `flags` what the launch needs besides.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from make_checkpoints import (
    HEAD,
    HIDDEN,
    REDUCED,
    VOCABULARY,
    Draft,
    eagle3_mla,
    eagle3_specforge,
    llama_target,
    qwen3_next_mtp,
)

Change = Callable[[Draft, Draft], None]


@dataclass(frozen=True)
class Twin:
    """A broken checkpoint: what it is made of, and what is changed.

    `change` alters draft and target before they are written, `damage` the written directories.
    """

    change: Change = lambda draft, target: None
    damage: Callable[[Path, Path], None] = lambda draft, target: None
    make: Callable[[], Draft] = eagle3_specforge
    algorithm: str = "EAGLE3"
    release: str = "0.5.13"
    own: bool = False
    flags: Mapping[str, str] = field(default_factory=dict)

    def write(self, directory: Path) -> tuple[Path, Path]:
        """Write the pair and return `(draft, target)`; with `own` both are the target."""
        draft, target = self.make(), llama_target()
        self.change(draft, target)
        if self.own:
            written = draft.write(directory / "target")
            self.damage(written, written)
            return written, written
        pair = draft.write(directory / "draft"), target.write(directory / "target")
        self.damage(*pair)
        return pair


def _drop_head(draft: Draft, target: Draft) -> None:
    del draft.shapes["lm_head.weight"]


def _wrap(draft: Draft, target: Draft) -> None:
    draft.rename(lambda name: f"_orig_mod.{name}")


def _five_layers(draft: Draft, target: Draft) -> None:
    draft.config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": [1, 2, 3, 4, 5]}


def _half_heads(draft: Draft, target: Draft) -> None:
    draft.config["head_dim"] = HEAD // 2


def _second_layer(draft: Draft, target: Draft) -> None:
    draft.shapes["mtp.layers.1.input_layernorm.weight"] = (HIDDEN,)


def _without_mtp(draft: Draft, target: Draft) -> None:
    draft.shapes = {name: s for name, s in draft.shapes.items() if not name.startswith("mtp")}


def _scheme(draft: Draft, target: Draft) -> None:
    scheme = {"quant_method": "fp8", "activation_scheme": "dynamic"}
    draft.config["quantization_config"] = scheme


def _without_map(draft: Draft, target: Draft) -> None:
    del draft.shapes["d2t"]


def _foreign_map(draft: Draft, target: Draft) -> None:
    draft.data["d2t"] = struct.pack(f"<{REDUCED}q", *([VOCABULARY] * REDUCED))


def _input_norm(draft: Draft, target: Draft) -> None:
    draft.shapes["input_norm.weight"] = (3 * HIDDEN,)


def _tie(draft: Draft, target: Draft) -> None:
    draft.config["tie_word_embeddings"] = True


def _fp8(draft: Draft, target: Draft) -> None:
    for name in draft.shapes:
        if "_proj" in name:
            draft.dtypes[name] = "float8_e4m3fn"


def _half(draft: Draft, target: Draft) -> None:
    draft.config["torch_dtype"] = "float16"


def _float32(draft: Draft, target: Draft) -> None:
    for name in draft.shapes:
        if name not in ("d2t", "t2d"):
            draft.dtypes[name] = "float32"


def _template(draft: Draft, target: Draft) -> None:
    draft.config.update(max_position_embeddings=2048, rope_theta=10000.0)


def _other_vocabulary(draft: Draft, target: Draft) -> None:
    draft.config["vocab_size"] = VOCABULARY * 2


def _sharded(draft: Draft) -> None:
    """Put the norms into a second file, with an index."""
    norms = [name for name in draft.shapes if "norm" in name]
    draft.shards = dict.fromkeys(norms, "model-2.safetensors")
    places = {n: draft.shards.get(n, "model.safetensors") for n in draft.shapes}
    draft.index = {"metadata": {}, "weight_map": places}


def _shards(draft: Draft, target: Draft) -> None:
    _sharded(draft)


def _unlisted(draft: Draft, target: Draft) -> None:
    _sharded(draft)
    assert draft.index is not None
    del draft.index["weight_map"]["norm.weight"]


def _remove_shard(draft: Path, target: Path) -> None:
    (draft / "model-2.safetensors").unlink()


def _pointer(draft: Path, target: Path) -> None:
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n"
    (draft / "model.safetensors").write_text(text)


def _deeper(draft: Path, target: Path) -> None:
    inner = draft / "epoch_9"
    inner.mkdir()
    (draft / "model.safetensors").rename(inner / "model.safetensors")
    (inner / "config.json").write_bytes((draft / "config.json").read_bytes())


def _nested(draft: Path, target: Path) -> None:
    inner = draft / "epoch_9"
    inner.mkdir()
    for name in ("config.json", "model.safetensors"):
        (inner / name).write_bytes((draft / name).read_bytes())


def _full_stop(draft: Path, target: Path) -> None:
    (target / "generation_config.json").write_text('{"temperature": 0.6.}\n')


def _age(draft: Path, target: Path) -> None:
    old = (draft / "model.safetensors").stat().st_mtime - 3 * 86_400
    os.utime(draft / "config.json", (old, old))


def _dangle(draft: Path, target: Path) -> None:
    (draft / "model-2.safetensors").symlink_to(draft / "gone")


def _hide(draft: Path, target: Path) -> None:
    (draft / "generation_config.json").write_text("{}")
    (draft / "tokenizer_config.json").write_text("{}")
    for name in ("config.json", "generation_config.json", "tokenizer_config.json"):
        (draft / name).chmod(0o644)
    (draft / "model.safetensors").chmod(0o600)


def _shadow(draft: Path, target: Path) -> None:
    (draft / "Config.json").write_text("{}")


def _auto_map(draft: Draft, target: Draft) -> None:
    draft.config["auto_map"] = {"AutoConfig": "configuration_draft.DraftConfig"}


TWINS: Mapping[str, Twin] = {
    "head-without-weights": Twin(_drop_head, make=eagle3_mla),
    "parameters-without-weights": Twin(_wrap),
    "tensors-do-not-fit": Twin(_five_layers),
    "tensors-cut-or-padded": Twin(_half_heads),
    "loader-refuses": Twin(_second_layer, make=qwen3_next_mtp, algorithm="NEXTN", own=True),
    "mtp-layer-missing": Twin(_without_mtp, make=qwen3_next_mtp, algorithm="NEXTN", own=True),
    "mtp-quantization-differs": Twin(_scheme, make=qwen3_next_mtp, algorithm="NEXTN", own=True),
    "vocabulary-map-missing": Twin(_without_map),
    "vocabulary-map-broken": Twin(_foreign_map),
    "tensors-dropped": Twin(_input_norm),
    "tied-head-contradicts": Twin(_tie),
    "quantization-contradicts": Twin(_fp8),
    "quantization-inherited": Twin(flags={"quantization": "modelopt_fp4"}),
    "dtype-differs": Twin(_half),
    "dtype-misstated": Twin(_float32),
    "config-from-template": Twin(_template),
    "standalone-vocabulary-differs": Twin(
        _other_vocabulary, make=llama_target, algorithm="STANDALONE"
    ),
    "weights-absent": Twin(damage=_deeper),
    "checkpoint-nested": Twin(damage=_nested),
    "generation-config-broken": Twin(damage=_full_stop),
    "weight-shard-missing": Twin(_shards, _remove_shard),
    "weight-file-broken": Twin(damage=_pointer),
    "weight-index-wrong": Twin(_unlisted),
    "config-older-than-weights": Twin(_half_heads, _age),
    "links-broken": Twin(damage=_dangle),
    "files-unreadable": Twin(damage=_hide),
    "names-differ-in-case": Twin(damage=_shadow),
    "remote-code-missing": Twin(_auto_map, flags={"trust-remote-code": "true"}),
}


def write_twins(directory: Path) -> None:
    """Write every twin below `directory`, with a file that says what it is."""
    for rule, twin in TWINS.items():
        twin.write(directory / rule)
        facts = {"algorithm": twin.algorithm, "release": twin.release, "flags": dict(twin.flags)}
        (directory / rule / "launch.json").write_text(json.dumps(facts, indent=2) + "\n")
