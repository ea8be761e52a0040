"""The exit codes, as the contract has them, in every mode of the gate."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A target, a draft that fits, one that does not, and one that cannot be read."""
    config = json.loads((EXAMPLE / "draft" / "config.json").read_text())
    del config["eagle_config"]
    shutil.copytree(EXAMPLE / "target", tmp_path / "target")
    drafts = {"good/d": json.dumps({**config, "max_position_embeddings": 262144}),
              "bad/d": json.dumps(config), "broken/d": json.dumps(config)[:99]}  # fmt: skip
    for name, text in drafts.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.json").write_text(text)
    (tmp_path / "empty.json").write_text("{}")
    (tmp_path / "bad.toml").write_text("engin = 1\n")
    (tmp_path / "wide.toml").write_text('[severity]\ndraft-context-shorter = "note"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


CASES = [
    ("check target good/d", 0),
    ("check target bad/d", 1),
    ("check target bad/d --fail-on never", 0),
    ("check target bad/d --ignore draft-context-shorter", 0),
    ("check target bad/d --config wide.toml", 0),
    ("check target bad/d --diff", 0),
    ("check target bad/d --fix", 0),
    ("check target broken/d", 4),
    ("check target nowhere/d", 4),
    ("check target bad/d --baseline nowhere.json", 4),
    ("check target bad/d --baseline empty.json", 4),
    ("check target bad/d --output html=nowhere/report.html", 4),
    ("check target bad/d --output pdf=report.pdf", 2),
    ("check target bad/d --ignore no-such-rule", 2),
    ("check target bad/d --config bad.toml", 2),
    ("check target bad/d --config nowhere.toml", 2),
    ("check target bad/d --plugin nowhere", 2),
    ("check target bad/d --no-such-option", 2),
    ("scan good target", 0),
    ("scan good bad --target target", 1),
    ("scan good bad --target target --fix", 0),
    ("scan good bad broken --target target", 4),
    ("scan nowhere", 4),
    ("scan bad --target target --config bad.toml", 2),
    ("run -- nowhere-to-be-found", 4),
    ("baseline create new.json scan bad --target target", 0),
    ("baseline create new.json scan bad broken --target target", 4),
    ("baseline create empty.json scan bad --target target", 2),
    ("baseline update nowhere.json scan bad", 4),
    ("baseline create new.json check target bad/d --engine nope", 2),
    ("completion bash", 0),
    ("explain no-such-rule", 2),
]


@pytest.mark.parametrize(("words", "code"), CASES)
def test_exit_code(run: Callable[..., Any], tree: Path, words: str, code: int) -> None:
    given = words.split()
    if given[0] in ("check", "scan"):
        given += ["--engine", "sglang@0.5.11", "--no-env"]
    ran = run(*given)
    assert ran.code == code, ran


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "gitlab", "github", "html"])
def test_a_machine_reads_a_report_whatever_the_code(
    run: Callable[..., Any], tree: Path, form: str
) -> None:
    options = ("--engine", "sglang@0.5.11", "--no-env", "--format", form)
    for words, code in (("check target bad/d", 1), ("check target broken/d", 4)):
        ran = run(*words.split(), *options)
        assert (ran.code, bool(ran.stdout)) == (code, True)
