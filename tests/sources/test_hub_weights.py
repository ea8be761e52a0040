"""Tensors of a Hub repository: what its client's metadata calls give, or why nothing is seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hub_server import HubServer, hub
from huggingface_hub import HfApi
from huggingface_hub.errors import (
    NotASafetensorsRepoError,
    SafetensorsParsingError,
)
from huggingface_hub.utils._safetensors import (
    SafetensorsFileMetadata,
    SafetensorsRepoMetadata,
    TensorInfo,
)

from specpreflight.models.weights import names_of, tensor_of, weights_of, why_unseen
from specpreflight.sources.checkpoint import read_checkpoint
from specpreflight.sources.hub_weights import read_hub_weights

__all__ = ["hub"]

INFO = TensorInfo("BF16", [4, 8], (0, 64))


def answer(monkeypatch: pytest.MonkeyPatch, found: Any) -> list[str]:
    asked: list[str] = []

    def get(self: HfApi, repository: str, *, revision: str) -> Any:
        asked.append(f"{repository}@{revision}")
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(HfApi, "get_safetensors_metadata", get)
    return asked


def metadata() -> SafetensorsRepoMetadata:
    header = SafetensorsFileMetadata({}, {"fc.weight": INFO})
    places = {"fc.weight": "model.safetensors"}
    return SafetensorsRepoMetadata(None, False, places, {"model.safetensors": header})


def test_names_dtypes_and_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, metadata())
    table = read_hub_weights("lab/draft", "main")
    assert table.tensors["fc.weight"][:4] == ("fc.weight", "BF16", (4, 8), "model.safetensors")
    assert (table.unseen, table.read(table.tensors["fc.weight"])) == (None, None)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (NotASafetensorsRepoError("x"), "lab/draft holds no safetensors weights"),
        (SafetensorsParsingError("header too long\nmore"), "lab/draft: header too long"),
        (OSError("offline"), "the Hub did not answer: offline"),
    ],
)
def test_why_nothing_is_seen(monkeypatch: pytest.MonkeyPatch, error: Exception, says: str) -> None:
    answer(monkeypatch, error)
    assert read_hub_weights("lab/draft", "main").unseen == says


def test_the_hub_is_asked_only_online_only_once_and_only_by_a_rule(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = answer(monkeypatch, metadata())
    (tmp_path / "config.json").write_text(json.dumps({}))
    draft = read_checkpoint("draft", "lab/draft", find=lambda repository, revision: tmp_path)
    assert asked == []
    assert weights_of(draft) is weights_of(draft)
    assert (why_unseen(draft), names_of(draft)) == (None, frozenset({"fc.weight"}))
    assert tensor_of(draft, "fc.weight") is not None
    assert asked == ["lab/draft@main"]


def test_only_headers_are_fetched(hub: HubServer) -> None:
    """The client's own ranged reads, against a server: two shards of megabytes, kilobytes read."""
    numpy = pytest.importorskip("numpy")
    library = pytest.importorskip("safetensors.numpy")
    shards = {
        f"model-{n}-of-2.safetensors": library.save(
            {f"layers.{n}.w": numpy.zeros((1500, 1000), "float16")}
        )
        for n in (1, 2)
    }
    places = {f"layers.{n}.w": f"model-{n}-of-2.safetensors" for n in (1, 2)}
    index = {"metadata": {"total_size": 6_000_000}, "weight_map": places}
    hub.files = {**shards, "model.safetensors.index.json": json.dumps(index).encode()}
    table = read_hub_weights("lab/draft", "main")
    assert table.unseen is None
    assert {name: tensor.shape for name, tensor in table.tensors.items()} == {
        "layers.1.w": (1500, 1000),
        "layers.2.w": (1500, 1000),
    }
    assert table.index == "model.safetensors.index.json"
    assert hub.served < 250_000


def test_what_the_server_has_is_said(hub: HubServer) -> None:
    hub.files = {"config.json": b"{}"}
    assert "holds no safetensors weights" in str(read_hub_weights("lab/draft", "main").unseen)
    hub.files = {"model.safetensors": b"version https://git-lfs.github.com/spec/v1\n" + bytes(200)}
    assert read_hub_weights("lab/draft", "main").unseen is not None
    assert read_hub_weights("lab/other", "main").unseen is not None
