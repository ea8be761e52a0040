"""`check` looks at the NCCL environment with everything else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from launches import LLAMA, LLAMA_EAGLE3, write_checkpoint
from nccl_launches import STORY

Run = Callable[..., "object"]


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("NCCL_", "SGLANG_")):
            monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def check(run: Run, tmp_path: Path) -> Callable[..., dict[str, str]]:
    target = write_checkpoint(tmp_path / "1", LLAMA)
    draft = write_checkpoint(tmp_path / "2", LLAMA_EAGLE3)

    def check_words(*words: str) -> dict[str, str]:
        engine = ("--engine", "sglang@0.5.9", "--nccl", "2.27.5")
        data = run("check", target, draft, *engine, "--format", "json", *words).data
        return {finding["rule"]: finding["severity"] for finding in data["findings"]}

    return check_words


def test_the_storys_variables_are_explained_and_no_more(
    check: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    without = check()
    for name, value in STORY.items():
        monkeypatch.setenv(name, value)
    found = check()
    assert found == {**without, "nccl-setting-explained": "note"}


def test_each_source_reaches_the_rules(
    check: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bad = "NCCL_ALGO=Rnig"
    rule = "nccl-list-not-understood"
    assert rule not in check()
    assert check("--env", bad)[rule] == "error"
    (tmp_path / "x.env").write_text('NCCL_ALGO="Ring"\n')
    assert rule not in check("--env-file", str(tmp_path / "x.env"))
    assert check("--env-file", f"docker:{tmp_path / 'x.env'}")[rule] == "error"
    conf = tmp_path / "nccl.conf"
    conf.write_text(f"{bad}\n")
    monkeypatch.setenv("NCCL_CONF_FILE", str(conf))
    assert check()[rule] == "error"
    assert rule not in check("--no-env")
    assert rule not in check("--env", "NCCL_ALGO=Ring")


def test_a_slip_in_a_name(check: Callable[..., dict[str, str]]) -> None:
    assert check("--env", "NCCL_ALGOS=Ring")["nccl-variable-unknown"] == "warning"
    assert check("--env", "SGLANG_ENABLE_SPECV2=1")["engine-variable-unknown"] == "warning"


def test_a_conf_file_that_cannot_be_read(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NCCL_CONF_FILE", str(tmp_path))
    target = write_checkpoint(tmp_path / "1", LLAMA)
    ran = run("check", target)
    assert ran.code == 4
    assert "is a directory" in ran.stderr


def test_the_machine(check: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    rule = "nccl-p2p-across-host-bridge"
    listing = tmp_path / "topo.txt"
    listing.write_text("        GPU0    GPU1\nGPU0     X      SYS\nGPU1    SYS      X\n")
    assert rule not in check("--env", "NCCL_P2P_LEVEL=SYS")
    assert rule in check("--env", "NCCL_P2P_LEVEL=SYS", "--hardware", str(listing))
