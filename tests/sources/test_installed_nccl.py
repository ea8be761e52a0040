from __future__ import annotations

from pathlib import Path

from specpreflight.sources.installed_nccl import find_installed_nccl


def test_the_folder_of_the_package_says_it(tmp_path: Path) -> None:
    (tmp_path / "nvidia_nccl_cu12-2.27.5.dist-info").mkdir()
    (tmp_path / "nvidia_cudnn_cu12-9.1.0.70.dist-info").mkdir()
    assert find_installed_nccl([str(tmp_path / "none"), str(tmp_path)]) == "2.27.5"


def test_cuda_13_and_no_package(tmp_path: Path) -> None:
    assert find_installed_nccl([str(tmp_path)]) is None
    (tmp_path / "nvidia_nccl_cu13-2.28.9.post1.dist-info").mkdir()
    assert find_installed_nccl([str(tmp_path)]) == "2.28.9"
