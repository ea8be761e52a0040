"""The quantisation that a draft class is built with, and the parameters that it makes of a layer.

Restated at tensor-parallel size 1: `layers/quantization/fp8.py`
(`Fp8LinearMethod.create_weights`), `awq.py`, `gptq.py`, `kv_cache.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from specpreflight.engines.sglang.loaders.parameters import Clash, Column, Parameter
from specpreflight.models.weights import Tensor

if TYPE_CHECKING:
    from specpreflight.engines.sglang.loaders.draft_model import Release

#: Rank of float dtypes for `layers/parameter.py:copy_with_check` (0.5.8 on).
_RANK = {"F8_E5M2": 1, "F8_E4M3": 1, "F8_E8M0": 1, "BF16": 2, "F16": 2, "F32": 3}


@dataclass(frozen=True, slots=True)
class Quantization:
    """How linear layers are quantised.

    `method` is `None`, `fp8`, `awq`, `gptq`, or another name whose parameters are not restated.
    `serialized` tells a checkpoint that holds fp8 from one that is quantised after loading.
    `block` is `(rows, columns)` of a scale block; `static` an activation scale per layer.
    """

    method: str | None = None
    serialized: bool = True
    block: tuple[int, int] | None = None
    static: bool = False
    group: int = 128
    bits: int = 4
    ignored: tuple[str, ...] = ()

    @property
    def restated(self) -> bool:
        """Whether the parameters of the method are known here."""
        return self.method in (None, "fp8", "awq", "gptq")

    def check_dtype(
        self, parameter: Parameter, sources: tuple[Tensor, ...], release: Release
    ) -> None:
        """Raise where a wider dtype is copied into an fp8 column-parallel weight (0.5.8 on)."""
        if self.method != "fp8" or not self.serialized or not isinstance(parameter, Column):
            return
        wide = [t for t in sources if _RANK.get(t.dtype, 0) > 1]
        if wide and parameter.name.endswith(".weight") and release.since("0.5.8"):
            dtype = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}[wide[0].dtype]
            text = (
                "Downcasting not allowed: target.dtype=torch.float8_e4m3fn, "
                f"loaded_weight.dtype=torch.{dtype}"
            )
            raise Clash("ValueError", text)


class UnknownMethod(Exception):
    """The engine refuses the quantisation's name while it reads the config."""


#: Names in `layers/quantization/__init__.py:QUANTIZATION_METHODS` of any release; a name that is
#: in none of them is refused.
KNOWN_METHODS: Final = frozenset(
    [
        *("aqlm", "auto-round", "auto-round-int8", "awq", "awq_marlin", "bitsandbytes"),
        *("blockwise_int8", "compressed-tensors", "compressed_tensors", "deepspeedfp"),
        *("experts_int8", "fbgemm_fp8", "fp8", "gguf", "gptq", "gptq_marlin", "gptq_marlin_24"),
        *("humming", "marlin", "minimax_m3_nvfp4", "modelopt", "modelopt_fp4", "modelopt_fp8"),
        *("modelopt_mixed", "modelslim", "moe_wna16", "mxfp4", "mxfp8", "mxfp_w4a8"),
        *("nvfp4_online", "petit_nvfp4", "qoq", "qqq", "quark", "quark_int4fp8_moe"),
        *("quark_mxfp4", "tpu_int8", "w4afp8", "w8a8_fp8", "w8a8_int8"),
    ]
)


def read_quantization(stated: object, flag: str | None) -> Quantization:
    """Return the quantisation of a draft: its config's, else the flag's.

    Restates `configs/model_config.py:_verify_quantization` and the `from_config` of each method.
    On NVIDIA GPUs awq and gptq become their Marlin variants, whose parameters are the same.

    Raises:
        UnknownMethod: the engine does not know the name.
    """
    found: Mapping[str, Any] = stated if isinstance(stated, dict) else {}
    method = found.get("quant_method") or flag
    if not isinstance(method, str) or method in ("", "unquant"):
        return Quantization()
    method = method.lower()
    if method not in KNOWN_METHODS:
        raise UnknownMethod(method)
    method = method.removesuffix("_marlin")
    block = found.get("weight_block_size")
    ignored = found.get("ignored_layers") or found.get("modules_to_not_convert") or ()
    return Quantization(
        method,
        serialized="quant_method" in found,
        block=tuple(block) if isinstance(block, list) and len(block) == 2 else None,
        static=found.get("activation_scheme") == "static",
        group=_whole(found.get("group_size"), 128),
        bits=_whole(found.get("bits"), 4),
        ignored=tuple(str(each) for each in ignored),
    )


def _whole(value: object, default: int) -> int:
    return value if type(value) is int and value > 0 else default
