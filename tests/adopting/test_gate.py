"""The gate as a team lives with it: a real pre-commit, and the action's own shell steps."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from specpreflight.sources.checkpoint_tree import LAUNCH_SUFFIXES

from .conftest import BIN, ROOT, Ran, Repository

#: What a package installer says where there is no registry.
OFFLINE = ("No matching distribution found", "Could not find a version", "Failed to establish")


class Hooks:
    """A repository whose commits go through the hooks of this project."""

    def __init__(self, repository: Repository, published: Path) -> None:
        self.repository = repository
        example = (ROOT / "examples" / "ci" / "pre-commit-config.yaml").read_text()
        text = example.replace("https://github.com/OWNER/specpreflight", str(published))
        repository.write(".pre-commit-config.yaml", text)
        repository.git("add", ".pre-commit-config.yaml")
        installed = self.run("pre-commit install --install-hooks")
        if any(sign in installed.stdout + installed.stderr for sign in OFFLINE):
            pytest.skip("the package registry cannot be reached")
        assert installed.code == 0, installed

    def run(self, script: str) -> Ran:
        return self.repository.run(script, PRE_COMMIT_HOME=str(self.repository.tools / "hooks"))

    def commit(self) -> Ran:
        """Commit everything; the code is 0 if the hooks let it through."""
        return self.run(
            "git add --all; git -c user.name=A -c user.email=a@example.com commit -q -m change"
        )


def test_red_baseline_green_new_fault_red_fix_green(
    repository: Repository, published: Path
) -> None:
    hooks = Hooks(repository, published)
    assert hooks.commit().code == 0

    old = repository.add_draft("old")
    red = hooks.commit()
    assert red.code == 1
    assert "drafts/old/config.json" in red.stdout + red.stderr

    made = repository.run("specpreflight baseline create known.json scan .")
    assert "known.json: 1 findings (1 new, 0 gone)" in made.stderr
    repository.write("specpreflight.toml", 'engine = "sglang@0.5.11"\nbaseline = "known.json"\n')
    assert hooks.commit().code == 0, "the old finding is known"

    new = repository.add_draft("new")
    red = hooks.commit()
    assert red.code == 1
    assert "drafts/new/config.json" in red.stdout + red.stderr
    assert "drafts/old/config.json" not in red.stdout + red.stderr

    before = old.read_bytes()
    fixed = repository.run("specpreflight scan . --fix")
    assert fixed.code == 0, fixed
    assert '"max_position_embeddings": 262144' in new.read_text()
    assert old.read_bytes() == before, "what is known is left alone"
    assert hooks.commit().code == 0

    repository.add_draft("newer")
    config = repository.folder / ".pre-commit-config.yaml"
    config.write_text(config.read_text().replace("id: specpreflight", "id: specpreflight-fix"))
    repository.git("add", "--all")
    fixing = hooks.run("pre-commit run --all-files")
    assert fixing.code == 1, "pre-commit fails where a hook has changed files"
    assert "files were modified by this hook" in fixing.stdout
    assert hooks.commit().code == 0


@pytest.mark.parametrize("number", [0, 1])
def test_hooks_run_for_whatever_a_scan_reads(number: int) -> None:
    files = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())[number]["files"]
    names = ["config.json", "README.md", "model.safetensors", "specpreflight.toml", "modeling.py"]
    for name in (*names, *(f"serve{suffix}" for suffix in LAUNCH_SUFFIXES)):
        assert re.search(files, f"serve/{name}"), name
    assert not re.search(files, "notes/results.csv")


class Job:
    """A job of GitHub Actions that runs the steps of action.yml, one after the other."""

    def __init__(self, repository: Repository, published: Path) -> None:
        self.repository = repository
        self.published = published
        self.temporary = repository.folder.parent / "runner"
        self.temporary.mkdir()
        self.summary = self.temporary / "summary.md"
        self.action: dict[str, Any] = yaml.safe_load((published / "action.yml").read_text())

    def run(self, name: str, **inputs: str) -> Ran:
        """Run the step of that name, with the inputs that a workflow gives."""
        [step] = [step for step in self.action["runs"]["steps"] if step["name"] == name]
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "expressions go through variables"
        variables = {name: self._value(text, inputs) for name, text in step["env"].items()}
        return self.repository.run(
            step["run"],
            GITHUB_WORKSPACE=str(self.repository.folder),
            GITHUB_STEP_SUMMARY=str(self.summary),
            RUNNER_TEMP=str(self.temporary),
            **variables,
        )

    def _value(self, text: str, inputs: dict[str, str]) -> str:
        def evaluate(match: re.Match[str]) -> str:
            area, name = match[1].split(".")
            if area == "github":
                assert name == "action_path"
                return str(self.published)
            return inputs.get(name, self.action["inputs"][name]["default"])

        return re.sub(r"\$\{\{ (\S+) \}\}", evaluate, text)


def test_the_steps_of_the_action(repository: Repository, published: Path) -> None:
    job = Job(repository, published)
    assert [step["name"] for step in job.action["runs"]["steps"]] == [
        "Install specpreflight",
        "Scan",
    ]
    installed = job.run("Install specpreflight")
    if any(sign in installed.stderr for sign in OFFLINE):
        pytest.skip("the package registry cannot be reached")
    assert installed.code == 0, installed
    assert job.run("Scan").code == 0
    repository.add_draft("bad")
    red = job.run("Scan", sarif="report.sarif", arguments="drafts serve-bad.sh --fail-on warning")
    assert red.code == 1
    assert "::error title=draft-context-shorter" in red.stdout
    assert "file=drafts/bad/config.json,line=" in red.stdout
    assert "draft-context-shorter" in job.summary.read_text()
    assert (repository.folder / "report.sarif").is_file()
    assert job.run("Scan", arguments="nowhere").code == 4


def test_workflows_give_what_the_action_takes() -> None:
    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "github-workflow.yml").read_text())
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    [used] = [
        step for step in workflow["jobs"]["specpreflight"]["steps"]
        if "specpreflight" in step.get("uses", "")
    ]  # fmt: skip
    assert set(used["with"]) <= set(action["inputs"])


def test_the_container_starts_the_tool() -> None:
    text = (ROOT / "examples" / "cluster" / "Containerfile").read_text()
    instructions = dict(re.findall(r"^([A-Z]+) (.*)$", text, re.MULTILINE))
    assert list(instructions) == ["FROM", "COPY", "RUN", "USER", "ENTRYPOINT"]
    entry = yaml.safe_load(instructions["ENTRYPOINT"])
    ran = subprocess.run([BIN / entry[0], "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("specpreflight, version")
