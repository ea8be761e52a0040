"""`env compare`: snapshots of several nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "object"]


@pytest.fixture
def take(run: Run, tmp_path: Path) -> Callable[..., Path]:
    def take_snapshot(node: str, *settings: str, nccl: str = "2.27.5") -> Path:
        words = [word for setting in settings for word in ("--env", setting)]
        data = run(
            "env", "show", "--no-env", "--nccl", nccl, "--format", "json", *words
        ).data  # fmt: skip
        data["node"] = node
        path = tmp_path / f"{node}-{len(list(tmp_path.iterdir()))}.json"
        path.write_text(json.dumps(data))
        return path

    return take_snapshot


def test_nodes_that_differ_are_named(run: Run, take: Callable[..., Path], tmp_path: Path) -> None:
    take("node0", "NCCL_PROTO=LL", "NCCL_ALGO=Ring")
    take("node1", "NCCL_PROTO=LL", "NCCL_ALGO=Ring")
    take("node2", "NCCL_ALGO=Ring")
    ran = run("env", "compare", tmp_path)
    assert ran.code == 1
    assert "NCCL_PROTO is `LL` on 2 nodes, unset on node2" in ran.stdout
    assert "NCCL_ALGO" not in ran.stdout
    data = run("env", "compare", tmp_path, "--format", "json").data
    [difference] = data["differences"]
    assert difference["groups"] == [
        {"value": "LL", "nodes": ["node0", "node1"]},
        {"value": None, "nodes": ["node2"]},
    ]
    assert data["findings"][0]["severity"] == "error"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("NCCL_BUFFSIZE=0x400000", "NCCL_BUFFSIZE=4194304"),
        ("NCCL_ALGO=ring", "NCCL_ALGO=RING"),
        ("NCCL_P2P_LEVEL=sys", "NCCL_P2P_LEVEL=bogus"),
        ("NCCL_SOCKET_IFNAME=eth0", "NCCL_SOCKET_IFNAME=ens3"),
        ("NCCL_DEBUG=INFO", "NCCL_DEBUG=WARN"),
    ],
)
def test_what_is_the_same_or_may_differ(
    run: Run, take: Callable[..., Path], first: str, second: str
) -> None:
    ran = run("env", "compare", take("a", first), take("b", second))
    assert ran.code == 0, ran.stdout


def test_containers_of_one_node(run: Run, take: Callable[..., Path]) -> None:
    ran = run("env", "compare", take("a", "NCCL_PROTO=LL"), take("a", "NCCL_PROTO=Simple"))
    assert ran.code == 1
    assert "a (" in ran.stdout


def test_releases_must_be_the_same(run: Run, take: Callable[..., Path]) -> None:
    ran = run("env", "compare", take("a", nccl="2.27.5"), take("b", nccl="2.28.9"))
    assert ran.code == 1
    assert "nodes run different releases of NCCL: 2.27.5, 2.28.9" in ran.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"{", "not JSON"),
        (b"[]", "no snapshot"),
        (b"{}", "no snapshot"),
        (b"null", "no snapshot"),
        (b'{"format_version": "9"}', "format version '9'"),
        (b'{"format_version": "1", "node": 1}', "no snapshot"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_snapshot(
    run: Run, take: Callable[..., Path], tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    ran = run("env", "compare", take("a"), path)
    assert ran.code == 4
    assert message in ran.stderr


def test_one_text_that_two_releases_read_differently(
    run: Run, take: Callable[..., Path], tmp_path: Path
) -> None:
    paths = [take("a", "NCCL_ALGO=Ring"), take("b", "NCCL_ALGO=Ring")]
    paths[1].write_text(paths[1].read_text().replace("all:Ring", "Ring of another release"))
    ran = run("env", "compare", *paths)
    assert ran.code == 1
    assert "NCCL_ALGO is `Ring of another release` on b, `all:Ring` on a" in ran.stdout


def test_two_are_needed(run: Run, take: Callable[..., Path], tmp_path: Path) -> None:
    assert run("env", "compare").code == 2
    assert run("env", "compare", take("a")).code == 2
    assert run("env", "compare", "--ray", "auto", tmp_path).code == 2
    assert run("env", "compare", tmp_path / "none").code == 4
