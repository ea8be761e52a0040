"""Checkpoints behind other URLs: read wherever fsspec reads, fixed on S3 alone."""

from __future__ import annotations

import io
import logging
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixing import FIXED, KIMI, finding

from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.apply import Applied, apply_plans
from specpreflight.fixes.plan import FilePlan, plan_fixes
from specpreflight.fixes.undo import read_history, undo_last
from specpreflight.models.finding import Edit
from specpreflight.sources.remote_checkpoint import read_remote_checkpoint
from specpreflight.storage import join_url, open_storage

fsspec = pytest.importorskip("fsspec", reason="needs the extra `remote`")


def plan(url: str) -> tuple[FilePlan, ...]:
    document = read_remote_checkpoint("draft", url).config
    edit = Edit(document.name, "/max_position_embeddings", 131072, 262144)
    return plan_fixes([finding(edit)], [document])


@pytest.fixture
def memory() -> Iterator[str]:
    """A checkpoint in fsspec's memory file system."""
    files = fsspec.filesystem("memory")
    files.pipe_file("/draft/config.json", KIMI)
    yield "memory://draft"
    files.rm("/draft", recursive=True)


def test_memory(memory: str) -> None:
    checkpoint = read_remote_checkpoint("draft", memory)
    assert checkpoint.config.get("/max_position_embeddings") == 131072
    assert checkpoint.config.name == "memory://draft/config.json"
    assert checkpoint.files == ("config.json",)


def test_file_and_zip(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(KIMI)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("draft/config.json", KIMI)
    (tmp_path / "draft.zip").write_bytes(buffer.getvalue())
    for url in (f"file://{tmp_path}", f"zip://draft::file://{tmp_path}/draft.zip"):
        assert read_remote_checkpoint("draft", url).config.get("/rope_theta") == 1e6


@pytest.mark.parametrize(
    ("url", "joined"),
    [
        ("s3://bucket/draft/", "s3://bucket/draft/config.json"),
        ("zip://draft::file:///a.zip", "zip://draft/config.json::file:///a.zip"),
    ],
)
def test_names_below_a_url(url: str, joined: str) -> None:
    assert join_url(url, "config.json") == joined


def test_what_cannot_be_written_safely_is_not_written(memory: str) -> None:
    with pytest.raises(InputError, match="memory:// has no write that is safe"):
        apply_plans(plan(memory))
    assert fsspec.filesystem("memory").cat_file("/draft/config.json") == KIMI


def test_what_cannot_be_read_is_a_problem_of_the_checkpoint(memory: str) -> None:
    problem = read_remote_checkpoint("draft", "memory://nowhere").problem
    assert problem is not None
    assert problem.message == "memory://nowhere/config.json: no such file"


def test_schemes_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match="Protocol not known: nothing"):
        open_storage("nothing://bucket/draft")


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ImportError

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(UsageError, match="needs gcsfs") as caught:
        open_storage("gs://bucket/draft")
    assert caught.value.hint == "pip install gcsfs"


# ------------------------------------------------------------------ S3


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The client of a local S3 server that holds a checkpoint at s3://models/draft."""
    moto = pytest.importorskip("moto.server", reason="needs moto, flask and flask-cors")
    pytest.importorskip("s3fs", reason="needs s3fs")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    files = fsspec.filesystem("s3", use_listings_cache=False)
    files.call_s3("create_bucket", Bucket="models")
    files.pipe_file("models/draft/config.json", KIMI)
    yield files
    server.stop()


URL = "s3://models/draft"


def fix() -> Applied:
    (applied,) = apply_plans(plan(URL))
    return applied


def test_a_fix_on_s3_and_its_undo(bucket: Any) -> None:
    assert fix().notes == ()
    assert bucket.cat_file("models/draft/config.json") == FIXED
    names = sorted(name.rpartition("/")[2] for name in bucket.find("models/draft"))
    assert names == ["0001-config.json", "0001.json", "config.json"]
    assert plan(URL) == ()
    storage, path = open_storage(URL)
    assert [entry.state for entry in read_history(path, storage)] == ["applied"]
    undo_last(path, storage=storage)
    assert bucket.cat_file("models/draft/config.json") == KIMI


def test_an_object_that_changed_is_left(bucket: Any) -> None:
    plans = plan(URL)
    bucket.pipe_file("models/draft/config.json", b"{}")
    with pytest.raises(InputError, match="changed since it was read"):
        apply_plans(plans)
    assert bucket.cat_file("models/draft/config.json") == b"{}"


def test_an_object_that_changes_in_the_last_moment_is_left(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from specpreflight.storage.objects import S3Storage

    real = S3Storage.rename

    def somebody_writes(self: S3Storage, old: str, new: str) -> tuple[str, ...]:
        bucket.pipe_file("models/draft/config.json", b'{"a": 1}')
        return real(self, old, new)

    monkeypatch.setattr(S3Storage, "rename", somebody_writes)
    with pytest.raises(InputError, match="changed since it was read"):
        fix()
    assert bucket.cat_file("models/draft/config.json") == b'{"a": 1}'
    assert [name for name in bucket.find("models/draft") if name.endswith(".tmp")] == []


def test_no_such_bucket(bucket: Any) -> None:
    problem = read_remote_checkpoint("draft", "s3://nowhere/draft").problem
    assert problem is not None
    assert problem.message.startswith("s3://nowhere/draft/config.json: ")
