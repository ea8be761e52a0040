"""The quantisation a draft is built with."""

from __future__ import annotations

import pytest

from specpreflight.engines.sglang.loaders.quantization import UnknownMethod, read_quantization


@pytest.mark.parametrize(
    ("stated", "flag", "method", "serialized"),
    [
        (None, None, None, True),
        (None, "unquant", None, True),
        (None, "fp8", "fp8", False),
        ({"quant_method": "fp8"}, None, "fp8", True),
        ({"quant_method": "FP8"}, None, "fp8", True),
        ({"quant_method": "awq"}, "fp8", "awq", True),
        ({"quant_method": "gptq_marlin"}, None, "gptq", True),
        ({"quant_method": None}, None, None, True),
        ("fp8", None, None, True),
    ],
)
def test_the_config_goes_before_the_flag(
    stated: object, flag: str | None, method: str | None, serialized: bool
) -> None:
    found = read_quantization(stated, flag)
    assert found.method == method
    assert method is None or found.serialized == serialized


def test_a_name_that_no_release_knows() -> None:
    with pytest.raises(UnknownMethod, match="foo"):
        read_quantization({"quant_method": "foo"}, None)


@pytest.mark.parametrize(
    ("size", "block"), [([128, 128], (128, 128)), ([128], None), (None, None), (128, None)]
)
def test_a_block_has_two_sides(size: object, block: object) -> None:
    found = read_quantization({"quant_method": "fp8", "weight_block_size": size}, None)
    assert found.block == block


def test_sizes_that_are_no_numbers_are_the_default() -> None:
    found = read_quantization({"quant_method": "awq", "group_size": "64", "bits": True}, None)
    assert (found.group, found.bits) == (128, 4)
    assert not read_quantization({"quant_method": "quark"}, None).restated
