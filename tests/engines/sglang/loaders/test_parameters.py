"""Copies of one shape into another: exact, cut, padded, refused."""

from __future__ import annotations

import pytest

from specpreflight.engines.sglang.loaders.parameters import (
    Clash,
    Column,
    Experts,
    Fused,
    Parameter,
    Row,
    Shape,
    Vocabulary,
    broadcast_copy,
    map_shape,
    narrow,
)

QKV = Fused("qkv_proj.weight", (128, 32), sizes={"q": 64, "k": 32, "v": 32})
GATE_UP = Fused("gate_up_proj.weight", (128, 32), sizes={0: 64, 1: 64}, pads=True)


def outcome(parameter: Parameter, shape: Shape, shard=None) -> tuple[int, int] | str:
    """Return elements used and zeros written, or the exception's name."""
    try:
        copied = parameter.load(shape, shard)
    except Clash as clash:
        return clash.exception
    return copied.used, copied.zeros


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ((32, 32), (1024, 0)),
        ((33, 32), (1024, 0)),
        ((31, 32), "RuntimeError"),
        ((32, 33), "AssertionError"),
        ((32,), "AssertionError"),
        ((), "RuntimeError"),
    ],
)
def test_a_key_projection_is_cut_and_never_padded(shape: Shape, found: object) -> None:
    assert outcome(QKV, shape, "k") == found


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ((64, 32), (2048, 0)),
        ((65, 32), (2048, 0)),
        ((63, 32), (2016, 32)),
        ((63, 31), "AssertionError"),
        ((), "IndexError"),
    ],
)
def test_a_gate_is_cut_or_padded(shape: Shape, found: object) -> None:
    assert outcome(GATE_UP, shape, 0) == found


def test_a_whole_fused_tensor_reaches_every_part() -> None:
    copied = QKV.load((128, 32))
    assert copied.parts == QKV.parts == {"q", "k", "v"}
    with pytest.raises(Clash) as short:
        QKV.load((127, 32))
    assert short.value.before is not None
    assert short.value.before.parts == {"q", "k"}


@pytest.mark.parametrize(
    ("pads", "shape", "found"),
    [
        (True, (32, 64), (2048, 0)),
        (True, (32, 65), (2048, 0)),
        (True, (32, 63), (2016, 32)),
        (False, (32, 63), "RuntimeError"),
        (True, (31, 64), "AssertionError"),
        (True, (64,), "IndexError"),
    ],
)
def test_an_output_projection_is_narrowed_along_its_input(
    pads: bool, shape: Shape, found: object
) -> None:
    assert outcome(Row("o_proj.weight", (32, 64), pads=pads), shape) == found


@pytest.mark.parametrize(
    ("shape", "found"),
    [((64, 32), (2048, 0)), ((65, 32), (2048, 0)), ((63, 32), "RuntimeError")],
)
def test_a_column_is_cut_along_its_output(shape: Shape, found: object) -> None:
    assert outcome(Column("kv_b_proj.weight", (64, 32)), shape) == found


@pytest.mark.parametrize("rows", [99, 101, 128])
def test_a_vocabulary_must_have_its_rows_not_the_padded_ones(rows: int) -> None:
    head = Vocabulary("lm_head.weight", (128, 32), rows=100)
    assert outcome(head, (rows, 32)) == "AssertionError"
    assert outcome(head, (100, 32)) != "AssertionError"


@pytest.mark.parametrize(
    ("cuts", "fills", "rows", "found"),
    [
        (True, False, 17, (256, 0)),
        (True, False, 15, "RuntimeError"),
        (False, False, 17, "RuntimeError"),
        (False, False, 15, (240, 0)),
        (False, True, 15, (240, 16)),
    ],
)
def test_an_experts_weight_by_release(cuts: bool, fills: bool, rows: int, found: object) -> None:
    experts = Experts("experts.w13_weight", (4, 32, 16), cuts=cuts, fills=fills)
    assert outcome(experts, (rows, 16), (0, "w1")) == found


def test_a_short_expert_leaves_a_part_as_it_was() -> None:
    experts = Experts("experts.w2_weight", (4, 16, 32), cuts=False)
    assert experts.load((16, 31), (0, "w2")).parts == {(0, "w2", 0)}
    assert experts.load((16, 32), (0, "w2")).parts == {(0, "w2", 0), (0, "w2", 1)}


def test_one_element_fits_one_element() -> None:
    assert outcome(Parameter("scale", ()), (1, 1)) == (1, 0)
    assert outcome(Parameter("scale", ()), (2,)) == "AssertionError"


def test_narrow_words_its_errors_as_torch_does() -> None:
    with pytest.raises(Clash, match=r"start \(8\) \+ length \(4\) exceeds dimension size \(11\)\."):
        narrow((11,), 0, 8, 4)
    with pytest.raises(Clash, match=r"range of \[-1, 0\], but got 1"):
        narrow((11,), 1, 0, 4)


@pytest.mark.parametrize("source", [(), (1,), (3,), (2, 3), (1, 3), (2, 1)])
def test_shapes_that_broadcast(source: Shape) -> None:
    broadcast_copy(source, (2, 3))


@pytest.mark.parametrize("source", [(2,), (3, 3), (1, 2, 3)])
def test_shapes_that_do_not_broadcast(source: Shape) -> None:
    with pytest.raises(Clash):
        broadcast_copy(source, (2, 3))


@pytest.mark.parametrize(
    ("shape", "found"), [((8,), (8,)), ((8, 1), (8, 8)), ((8, 8), (8, 8)), ((1, 5), (1, 5))]
)
def test_the_map_that_d2t_leaves(shape: Shape, found: Shape) -> None:
    assert map_shape(shape) == found
