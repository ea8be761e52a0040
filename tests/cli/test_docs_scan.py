"""What `docs/scan.md` says can be typed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from specpreflight.cli.scan import scan
from specpreflight.models.idle import Idle

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "scan.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "kimi-k2.5-eagle3"


def test_options_that_the_page_names_exist() -> None:
    known = {option for parameter in scan.params for option in parameter.opts}
    assert set(re.findall(r"(?<!\w)--[a-z][a-z-]+", TEXT)) <= known


def test_the_python_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EXAMPLE / "target", tmp_path / "target")
    shutil.copytree(EXAMPLE / "draft", tmp_path / "drafts" / "one")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    [code] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out.startswith("drafts/one SGLang 0.5.11 crashes when")


def test_the_keys_of_the_json(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    section = TEXT.partition("\n## JSON\n")[2].partition("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    data = run("scan", tmp_path / "empty", "--format", "json").data
    assert set(told) | {"format_version"} == set(data)
    kinds = get_args(get_type_hints(Idle)["kind"])
    assert all(f"`{kind}`" in section for kind in kinds)
    assert all(field in section for field in Idle._fields)
