"""Rules of other packages: installed by a real pip, and broken in every way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from specpreflight.rules.registry import load_rules, rule_names

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "kimi-k2.5-eagle3"
RULE = "acme-owner-missing"


class Ran(NamedTuple):
    code: int
    stdout: str
    stderr: str


class Project:
    """A folder with the example's checkpoints, and a place where packages are installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packages = folder / "packages"
        self.packages.mkdir()
        for name in ("target", "draft"):
            shutil.copytree(EXAMPLE / name, folder / name)

    def run(self, *words: str) -> Ran:
        environment = {**os.environ, "PYTHONPATH": str(self.packages)}
        command = [sys.executable, "-m", "specpreflight", *words]
        ran = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def check(self, *options: str) -> Ran:
        return self.run("check", "target", "draft", "--no-env", "--format", "json", *options)

    def add_plugin(self, name: str, code: str) -> None:
        """Write a package without pip: a module, and the entry point in its metadata."""
        (self.packages / f"{name}.py").write_text(code)
        metadata = self.packages / f"{name}-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(
            f"[specpreflight.rules]\n{name} = {name}:RULES\n"
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project into which pip has installed the example plugin, without a network."""
    project = Project(tmp_path_factory.mktemp("acme"))
    source = project.folder / "plugin"
    shutil.copytree(ROOT / "examples" / "plugin", source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    options = ["--no-build-isolation", "--target", str(project.packages), str(source)]
    subprocess.run([*pip, *options], check=True, capture_output=True)
    return project


def test_an_installed_plugin_is_asked_only_when_it_is_named(acme: Project) -> None:
    assert RULE not in acme.check("--isolated").stdout
    ran = acme.check("--isolated", "--plugin", "acme")
    [finding] = [one for one in json.loads(ran.stdout)["findings"] if one["rule"] == RULE]
    assert finding["severity"] == "warning"
    assert finding["values"][0]["origin"]["path"] == "draft/config.json"


def test_the_configuration_names_it_and_speaks_of_its_rules(acme: Project) -> None:
    (acme.folder / "specpreflight.toml").write_text(
        f'plugins = ["acme"]\n[severity]\n{RULE} = "error"\n'
    )
    ran = acme.check("--ignore", "draft-context-shorter")
    assert (ran.code, ran.stderr) == (1, "")
    (acme.folder / "specpreflight.toml").unlink()


def test_every_report_knows_its_page(acme: Project) -> None:
    for form in ("sarif", "html"):
        ran = acme.check("--plugin", "acme", "--format", form)
        assert "which team answers for it" in ran.stdout, ran.stderr


def test_it_is_listed(acme: Project) -> None:
    assert f"{RULE} " not in acme.run("rules").stdout
    assert f"{RULE} " in acme.run("rules", "--plugin", "acme").stdout
    assert "the person on call" in acme.run("explain", RULE, "--plugin", "acme").stdout


def test_a_plugin_that_is_not_installed(project: Project) -> None:
    ran = project.check("--plugin", "nope")
    assert ran.code == 2
    assert "no plugin is called `nope`" in ran.stderr


HEAD = "from specpreflight.rules.rule import Rule\n"
RULES = {
    "cannot be imported": ("import nothing_of_that_name\n", "ModuleNotFoundError"),
    "ends the process": ("raise SystemExit(0)\n", "SystemExit"),
    "has no rules": ("RULES = [1]\n", "TypeError: expected rules, got int"),
    "is no list": ("RULES = 5\n", "TypeError: expected rules, got int"),
    "takes a name": (
        HEAD + "RULES = Rule('vocab-size-differs', 's', '1', lambda *_: iter(()))\n",
        "there is a rule called vocab-size-differs already",
    ),
    "has a rule that fails": (
        HEAD + "RULES = Rule('mine', 's', '1', lambda *_: 1 / 0, engines=())\n",
        "rule mine failed: ZeroDivisionError",
    ),
    "has a rule that finds no findings": (
        HEAD + "RULES = Rule('mine', 's', '1', lambda *_: ['text'], engines=())\n",
        "rule mine failed: AttributeError",
    ),
}


@pytest.mark.parametrize(("code", "problem"), RULES.values(), ids=RULES)
def test_a_broken_plugin_is_an_internal_error_that_is_reported(
    project: Project, code: str, problem: str
) -> None:
    project.add_plugin("broken", code)
    ran = project.check("--plugin", "broken", "--ignore", "draft-context-shorter")
    assert ran.code == 3
    assert "specpreflight: internal error: " in ran.stderr
    assert problem in ran.stderr
    assert "Traceback" not in ran.stderr
    assert json.loads(ran.stdout)["verdict"]["outcome"] == "crashes", "the rest is still checked"


RAISES = """
from specpreflight.rules.rule import Rule

def check(launch, resolved):
    raise ValueError("whatever it reads")
    yield

RULES = Rule("acme-raises", "a rule that fails", "1", check)
"""


def test_a_scan_asks_it_whatever_the_cache_holds(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.folder / "cache"))
    project.add_plugin("raises", RAISES)
    words = ("scan", "draft", "--target", "target", "--no-env")
    plain = project.run(*words)
    assert plain.code == 1
    shutil.copytree(project.folder / "draft", project.folder / "draft" / "epoch_2")
    forms = ("sarif", "markdown", "github", "junit", "html", "json")
    outputs = [word for form in forms for word in ("--output", f"{form}={form}.out")]
    named = project.run(*words, "--plugin", "raises", *outputs)
    assert named.code == 3
    failure = "rule acme-raises failed: ValueError: whatever it reads"
    assert named.stderr.count(failure) == 1, "not for each launch"
    for form in forms:
        assert failure in (project.folder / f"{form}.out").read_text()
    shutil.rmtree(project.folder / "draft" / "epoch_2")
    assert project.run(*words) == plain


def test_names_are_those_of_the_rules() -> None:
    assert list(rule_names()) == [rule.name for rule in load_rules()]
