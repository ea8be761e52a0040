"""Versions of the packages beside an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from specpreflight.sources.libraries import find_libraries, find_site


def site(prefix: Path, *folders: str) -> Path:
    found = prefix / "lib" / "python3.12" / "site-packages"
    for folder in folders:
        (found / folder).mkdir(parents=True)
    return found


def test_versions_are_read_from_names(tmp_path: Path) -> None:
    found = find_libraries(
        site(
            tmp_path,
            "torch-2.9.1+cu129.dist-info", "sgl_kernel-0.3.21.dist-info", "click-8.2.0.dist-info",
            "nvidia_nccl_cu12-2.27.5.dist-info", "flashinfer_python-0.6.1.dist-info",
            "vllm-0.20.0.egg-info", "torchvision-0.24.dist-info", "torch",
        )
    )  # fmt: skip
    assert found == {
        "flashinfer_python": "0.6.1",
        "nvidia_nccl_cu12": "2.27.5",
        "sgl_kernel": "0.3.21",
        "torch": "2.9.1+cu129",
        "vllm": "0.20.0",
    }


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert find_libraries(tmp_path / "none") == {}


def test_the_interpreter_says_where_to_look(tmp_path: Path) -> None:
    mine = site(tmp_path / "mine", "sglang")
    site(tmp_path / "other", "vllm")
    assert find_site("sglang", str(tmp_path / "mine" / "bin" / "python")) == mine
    assert find_site("sglang", str(tmp_path / "other" / "bin" / "python")) is None


def test_else_the_active_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = site(tmp_path, "vllm")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert find_site("vllm") == mine
