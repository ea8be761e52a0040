"""The layers that draft classes are made of, as the parameters they create.

Each function returns the parameters in the order in which the constructor registers them.
Restates `layers/linear.py`, `layers/layernorm.py`, `layers/vocab_parallel_embedding.py`,
`layers/moe/fused_moe_triton/layer.py` and `layers/radix_attention.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from specpreflight.engines.sglang.loaders.draft_model import Refusal, Release
from specpreflight.engines.sglang.loaders.parameters import (
    Column,
    Exact,
    Experts,
    ExpertScales,
    Fused,
    Parameter,
    Row,
    Scales,
    Vocabulary,
)
from specpreflight.engines.sglang.loaders.quantization import Quantization

#: Rows of an embedding are padded to a multiple of this (`DEFAULT_VOCAB_PADDING_SIZE`).
VOCABULARY_PADDING = 64
_NOT_A_BLOCK = "{} is not divisible by weight quantization {} = {}."
#: What a scale holds before loading: the smallest float32.
_UNSET = "constant"


def whole(value: object, what: str) -> int:
    """Return a size as the constructor gets it, or refuse as Python would."""
    if type(value) is not int:
        raise Refusal("TypeError", f"{what} is {value!r}, arithmetic needs an integer")
    return value


@dataclass(frozen=True, slots=True)
class Layers:
    """Makes layers for one release and one quantisation; `ranks` share each of them."""

    release: Release
    quantization: Quantization
    ranks: int = 1

    def vocabulary(self, name: str, rows: object, columns: int) -> Iterator[Parameter]:
        """`VocabParallelEmbedding` and `ParallelLMHead`."""
        count = whole(rows, "a number of rows")
        padded = -(-count // VOCABULARY_PADDING) * VOCABULARY_PADDING
        if not self.release.since("0.5.22"):
            self._divide(padded)
        yield Vocabulary(f"{name}.weight", (padded, columns), rows=count)

    def norm(self, name: str, size: int) -> Iterator[Parameter]:
        """`RMSNorm`: ones, the default loader."""
        yield Parameter(f"{name}.weight", (size,), "ones")

    def gemma_norm(self, name: str, size: int) -> Iterator[Parameter]:
        """`GemmaRMSNorm`: zeros; its own loader from 0.5.10."""
        if self.release.since("0.5.10"):
            yield Exact(f"{name}.weight", (size,), "zeros")
        else:
            yield Parameter(f"{name}.weight", (size,), "zeros")

    def plain(self, name: str, columns: int, rows: int, bias: bool = False) -> Iterator[Parameter]:
        """`torch.nn.Linear`: torch's random start, the default loader."""
        yield Parameter(f"{name}.weight", (rows, columns), "random")
        if bias:
            yield Parameter(f"{name}.bias", (rows,), "random")

    def qkv(
        self, name: str, columns: int, head: int, heads: int, kv_heads: int, bias: bool = False
    ) -> Iterator[Parameter]:
        """`QKVParallelLinear`; never pads. Fewer key heads than ranks are repeated."""
        more, fewer = max(kv_heads, self.ranks), min(kv_heads, self.ranks)
        if fewer == 0:
            raise Refusal("ZeroDivisionError", "integer modulo by zero")
        if heads % self.ranks or more % fewer:
            count = f"{heads} heads" if heads % self.ranks else f"{kv_heads} key-value heads"
            raise Refusal("AssertionError", "", f"{self.ranks} ranks cannot share {count}.")
        shared = max(kv_heads // self.ranks, 1) * head
        self._require_blocks(heads // self.ranks * head, shared)
        sizes: dict[Hashable, int] = {"q": heads * head, "k": kv_heads * head, "v": kv_heads * head}
        yield from self._fused(name, columns, sizes, bias, pads=False)

    def gate_up(
        self, name: str, columns: int, size: int, bias: bool = False
    ) -> Iterator[Parameter]:
        """`MergedColumnParallelLinear` of two equal parts; pads from 0.5.3."""
        self._require_blocks(self._divide(size))
        yield from self._fused(name, columns, {0: size, 1: size}, bias, self.release.since("0.5.3"))

    def row(self, name: str, columns: int, rows: int, bias: bool = False) -> Iterator[Parameter]:
        """`RowParallelLinear`; pads from 0.5.3."""
        share, block = self._divide(columns), self.quantization.block
        if self.ranks > 1 and block is not None and share % block[1]:
            what = f"Weight input_size_per_partition = {share}"
            raise Refusal("ValueError", _NOT_A_BLOCK.format(what, "block_k", block[1]))
        pads, text = self.release.since("0.5.3"), self.release.since("0.5.9")
        for parameter in self._linear(name, columns, {None: rows}):
            if parameter is None:
                yield Row(f"{name}.weight", (rows, columns), pads=pads, says_shapes=text)
            else:
                yield parameter
        if bias:
            start = "zeros" if self.release.since("0.5.9") else "uninitialised"
            yield Exact(f"{name}.bias", (rows,), start)

    def column(self, name: str, columns: int, rows: int, bias: bool = False) -> Iterator[Parameter]:
        """`ColumnParallelLinear`; cuts, never pads."""
        share = self._divide(rows)
        if self.ranks > 1:
            self._require_blocks(share)
        text = "param_data.shape={param} != loaded_weight.shape={loaded}"
        for parameter in self._linear(name, columns, {None: rows}):
            said = text if self.release.since("0.5.12") else ""
            yield parameter or Column(f"{name}.weight", (rows, columns), text=said)
        if bias:
            yield Column(f"{name}.bias", (rows,), "zeros")

    def replicated(self, name: str, columns: int, rows: int) -> Iterator[Parameter]:
        """`ReplicatedLinear`: equal shapes only."""
        text = "param.shape={param} loaded_weight.shape={loaded}"
        for parameter in self._linear(name, columns, {None: rows}):
            said = text if self.release.since("0.5.12") else ""
            yield parameter or Exact(f"{name}.weight", (rows, columns), text=said)

    def experts(self, name: str, count: int, columns: int, size: int) -> Iterator[Parameter]:
        """`FusedMoE`: `w13_weight` (gate and up) and `w2_weight`."""
        if size % self.ranks:
            why = f"{self.ranks} ranks cannot share experts of {size} rows."
            raise Refusal("AssertionError", "", why)
        self._require_expert_blocks(size // self.ranks)
        cuts, fills = not self.release.since("0.5.17"), self.release.since("0.5.23")
        if self.quantization.method in ("awq", "gptq"):
            yield from self._packed_experts(name, count, columns, size)
            return
        for part, shape in (("w13", (count, 2 * size, columns)), ("w2", (count, columns, size))):
            yield Experts(f"{name}.{part}_weight", shape, cuts=cuts, fills=fills)
        block = self.quantization.block
        if self.quantization.method != "fp8" or not self.quantization.serialized:
            return
        for part, rows, width in (("w13", 2 * size, columns), ("w2", columns, size)):
            if block is not None:
                scale = (count, -(-rows // block[0]), -(-width // block[1]))
                yield Experts(f"{name}.{part}_weight_scale_inv", scale, "ones", cuts, fills)
            else:
                scales = (count, 2) if part == "w13" else (count,)
                yield ExpertScales(f"{name}.{part}_weight_scale", scales, "ones")
        if self.quantization.static:
            yield ExpertScales(f"{name}.w13_input_scale", (count,), "ones")
            yield ExpertScales(f"{name}.w2_input_scale", (count,), "ones")

    def _divide(self, size: int) -> int:
        """Restate `distributed/utils.py:divide`."""
        if size % self.ranks:
            raise Refusal("AssertionError", f"{size} is not divisible by {self.ranks}")
        return size // self.ranks

    def _require_blocks(self, *shares: int) -> None:
        """Restate the check of `fp8.py:Fp8LinearMethod.create_weights` for merged weights."""
        block = self.quantization.block
        for share in shares if block is not None else ():
            if block is not None and share % block[0]:
                what = f"Weight output_partition_size = {share}"
                raise Refusal("ValueError", _NOT_A_BLOCK.format(what, "block_n", block[0]))

    def _require_expert_blocks(self, share: int) -> None:
        """Restate the check of `fp8.py:Fp8MoEMethod.create_weights`."""
        block = self.quantization.block
        if block is None:
            return
        if share % block[0]:
            what = f"The output_size of gate's and up's weight = {share}"
            raise Refusal("ValueError", _NOT_A_BLOCK.format(what, "block_n", block[0]))
        if self.ranks > 1 and share % block[1]:
            what = f"The input_size of down's weight = {share}"
            raise Refusal("ValueError", _NOT_A_BLOCK.format(what, "block_k", block[1]))

    def _packed_experts(
        self, name: str, count: int, columns: int, size: int
    ) -> Iterator[Parameter]:
        """`AWQMoEMethod` and `GPTQMarlinMoEMethod` (g_idx in the latter)."""
        pack, group = 32 // self.quantization.bits, self.quantization.group
        sizes = (("w13", columns, 2 * size), ("w2", size, columns))
        for part, inputs, outputs in sizes:
            shape = (count, inputs // pack, outputs)
            if self.quantization.method == "awq":
                shape = (count, inputs, outputs // pack)
            yield Exact(f"{name}.{part}_qweight", shape)
        for part, inputs, outputs in sizes:
            yield Exact(f"{name}.{part}_scales", (count, inputs // group, outputs))
        for part, inputs, outputs in sizes:
            yield Exact(f"{name}.{part}_qzeros", (count, inputs // group, outputs // pack))
        if self.quantization.method == "gptq":
            for suffix in ("g_idx", "g_idx_sort_indices"):
                for part, inputs, _ in sizes:
                    yield Exact(f"{name}.{part}_{suffix}", (count, inputs))

    def attention_scales(self, name: str) -> Iterator[Parameter]:
        """`RadixAttention` with an fp8 config has key and value scales from 0.5.6.post2."""
        if self.quantization.method == "fp8" and self.release.since("0.5.6.post2"):
            yield Parameter(f"{name}.k_scale", (), _UNSET)
            yield Parameter(f"{name}.v_scale", (), _UNSET)

    def _fused(
        self, name: str, columns: int, sizes: Mapping[Hashable, int], bias: bool, pads: bool
    ) -> Iterator[Parameter]:
        text = "q" in sizes and self.release.since("0.5.9")
        rows = sum(sizes.values())
        for parameter in self._linear(name, columns, sizes):
            yield parameter or Fused(
                f"{name}.weight", (rows, columns), sizes=sizes, pads=pads, says_shapes=text
            )
        if bias:
            start = "zeros" if self.release.since("0.5.9") else "uninitialised"
            yield Fused(f"{name}.bias", (rows,), start, sizes=sizes, pads=pads, says_shapes=text)

    def _linear(
        self, name: str, columns: int, sizes: Mapping[Hashable, int]
    ) -> Iterator[Parameter | None]:
        """Yield what the quantisation makes of a layer; `None` stands for the weight itself."""
        method, rows = self.quantization, sum(sizes.values())
        if method.method == "awq":
            pack, groups = 32 // method.bits, columns // method.group
            yield Exact(f"{name}.qweight", (columns, rows // pack))
            yield Exact(f"{name}.qzeros", (groups, rows // pack))
            yield Exact(f"{name}.scales", (groups, rows))
            return
        if method.method == "gptq":
            pack, groups = 32 // method.bits, columns // method.group
            yield Exact(f"{name}.qweight", (columns // pack, rows))
            yield Exact(f"{name}.g_idx", (columns,))
            yield Exact(f"{name}.scales", (groups, rows))
            yield Exact(f"{name}.qzeros", (groups, rows // pack))
            return
        yield None
        if method.method != "fp8" or not method.serialized:
            return
        if method.block is None:
            yield Scales(f"{name}.weight_scale", (len(sizes),), _UNSET, tuple(sizes))
        else:
            high, wide = method.block
            blocks = {shard: -(-size // high) for shard, size in sizes.items()}
            shape = (sum(blocks.values()), -(-columns // wide))
            if len(sizes) == 1:
                yield Column(f"{name}.weight_scale_inv", shape, _UNSET)
            else:
                yield Fused(f"{name}.weight_scale_inv", shape, _UNSET, sizes=blocks)
        if method.static:
            yield Scales(f"{name}.input_scale", (len(sizes),), _UNSET, tuple(sizes))
