"""Names under which a loader takes what it drops; found by asking the loader."""

from __future__ import annotations

import pytest

from specpreflight.engines.sglang.loaders.renaming import find_renaming
from specpreflight.models.loader_report import LoaderReport, Untouched
from specpreflight.models.weights import Tensor

WANTED = frozenset({"fc.weight", "midlayer.mlp.weight", "norm.weight"})


def load(tensors: tuple[Tensor, ...]) -> LoaderReport:
    """Take the wanted names, drop the others."""
    names = {tensor.name for tensor in tensors}
    return LoaderReport(
        "Draft",
        "models/draft.py",
        taken={name: (name,) for name in sorted(names & WANTED)},
        dropped=tuple(sorted(names - WANTED)),
        untouched=tuple(Untouched(name, (1,), "ones") for name in sorted(WANTED - names)),
    )


def tensors(*names: str) -> tuple[Tensor, ...]:
    return tuple(Tensor(name, "BF16", (1,), "model.safetensors", 0, 2) for name in names)


def renaming(*names: str, layer: int | None = None) -> dict[str, str]:
    found = tensors(*names)
    return dict(find_renaming(found, load(found), load, layer))


@pytest.mark.parametrize("wrapper", ["_orig_mod.", "module.", "draft_model.", "model.", ""])
def test_a_wrapper_is_taken_off_where_it_is(wrapper: str) -> None:
    found = renaming(*(wrapper + name for name in sorted(WANTED)))
    assert found == ({wrapper + name: name for name in WANTED} if wrapper else {})


def test_wrappers_around_each_other() -> None:
    found = renaming(*(f"_orig_mod.module.{name}" for name in sorted(WANTED)))
    assert set(found.values()) == WANTED


def test_another_spelling_of_the_layer() -> None:
    found = renaming("fc.weight", "layers.0.mlp.weight", "norm.weight")
    assert found == {"layers.0.mlp.weight": "midlayer.mlp.weight"}


def test_nothing_is_renamed_where_nothing_is_lost() -> None:
    assert renaming(*sorted(WANTED), "t2d") == {}


def test_two_tensors_never_get_one_name() -> None:
    assert renaming("fc.weight", "model.fc.weight", "model.norm.weight") == {}


def test_names_that_nobody_knows_stay() -> None:
    assert renaming("fc.weight", "block.mlp.weight", "final.weight") == {}
