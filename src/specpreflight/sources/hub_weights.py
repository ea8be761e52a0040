"""The tensors of a Hub repository, by the ranged reads of huggingface_hub's own metadata calls.

Only the headers of its safetensors files are fetched (`HfApi.get_safetensors_metadata`), some
kilobytes of a file of gigabytes; asked for with `--online` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from specpreflight.models.weights import Tensor, WeightTable


def read_hub_weights(repository: str, revision: str) -> WeightTable:
    """Return the tensors of a repository at a revision.

    Raises nothing: why nothing can be seen is the table's `unseen`. Bytes of tensors are not
    fetched, and what is wrong with a file shows only when it is downloaded.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import (
        HfHubHTTPError,
        NotASafetensorsRepoError,
        SafetensorsParsingError,
    )

    try:
        found = HfApi().get_safetensors_metadata(repository, revision=revision)
    except NotASafetensorsRepoError:
        return WeightTable("none", unseen=f"{repository} holds no safetensors weights")
    except SafetensorsParsingError as error:
        return WeightTable("safetensors", unseen=f"{repository}: {_first_line(error)}")
    except (HfHubHTTPError, OSError) as error:
        return WeightTable("safetensors", unseen=f"the Hub did not answer: {_first_line(error)}")
    tensors = {
        name: Tensor(name, info.dtype, tuple(info.shape), file, *info.data_offsets)
        for file, header in found.files_metadata.items()
        for name, info in header.tensors.items()
    }
    return WeightTable(
        "safetensors",
        tensors,
        dict.fromkeys(found.files_metadata, 0),
        index="model.safetensors.index.json" if found.sharded else None,
    )


def hub_weight_facts(repository: str, revision: str) -> dict[str, Callable[..., Any]]:
    """Return the lazy facts of a repository's tensors; the Hub is asked once, when a rule asks."""

    @cache
    def table() -> WeightTable:
        return read_hub_weights(repository, revision)

    return {
        "weights": table,
        "unseen": lambda: table().unseen,
        "find_tensor": lambda name: table().tensors.get(name),
        "tensor_names": lambda: frozenset(table().tensors) or None,
        "missing_shards": dict,
    }


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
