"""What a user may write after `sglang@`, and what it is mapped to."""

from __future__ import annotations

import json

import pytest
from engine_trees import ARGPARSE_STYLE, write_tree

from specpreflight.engines.sglang.installations import find_installed, read_pins, read_version
from specpreflight.engines.sglang.knowledge import releases
from specpreflight.engines.sglang.release_order import release_key
from specpreflight.engines.sglang.releases import identify
from specpreflight.errors import UsageError

NEWEST = releases()[-1]


@pytest.mark.parametrize(
    ("wanted", "version", "told"),
    [
        (None, NEWEST, "assumed"),
        ("0.5.9", "0.5.9", "--engine sglang@0.5.9"),
        (" 0.5.9 ", "0.5.9", "--engine sglang@0.5.9"),
        ("v0.5.9", "0.5.9", "--engine"),
        ("0.5.9+cu130", "0.5.9", "--engine"),
        ("0.5.9-cu129", "0.5.9", "--engine"),
        ("0.4.6.post5", "0.4.6.post5", "--engine"),
        ("0.5.10rc1", "0.5.10", "what it became"),
        ("0.5.12.dev30+g1234567", "0.5.12", "what it became"),
        ("0.5.9.post7", "0.5.9", "nearest before"),
        ("0.5.10.post2", "0.5.10.post1", "nearest before"),
        ("0.5", NEWEST, "newest known 0.5"),
        ("0.6.0", NEWEST, "newer than the newest known release"),
        ("9.0rc0", NEWEST, "newer than the newest known release"),
        ("main", NEWEST, "newest known release"),
        ("latest-cu130", NEWEST, "newest known release"),
        ("lmsysorg/sglang:v0.5.9-cu129", "0.5.9", "image tag lmsysorg/sglang:v0.5.9-cu129"),
        ("docker.io/lmsysorg/sglang:v0.5.12.post1-cu130-amd64", "0.5.12.post1", "image tag"),
        ("localhost:5000/a/sglang:v0.5.8@sha256:00ff", "0.5.8", "image tag"),
        ("rocm/sgl-dev:v0.5.8-rocm700-mi35x", "0.5.8", "image tag"),
        ("lmsysorg/sglang:latest", NEWEST, "newest known release"),
        ("lmsysorg/sglang:nightly-dev-20251203-0a1b2c3d", "0.5.6", "until 2025-12-03"),
        ("lmsysorg/sglang:nightly-dev-20251202-0a1b2c3d", "0.5.5.post3", "until 2025-12-02"),
        ("nvcr.io/nvidia/sglang:25.10-py3", "0.5.4.post1", "until 2025-10-31"),
    ],
)
def test_mapped(wanted, version, told):
    found = identify(wanted)
    assert (found.name, found.version, found.path) == ("sglang", version, None)
    assert told in found.determined_by


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        ("0.4.6.post4", "older than every known release", "0.4.6.post5"),
        ("0.1", "older than every known release", "0.4.6.post5"),
        ("0.5.1O", "is no SGLang version", "0.5.1"),
        ("foo", "is no SGLang version", NEWEST),
        ("0.5.9.", "is no SGLang version", "0.5.9"),
        ("1a2b3c4", "cannot be placed", NEWEST),
        ("0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", "cannot be placed", NEWEST),
        ("", "no SGLang version was given", "0.5.9"),
        ("/nowhere/at/all", "no SGLang found there", "site-packages"),
    ],
)
def test_refused_with_the_nearest(wanted, message, hint):
    with pytest.raises(UsageError) as refused:
        identify(wanted)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")
    assert "\n" not in refused.value.message


def test_order_is_packagings():
    from packaging.version import Version

    texts = [*releases(), "0.5.10rc1", "0.5.12.dev3", "0.5.9.post10", "0.6", "0.6.0", "1.0rc2"]
    for one in texts:
        for other in texts:
            assert (release_key(one) < release_key(other)) == (Version(one) < Version(other))
    with pytest.raises(ValueError, match="no version"):
        release_key("abc")


