from __future__ import annotations

from pathlib import Path

from specpreflight.sources.installed_nccl import find_installed_nccl, find_nccl_of_process


def test_the_folder_of_the_package_says_it(tmp_path: Path) -> None:
    (tmp_path / "nvidia_nccl_cu12-2.27.5.dist-info").mkdir()
    (tmp_path / "nvidia_cudnn_cu12-9.1.0.70.dist-info").mkdir()
    assert find_installed_nccl([str(tmp_path / "none"), str(tmp_path)]) == "2.27.5"


def test_cuda_13_and_no_package(tmp_path: Path) -> None:
    assert find_installed_nccl([str(tmp_path)]) is None
    (tmp_path / "nvidia_nccl_cu13-2.28.9.post1.dist-info").mkdir()
    assert find_installed_nccl([str(tmp_path)]) == "2.28.9"


def test_torch_says_which_one_it_was_built_for(tmp_path: Path) -> None:
    folder = tmp_path / "torch-2.9.0+cu128.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Name: torch\nRequires-Dist: nvidia-nccl-cu12==2.27.5; platform_system == 'Linux'\n"
    )
    assert find_installed_nccl([str(tmp_path)]) == "2.27.5"
    (tmp_path / "nvidia_nccl_cu12-2.28.9.dist-info").mkdir()
    assert find_installed_nccl([str(tmp_path)]) == "2.28.9"


def test_the_library_that_a_process_has_loaded(tmp_path: Path) -> None:
    packages = tmp_path / "site-packages"
    (packages / "nvidia_nccl_cu12-2.27.5.dist-info").mkdir(parents=True)
    proc = tmp_path / "proc" / "7"
    proc.mkdir(parents=True)
    (proc / "maps").write_text(
        f"7f00-7f01 r-xp 0 0:0 1  /usr/lib/libc.so.6\n"
        f"7f02-7f03 r-xp 0 0:0 2  {packages}/nvidia/nccl/lib/libnccl.so.2\n"
    )
    assert find_nccl_of_process(7, tmp_path / "proc") == "2.27.5"
    assert find_nccl_of_process(8, tmp_path / "proc") is None
