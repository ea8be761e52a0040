"""The release of a tree that states no version."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_trees import ARGPARSE_STYLE, write_tree
from release_tree import ARGUMENTS, release_files

from specpreflight.api import identify_engine
from specpreflight.changes.versions import compare_versions
from specpreflight.engines.sglang.tree_release import nearest_release


@pytest.fixture(autouse=True)
def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("release", ["0.4.6.post5", "0.5.2", "0.5.9", "0.5.14", "0.5.23"])
def test_its_options_tell_it(tmp_path: Path, release: str) -> None:
    tree = write_tree(tmp_path, release_files(release))
    assert nearest_release(tree.root) == release
    found = identify_engine(f"sglang@{tmp_path}")
    assert (found.version, found.path) == (release, str(tree.root))
    assert found.determined_by.endswith(f"{release} is nearest by its options")


def test_options_of_its_own_do_not_hide_it(tmp_path: Path) -> None:
    files = release_files("0.5.9")
    own = "".join(f"        parser.add_argument('--own-{number}')\n" for number in range(40))
    files[ARGUMENTS] += own
    assert nearest_release(write_tree(tmp_path, files).root) == "0.5.9"


def test_a_tree_that_is_like_none(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, ARGPARSE_STYLE)
    assert nearest_release(tree.root) is None
    assert identify_engine(f"sglang@{tmp_path}").version == "0.5.23"


def test_what_a_tree_does_not_answer_is_known_as_of_its_release(tmp_path: Path) -> None:
    """A variable that it does not read keeps what the release makes of text that is no number."""
    files = {**release_files("0.5.9"), "version.py": '__version__ = "0.5.9"\n'}
    files["srt/reader.py"] = 'import os\nX = int(os.getenv("SGLANG_OF_ITS_OWN", "1"))\n'
    write_tree(tmp_path, files)
    found = compare_versions(identify_engine("sglang@0.5.9"), identify_engine(f"sglang@{tmp_path}"))
    changed = {change.name.partition(" ")[0] for change in found.changes}
    assert "SGLANG_OF_ITS_OWN" in changed
    assert "SGLANG_DETOKENIZER_MAX_STATES" not in changed
