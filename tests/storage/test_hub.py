"""The Hub, through its own client and a local server: downloads, pull requests, refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fixing import FIXED, KIMI
from hub_server import COMMIT, HubServer, hub

from specpreflight.errors import InputError
from specpreflight.storage.hub import (
    HubAddress,
    cached_address,
    download_json,
    open_pull_request,
    parse_hub_address,
)

__all__ = ["hub"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("lab/draft", HubAddress("lab/draft")),
        ("gpt2", HubAddress("gpt2")),
        ("lab/draft@v1.0", HubAddress("lab/draft", "v1.0")),
        ("hf://lab/draft@refs/pr/3", HubAddress("lab/draft", "refs/pr/3")),
        ("./draft", None),
        ("a/b/c", None),
        ("ssh://host/draft", None),
    ],
)
def test_addresses(text: str, address: HubAddress | None) -> None:
    assert parse_hub_address(text) == address


def test_a_file_in_the_cache_knows_its_repository() -> None:
    path = Path("/cache/models--lab--a--b/snapshots") / COMMIT / "config.json"
    assert cached_address(path) == HubAddress("lab/a/b", COMMIT)
    assert cached_address(Path("/models/draft/config.json")) is None


def test_only_json_is_downloaded(hub: HubServer) -> None:
    hub.files = {"config.json": KIMI, "model.safetensors": b"weights", "README.md": b"#"}
    folder = download_json("lab/draft", "main")
    assert folder.name == COMMIT
    assert (folder / "config.json").read_bytes() == KIMI
    assert hub.downloads == ["config.json"]
    assert "Bearer hf_test" in hub.tokens
    assert cached_address(folder / "config.json") == HubAddress("lab/draft", COMMIT)


def test_a_pull_request_has_one_commit(hub: HubServer) -> None:
    url = open_pull_request(
        HubAddress("lab/draft", COMMIT), {"config.json": FIXED}, "Raise it", "why"
    )
    assert url == f"{hub.url}/lab/draft/discussions/7"
    header, files = hub.committed()
    assert header["summary"] == "Raise it"
    assert header["description"] == "why"
    assert header["parentCommit"] == COMMIT
    assert hub.queries == ["create_pr=1"]
    assert files == {"config.json": FIXED}


def download(_: HubServer) -> object:
    return download_json("lab/draft", "main")


def request(_: HubServer) -> object:
    return open_pull_request(HubAddress("lab/draft", COMMIT), {"config.json": FIXED}, "t", "d")


@pytest.mark.parametrize(
    ("kind", "status", "code", "act", "says"),
    [
        ("info", 404, "RepoNotFound", download, "no such repository, or it is private"),
        ("info", 403, "GatedRepo", download, "its authors grant access on request"),
        ("info", 401, "RepoNotFound", download, "no such repository, or it is private"),
        ("info", 404, "RevisionNotFound", download, "no such revision"),
        ("info", 418, "", download, "status 418"),
        ("commit", 401, "", request, "does not know this token"),
        ("commit", 403, "", request, "this token may not do that"),
        ("commit", 409, "", request, "somebody else is changing the repository"),
        ("commit", 412, "", request, "changed since it was read"),
        ("commit", 429, "", request, "too many requests"),
        ("preupload", 403, "", request, "this token may not do that"),
    ],
)
def test_refusals(
    kind: str,
    status: int,
    code: str,
    act: Callable[[HubServer], object],
    says: str,
    hub: HubServer,
) -> None:
    hub.files = {"config.json": KIMI}
    hub.refuse[kind] = status, code
    with pytest.raises(InputError, match=says) as caught:
        act(hub)
    assert caught.value.message.startswith("lab/draft: ")
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_offline(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="HF_HUB_OFFLINE is set"):
        download_json("lab/draft", "main")


def test_nobody_answers(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="the Hub cannot be reached"):
        download_json("lab/draft", "main")
