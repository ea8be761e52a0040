"""Find names under which a loader would take the tensors that it drops.

Training wrappers and exporters rename tensors in a few known ways. A candidate is proposed only if
the restated loader itself takes more of the checkpoint under the new names, so nothing rests on a
table of who writes what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Final

from specpreflight.models.loader_report import LoaderReport
from specpreflight.models.weights import Tensor

#: Prefixes that wrappers leave: torch.compile, DataParallel and FSDP, trainers of drafts, exporters
#: that save a draft inside a model.
_WRAPPERS: Final = (
    "_orig_mod.",
    "module.",
    "draft_model.",
    "eagle_module.",
    "base_model.model.",
    "model.language_model.",
    "model.",
)
#: Spellings of the decoder layer (SafeAILab and SpecForge; speculators and Model-Optimizer).
_LAYERS: Final = (
    ("", ""),
    ("midlayer.", "layers.0."),
    ("layers.0.", "midlayer."),
    ("mtp_layers.", "model.mtp_layers."),
)
_LAYER: Final = re.compile(r"model\.layers\.\d+\.")
#: More tensors than a head has: renaming is not tried on a whole model.
_LIMIT: Final = 4000

Load = Callable[[tuple[Tensor, ...]], LoaderReport]


def find_renaming(
    tensors: tuple[Tensor, ...], report: LoaderReport, load: Load, layer: int | None
) -> Mapping[str, str]:
    """Return `{name in the file: name that the loader takes}`, empty where nothing helps.

    `load` runs the restated loader on renamed tensors; `layer` is the number that a NextN layer
    must have.
    """
    if not report.dropped or not report.lost or len(tensors) > _LIMIT:
        return {}
    best: tuple[int, int, int] = _badness(report)
    chosen: dict[str, str] = {}
    for rename in _candidates(tensors, layer):
        names = {tensor.name: rename(tensor.name) for tensor in tensors}
        if len(set(names.values())) != len(names) or all(a == b for a, b in names.items()):
            continue
        renamed = tuple(tensor._replace(name=names[tensor.name]) for tensor in tensors)
        found = _badness(load(tuple(sorted(renamed, key=lambda each: (each.file, each.name)))))
        if found < best:
            best = found
            chosen = {old: new for old, new in names.items() if old != new}
    return chosen


def _badness(report: LoaderReport) -> tuple[int, int, int]:
    """Return what a better renaming has less of."""
    return (int(report.error is not None), len(report.lost), len(report.dropped))


def _candidates(tensors: tuple[Tensor, ...], layer: int | None) -> Iterator[Callable[[str], str]]:
    """Yield renamings, the simplest first."""
    for wrapper, (old, new) in product(("", *_WRAPPERS, "all"), _LAYERS):
        yield partial(_renamed, wrapper, old, new)
    found = (_LAYER.match(tensor.name) for tensor in tensors)
    for prefix in sorted({match[0] for match in found if match is not None}):
        if layer is not None and prefix != f"model.layers.{layer}.":
            yield partial(_renamed, "", prefix, f"model.layers.{layer}.")


def _renamed(wrapper: str, old: str, new: str, name: str) -> str:
    """Take a wrapper's prefix off (`all`: every one), then respell the layer."""
    if wrapper == "all":
        while any(name.startswith(each) for each in _WRAPPERS):
            name = next(name.removeprefix(each) for each in _WRAPPERS if name.startswith(each))
    else:
        name = name.removeprefix(wrapper)
    return new + name.removeprefix(old) if old and name.startswith(old) else name
