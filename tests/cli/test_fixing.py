"""`check --fix` and `--diff`: what is written, said and answered."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hub_server import COMMIT, HubServer, hub

__all__ = ["hub"]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
FLAGS = [
    *("--speculative-algorithm", "EAGLE3"),
    *("--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1"),
    *("--speculative-num-draft-tokens", "4"),
    "--trust-remote-code",
]
#: The same launch, with the algorithm of another kind of draft, in four kinds of file.
LAUNCH = (
    "python3 -m sglang.launch_server --model-path target --speculative-draft-model-path draft "
    "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 4"
)
LAUNCH_FILES = {
    "launch.sh": f"#!/bin/sh\n# serve\n{LAUNCH}\n",
    "compose.yaml": "services:\n  llm:\n    image: lmsysorg/sglang:v0.5.11 # pinned\n"
    f"    command: >-\n      {LAUNCH}\n",
    "sglang.service": f"[Service]\n# keep\nExecStart=/usr/bin/{LAUNCH}\n",
    "pod.yaml": "kind: Pod\napiVersion: v1\nmetadata: {name: llm}\nspec:\n  containers:\n"
    "    - name: sglang # one\n      image: lmsysorg/sglang:v0.5.11\n      args:\n"
    + "".join(f'        - "{word}"\n' for word in LAUNCH.split()),
}
OPTIONS = ("--engine", "sglang@0.5.11", "--no-env")


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example's target and draft, below the current directory."""
    for name in ("target", "draft"):
        shutil.copytree(EXAMPLE / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def context_length(path: Path) -> int:
    return int(json.loads((path / "config.json").read_text())["max_position_embeddings"])


def test_patch_takes_the_diff(run: Callable[..., Any], pair: Path) -> None:
    shown = run("check", "target", "draft", *OPTIONS, "--diff", "--", *FLAGS)
    assert shown.code == 0
    assert shown.stdout.startswith("--- draft/config.json\n+++ draft/config.json\n@@ ")
    assert "draft-context-shorter" in shown.stderr
    subprocess.run(["patch", "-p0"], input=shown.stdout, text=True, check=True, capture_output=True)
    patched = (pair / "draft" / "config.json").read_bytes()
    shutil.copy(EXAMPLE / "draft" / "config.json", pair / "draft" / "config.json")
    assert run("check", "target", "draft", *OPTIONS, "--fix", "--", *FLAGS).code == 0
    assert (pair / "draft" / "config.json").read_bytes() == patched


def test_a_second_run_writes_nothing(run: Callable[..., Any], pair: Path) -> None:
    first = run("check", "target", "draft", *OPTIONS, "--fix", "--", *FLAGS)
    assert "fixed draft/config.json (draft-context-shorter)" in first.stderr
    second = run("check", "target", "draft", *OPTIONS, "--fix", "--", *FLAGS)
    assert (second.code, second.stderr) == (0, "")
    assert len(list((pair / "draft" / ".specpreflight").glob("*.json"))) == 2


def test_another_rule_selected(run: Callable[..., Any], pair: Path) -> None:
    words = ("check", "target", "draft", *OPTIONS, "--fix", "--select-fix", "rope-theta-differs")
    assert run(*words, "--", *FLAGS).code == 1
    assert context_length(pair / "draft") == 131072


def test_what_could_not_be_written_is_reported_as_it_is(
    run: Callable[..., Any], pair: Path
) -> None:
    (pair / "draft" / "config.json").chmod(0o444)
    ran = run("check", "target", "draft", *OPTIONS, "--fix", "--format", "json", "--", *FLAGS)
    assert ran.code == 4
    assert "draft/config.json: not written: the file is read-only (mode 444)" in ran.stderr
    assert ran.data["verdict"]["outcome"] == "crashes"


def test_a_fixed_copy_leaves_the_draft_alone(run: Callable[..., Any], pair: Path) -> None:
    copied = run("check", "target", "draft", *OPTIONS, "--fix", "--copy-to", "new", "--", *FLAGS)
    assert copied.code == 0
    assert copied.stderr == (
        "fixed copy: new/config.json; the report is on it, draft/config.json is as it was\n"
    )
    assert context_length(pair / "draft") == 131072
    assert context_length(pair / "new") == 262144


@pytest.mark.parametrize("name", LAUNCH_FILES)
def test_a_flag_goes_into_the_launch_file(name: str, run: Callable[..., Any], pair: Path) -> None:
    draft = pair / "draft" / "config.json"
    draft.write_text(draft.read_text().replace("131072", "262144"))
    file = pair / name
    file.write_text(LAUNCH_FILES[name])
    told = run("check", name, *OPTIONS, "--fix")
    assert told.code == 1
    assert told.stderr == "to add to the launch:\n  --speculative-algorithm EAGLE3\n"
    assert file.read_text() == LAUNCH_FILES[name]
    fixed = run("check", name, *OPTIONS, "--fix", "--launch-file", name)
    assert fixed.code == 0, fixed.stdout
    assert fixed.stderr == (
        f"fixed {name} (algorithm-draft-mismatch); `specpreflight undo {name}` takes it back\n"
    )
    assert file.read_text() == LAUNCH_FILES[name].replace("EAGLE", "EAGLE3")
    assert run("undo", name).code == 0
    assert file.read_text() == LAUNCH_FILES[name]


def test_a_draft_of_the_hub_gets_a_pull_request(
    run: Callable[..., Any], pair: Path, hub: HubServer
) -> None:
    original = (EXAMPLE / "draft" / "config.json").read_bytes()
    hub.files = {"config.json": original}
    words = ("check", "target", "lab/draft", "--online", *OPTIONS, "--fix")
    refused = run(*words, "--", *FLAGS)
    assert refused.code == 4
    assert "it belongs to the Hub's cache, whose files revisions share" in refused.stderr
    ran = run(*words, "--hub-pr", "--", *FLAGS)
    assert ran.code == 1  # the repository is as it was until somebody merges
    assert ran.stderr == f"opened {hub.url}/lab/draft/discussions/7 (draft-context-shorter)\n"
    header, files = hub.committed()
    assert files == {"config.json": original.replace(b"131072", b"262144")}
    assert header["parentCommit"] == COMMIT
    assert "draft-context-shorter" in header["description"]
    hub.refuse["commit"] = 429, ""
    busy = run(*words, "--hub-pr", "--", *FLAGS)
    assert busy.code == 4
    assert busy.stderr.startswith("specpreflight: lab/draft: no pull request was opened: too many")
