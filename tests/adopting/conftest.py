"""A team's repository with launches in it, and the tools that its pipelines call."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "kimi-k2.5-eagle3"

#: `bin` of the environment that the tests run in, where `specpreflight` and `pre-commit` are.
BIN = Path(sys.executable).parent

#: A stand-in for the engine, a trainer or an exporter: it says what it was called with.
STAND_IN = '#!/bin/sh\necho "$(basename "$0") $*" >> "$CALLS"\n'

SERVE = """\
#!/bin/sh
python3 -m sglang.launch_server --model-path target --trust-remote-code \\
  --speculative-algorithm EAGLE3 --speculative-draft-model-path drafts/{draft} \\
  --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4
"""


class Ran(NamedTuple):
    code: int
    stdout: str
    stderr: str


class Repository:
    """A git repository: a target, drafts, a script that serves each, and a template to train."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tools = folder.parent / "tools"
        self.calls = folder.parent / "calls"
        folder.mkdir()
        self.tools.mkdir()
        shutil.copytree(EXAMPLE / "target", folder / "target")
        self.write("specpreflight.toml", 'engine = "sglang@0.5.11"\n')
        self.git("init", "--quiet")
        self.add_draft("good", max_position_embeddings=262144)

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
        command = ["git", *identity, *words]
        ran = subprocess.run(
            command, cwd=self.folder, env=self.environment(), capture_output=True, check=True
        )
        return ran.stdout.decode()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--no-verify", "--message", "change")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def draft_config(self, **changes: Any) -> str:
        config = json.loads((EXAMPLE / "draft" / "config.json").read_text())
        del config["eagle_config"]  # which has a warning of its own
        return json.dumps({**config, **changes}, indent=2) + "\n"

    def add_draft(self, name: str, **changes: Any) -> Path:
        """Add a draft (as the incident's, if nothing is changed) and the script that serves it."""
        self.write(f"serve-{name}.sh", SERVE.format(draft=name))
        return self.write(f"drafts/{name}/config.json", self.draft_config(**changes))

    def stand_in(self, name: str, text: str = STAND_IN) -> None:
        """Put a program on the path."""
        path = self.tools / name
        path.write_text(text)
        path.chmod(0o755)

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        return {
            **kept,
            **pip,
            "PATH": f"{self.tools}:{BIN}:{os.environ['PATH']}",
            "CALLS": str(self.calls),
            "XDG_CACHE_HOME": str(self.folder.parent / "cache"),
        }

    def run(self, script: str, **environment: str) -> Ran:
        """Run a script as a pipeline's shell does."""
        ran = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=self.folder,
            env={**self.environment(), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def called(self) -> list[str]:
        """What the stand-ins were called with."""
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    made.commit()
    return made


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This project as a repository with a tag, as hooks and actions are fetched from."""
    folder = tmp_path_factory.mktemp("published") / "specpreflight"
    folder.mkdir()
    names = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "action.yml")
    for name in (*names, ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("src", "docs"):
        left_out = shutil.ignore_patterns("__pycache__", "rules")
        ignore = left_out if name == "docs" else shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "release")):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    subprocess.run(["git", "tag", "v0.1.0"], cwd=folder, check=True)
    return folder
