"""What the path of a token map leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from specpreflight.models.token_map import TokenMap
from specpreflight.sources.token_map import read_token_map


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"PK\x03\x04...", None),
        (b"\x80\x02\x8a", None),
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer"),
        (b"[1, 2, 3]", "is not what `torch.save` writes"),
    ],
)
def test_a_file_is_told_by_its_first_bytes(
    tmp_path: Path, content: bytes, problem: str | None
) -> None:
    path = tmp_path / "map.pt"
    path.write_bytes(content)
    found = read_token_map(str(path))
    assert found.kind == "file"
    assert (found.problem or "").startswith(problem or "")
    assert (found.problem is None) == (problem is None)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("thunlp/LLaMA3-Instruct-8B-FR-Spec/freq_32768.pt", "hub"),
        ("maps/freq.pt", "hub"),
        ("a/b/c/freq.pt", "missing"),
        ("freq.pt", "missing"),
        ("./maps/freq.pt", "missing"),
        ("/maps/freq.pt", "missing"),
        ("/freq.pt", "missing"),
        ("", "missing"),
        ("a\0b", "missing"),
        ("n" * 300, "missing"),
    ],
)
def test_a_path_that_is_not_there_may_be_the_hubs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_token_map(given) == TokenMap(given, kind)


def test_a_directory_is_no_map(tmp_path: Path) -> None:
    assert read_token_map(str(tmp_path)).kind == "directory"
