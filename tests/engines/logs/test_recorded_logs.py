"""The team's synthetic logs: what each tells, whole, cut and wrapped."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.sources.log_reader import read_blocks, unwrap

pytestmark = pytest.mark.shared


def read(path: Path) -> Diagnosis:
    return diagnose(read_blocks(str(path)), unwrap)


def expected(shared: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted((shared / "logs").glob("*.expect.json")):
        yield (
            path.with_name(path.name.replace(".expect.json", ".log")),
            json.loads(path.read_text()),
        )


def test_every_log_is_told(shared: Path) -> None:
    for path, wanted in expected(shared):
        found = read(path)
        told = (found.engine, found.healthy, found.stage, found.cause)
        assert told == tuple(wanted[key] for key in ("engine", "healthy", "stage", "cause")), path
        version = Version(wanted["version"])
        assert found.version.low is None or Version(found.version.low) <= version
        assert found.version.high is None or version <= Version(found.version.high)
        assert {key: found.values.get(key) for key in wanted["values"]} == wanted["values"], path
        assert (found.seconds_to_death is None) == (wanted["seconds_to_death"] is None)
        # the only traceback without any time near it: nothing tells the eleven seconds
        if found.seconds_to_death is not None and path.name != "log-07.log":
            assert found.seconds_to_death == pytest.approx(wanted["seconds_to_death"], abs=2)
        assert found.acceptance_length == pytest.approx(wanted["accept_length"], abs=0.05)
        assert found.silent_fault == wanted.get("silent_fault")


@pytest.mark.parametrize("wrapper", ["gzip", "utf-16", "journal", "compose", "docker", "cri"])
def test_wrapped_logs_tell_the_same(shared: Path, tmp_path: Path, wrapper: str) -> None:
    for path, wanted in expected(shared):
        if wanted["wrapper"] != "plain" or path.stat().st_size > 100_000:
            continue
        wrapped = tmp_path / "wrapped.log"
        wrapped.write_bytes(wrap(path.read_bytes(), wrapper))
        found = read(wrapped)
        assert (found.cause, found.stage) == (wanted["cause"], wanted["stage"]), path


def wrap(data: bytes, wrapper: str) -> bytes:
    lines = data.decode("utf-8", "replace").split("\n")
    stamp = "2026-08-10T11:00:24.123456789Z"
    if wrapper == "gzip":
        return gzip.compress(data)
    if wrapper == "utf-16":
        return "\n".join(lines).encode("utf-16")
    if wrapper == "journal":
        return "\n".join(f"Aug 10 11:00:24 node-1 sglang[12]: {line}" for line in lines).encode()
    if wrapper == "compose":
        return "\n".join(f"\x1b[36mengine-1  | \x1b[0m{line}" for line in lines).encode()
    pieces = [
        (line[start : start + 16384], start + 16384 >= len(line))
        for line in lines
        for start in range(0, max(len(line), 1), 16384)
    ]
    if wrapper == "cri":
        return "\n".join(
            f"{stamp} stderr {'F' if last else 'P'} {piece}" for piece, last in pieces
        ).encode()
    return "\n".join(
        json.dumps({"log": piece + "\n" * last, "stream": "stderr", "time": stamp})
        for piece, last in pieces
    ).encode()


def test_a_cut_healthy_log_gets_no_cause(shared: Path, tmp_path: Path) -> None:
    for path, wanted in expected(shared):
        if wanted["cause"] is not None:
            continue
        data = path.read_bytes()
        for share in (0.001, 0.1, 0.3, 0.5, 0.9):
            for part in (data[: int(len(data) * share)], data[int(len(data) * share) :]):
                (tmp_path / "cut.log").write_bytes(part)
                assert read(tmp_path / "cut.log").cause is None
