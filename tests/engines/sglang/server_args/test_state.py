"""A step that computes with a field which the engine does not have."""

from copy import copy

import pytest
from sglang_arguments import HOPPER, PlainCheckpoints

from specpreflight.engines.sglang.knowledge import load
from specpreflight.engines.sglang.server_args.state import ServerArgs, Unknowable


def arguments(changed=()):
    release = copy(load("0.5.9"))
    release.changed = frozenset(changed)
    return ServerArgs(
        {},
        {},
        release=release,
        machine=HOPPER,
        environment={},
        checkpoints=PlainCheckpoints(None, None),
    )


def fill(args):
    args.set("mem_fraction_static", 1 / args.pp_size, "by the ranks")


def test_in_a_tree_what_the_step_would_fill_is_unknown():
    args = arguments(["server_args.py"])
    args.attempt(fill, fills=("mem_fraction_static",))
    ((_, why),) = args.unknown
    assert why.startswith("this tree has other code than 0.5.9 there (unsupported operand")
    with pytest.raises(Unknowable):
        _ = args.mem_fraction_static


def test_in_a_release_it_is_a_defect_of_the_prediction():
    with pytest.raises(TypeError):
        arguments().attempt(fill)