@pytest.mark.parametrize(
    "below",
    [
        "site-packages",
        "checkout/python",
        "venv/lib/python3.12/site-packages",
        "root/usr/local/lib/python3.10/dist-packages",
        "root/sgl-workspace/sglang/python",
    ],
)
def test_a_folder_that_is_or_holds_the_package(tmp_path, below):
    tree = write_tree(tmp_path / below, {**ARGPARSE_STYLE, "version.py": '__version__ = "0.5.9"\n'})
    for given in (tree.root, tree.root.parent, tmp_path / below.split("/")[0]):
        found = identify(str(given))
        assert (found.version, found.path) == ("0.5.9", str(tree.root))
        assert str(given) in found.determined_by


@pytest.mark.parametrize(
    ("files", "stated", "nearest"),
    [
        ({"version.py": '__version__ = "0.4.9.post2"'}, "0.4.9.post2", "0.4.9.post2"),
        (
            {
                "_version.py": "__version__ = version = '0.5.10rc1'",
                "version.py": "from sglang._version import __version__",
            },
            "0.5.10rc1",
            "0.5.10",
        ),
        ({"version.py": '__version__ = "0.5.99.dev1+gabc"'}, "0.5.99.dev1+gabc", NEWEST),
        ({"version.py": '__version__ = "0.3.0"'}, "0.3.0", releases()[0]),
        ({"version.py": '__version__ = "0.0.0.dev0"'}, "0.0.0.dev0", NEWEST),
        ({"version.py": "import scm"}, None, NEWEST),
        ({"../sglang-0.5.8.dist-info/METADATA": "Name: sglang"}, "0.5.8", "0.5.8"),
    ],
)
def test_what_a_tree_states(tmp_path, files, stated, nearest):
    tree = write_tree(tmp_path, {**ARGPARSE_STYLE, **files})
    assert read_version(tree.root) == stated
    found = identify(str(tmp_path))
    assert found.version == nearest
    assert (
        (stated is not None and stated in found.determined_by)
        or ("states no version" in found.determined_by)
        or stated == "0.0.0.dev0"
    )


def test_installed_is_found_without_running_anything(tmp_path, monkeypatch):
    site = tmp_path / "venv/lib/python3.12/site-packages"
    tree = write_tree(site, {**ARGPARSE_STYLE, "version.py": '__version__ = "0.5.9"'})
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir()
    python.symlink_to("/nonexistent/python3")
    assert find_installed(str(python)) == tree.root
    found = identify(f"installed:{python}")
    assert (found.version, found.path) == ("0.5.9", str(tree.root))
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    assert identify("installed").path == str(tree.root)
    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="not installed in the active environment"):
        identify("installed")


@pytest.mark.parametrize("style", ["direct_url", "pth"])
def test_an_editable_installation_is_followed(tmp_path, style):
    tree = write_tree(tmp_path / "work tree/python", ARGPARSE_STYLE)
    site = tmp_path / "venv/lib/python3.11/site-packages"
    (site / "sglang-0.5.9.dist-info").mkdir(parents=True)
    source = tree.root.parent
    if style == "pth":
        (site / "__editable__.sglang-0.5.9.pth").write_text(f"import x\n{source}\n")
    else:
        record = {"url": source.as_uri(), "dir_info": {"editable": True}}
        (site / "sglang-0.5.9.dist-info/direct_url.json").write_text(json.dumps(record))
    assert identify(f"installed:{tmp_path}/venv/bin/python").path == str(tree.root)


def test_pins(tmp_path):
    tree = write_tree(tmp_path / "python", ARGPARSE_STYLE)
    assert read_pins(tree.root) == {}
    (tmp_path / "python/pyproject.toml").write_text(
        'dependencies = ["torch==2.9.1", "transformers==4.57.1", "sgl-kernel==0.3.21", "x>=1"]'
    )
    expected = {"torch": "2.9.1", "transformers": "4.57.1", "kernel": "0.3.21"}
    assert read_pins(tree.root) == expected
    metadata = tmp_path / "python/sglang-0.5.23.dist-info/METADATA"
    metadata.parent.mkdir()
    metadata.write_text(
        "Requires-Dist: torch==2.14.1\nRequires-Dist: torchaudio==2.14.1\n"
        'Requires-Dist: transformers==5.19.0; extra == "srt"\n'
        "Requires-Dist: sglang-kernel==0.4.10\n\ntransformers==1.0 in the text\n"
    )
    expected = {"torch": "2.14.1", "transformers": "5.19.0", "kernel": "0.4.10"}
    assert read_pins(tree.root) == expected
