"""The diff is exactly the bytes: the real `patch` makes the fixed file of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from fixing import finding

from specpreflight.documents import read_document
from specpreflight.fixes.diff import render_diff
from specpreflight.fixes.plan import plan_fixes
from specpreflight.models.finding import MISSING, Edit

LF = b'{\n  "a": 1,\n  "b": [\n    1\n  ],\n  "c": "\xc3\xa9"\n}\n'

FILES = {
    "lf": LF,
    "crlf": LF.replace(b"\n", b"\r\n"),
    "no-final-newline": LF[:-1],
    "one-line": b'{"a": 1, "b": [1], "c": 2}',
    "one-line-ended": b'{"a": 1, "b": [1], "c": 2}\n',
    "byte-order-mark": b"\xef\xbb\xbf" + LF,
    "lone-carriage-return": b'{"a": 1,\r"b": [1],\r\n "c": 2}',
    "blank-lines": b'\n\n{\n\n"a": 1,\n\n\n\n\n\n\n\n\n\n\n"b": [1], "c": 2}\n\n',
    "tabs": LF.replace(b"  ", b"\t"),
    "dashes": b'{\n"a": 1,\n"-- b": 1,\n"++ c": 1,\n"b": [1],\n"c": 2\n}',
}


def test_what_it_looks_like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_bytes(b'{\n  "a": 1\n}')
    document = read_document("config.json")
    plans = plan_fixes([finding(Edit("config.json", "/a", 1, 2))], [document])
    assert render_diff(plans) == (
        b"--- config.json\n+++ config.json\n@@ -1,3 +1,3 @@\n {\n"
        b'-  "a": 1\n+  "a": 2\n }\n\\ No newline at end of file\n'
    )


def test_nothing_to_do_is_an_empty_diff() -> None:
    assert render_diff(()) == b""


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs GNU patch")
@pytest.mark.parametrize("name", ["draft", "a draft/with spaces", "dräft"])
@pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())
def test_patch_makes_the_fixed_file(
    name: str, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(name) / "config.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    document = read_document(path)
    edits = (
        Edit(document.name, "/a", 1, 262144),
        Edit(document.name, "/c", document.get("/c"), MISSING),
        Edit(document.name, "/d", MISSING, {"k": [1, 2]}),
    )
    plans = plan_fixes([finding(*edits)], [document])
    diff = render_diff(plans)
    done = subprocess.run(
        ["patch", "-p0", "--no-backup-if-mismatch"], input=diff, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.read_bytes() == plans[0].new_data
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs GNU patch")
def test_several_files_in_one_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    documents = []
    for index, data in enumerate(FILES.values()):
        path = Path(f"draft-{index}.json")
        path.write_bytes(data)
        documents.append(read_document(path))
    plans = plan_fixes(
        [finding(Edit(document.name, "/a", 1, 2)) for document in documents], documents
    )
    assert len(plans) == len(FILES)
    subprocess.run(["patch", "-p0"], input=render_diff(plans), capture_output=True, check=True)
    for plan in plans:
        assert Path(plan.document.name).read_bytes() == plan.new_data


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs GNU patch")
@pytest.mark.parametrize(("below", "options"), [(True, ["-p0"]), (False, ["-p1", "-d", "/"])])
def test_absolute_names(
    below: bool, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path if below else tmp_path / "elsewhere")
    path = tmp_path / "config.json"
    path.write_bytes(LF)
    document = read_document(path)
    plans = plan_fixes([finding(Edit(document.name, "/a", 1, 2))], [document])
    subprocess.run(["patch", *options], input=render_diff(plans), capture_output=True, check=True)
    assert path.read_bytes() == plans[0].new_data
