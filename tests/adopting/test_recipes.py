"""docs/ci.md, recipe by recipe: its commands, and the files that it shows."""

from __future__ import annotations

import json
import re
import shutil
from xml.etree import ElementTree

import pytest
import yaml

from .conftest import ROOT, Repository

PAGE = (ROOT / "docs" / "ci.md").read_text()
RECIPES = re.split(r"^## \d\. ", PAGE, flags=re.MULTILINE)[1:]


def blocks(recipe: int, language: str) -> list[str]:
    """The fenced blocks of a recipe that no file of examples/ stands for."""
    text = re.sub(r"<!-- file:.*?<!-- /file -->", "", RECIPES[recipe - 1], flags=re.DOTALL)
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_there_are_five() -> None:
    assert len(RECIPES) == 5
    assert all(blocks(number, "sh") for number in range(1, 6))


def test_1_a_baseline(repository: Repository) -> None:
    repository.add_draft("old")
    [commands] = blocks(1, "sh")
    ran = repository.run(commands)
    assert ran.code == 0
    assert "known.json: 1 findings (1 new, 0 gone)" in ran.stderr
    repository.add_draft("new")
    again = repository.run(commands.splitlines()[1])
    assert again.code == 1
    assert "drafts/new/config.json" in again.stdout
    assert "drafts/old/config.json" not in again.stdout


def test_3_gitlab(repository: Repository) -> None:
    repository.add_draft("bad")
    job = yaml.safe_load((ROOT / "examples" / "ci" / "gitlab-ci.yml").read_text())["specpreflight"]
    ran = repository.run("\n".join(job["script"]), CI_PROJECT_DIR=str(repository.folder))
    assert ran.code == 1
    reports = job["artifacts"]["reports"]
    issues = json.loads((repository.folder / reports["codequality"]).read_text())
    assert {issue["location"]["path"] for issue in issues} >= {"drafts/bad/config.json"}
    suites = ElementTree.parse(repository.folder / reports["junit"]).getroot()
    assert len(suites) == 2
    [page] = job["artifacts"]["paths"]
    assert (repository.folder / page).read_text().startswith("<!doctype html>")


def test_3_any_other_pipeline_and_only_what_changed(repository: Repository) -> None:
    everything, changed = blocks(3, "sh")
    assert repository.run(everything).code == 0
    for name in ("specpreflight.xml", "specpreflight.html"):
        assert (repository.folder / name).is_file()
    repository.add_draft("bad")
    repository.commit()
    repository.write("NOTES.md", "unrelated\n")
    repository.commit()
    assert repository.run(changed).code == 0
    assert repository.run("specpreflight scan . --changed-since HEAD~2").code == 1


def test_4_run_becomes_the_server(repository: Repository) -> None:
    [command] = blocks(4, "sh")
    repository.stand_in("python3")
    assert repository.run(command).code == 0
    assert repository.called()[0].startswith("python3 -m sglang.launch_server --model-path target")
    repository.add_draft("bad")
    refused = repository.run(command.replace("drafts/good", "drafts/bad"))
    assert refused.code == 1
    assert len(repository.called()) == 1


def on_this_machine(repository: Repository, text: str) -> str:
    """A launch whose /models is the repository's own."""
    models = repository.folder / "models"
    if not models.exists():
        shutil.copytree(repository.folder / "target", models / "target")
        shutil.copytree(repository.folder / "drafts" / "good", models / "draft")
    return text.replace("/models", str(models))


def test_4_slurm_and_skypilot(repository: Repository) -> None:
    cluster = ROOT / "examples" / "cluster"
    sky = yaml.safe_load((cluster / "skypilot.yaml").read_text())
    repository.stand_in("python3")
    repository.stand_in("srun", '#!/bin/sh\nexec "$@"\n')
    for text in ((cluster / "serve.sbatch").read_text(), sky["run"]):
        ran = repository.run(on_this_machine(repository, text))
        assert ran.code == 0, ran.stderr
    assert len(repository.called()) == 2
    change = repository.folder / "models" / "draft" / "config.json"
    change.write_text(repository.draft_config())
    assert repository.run(on_this_machine(repository, sky["run"])).code == 1
    assert len(repository.called()) == 2


def test_4_the_init_container_checks_what_the_server_starts(repository: Repository) -> None:
    text = (ROOT / "examples" / "cluster" / "kubernetes.yaml").read_text()
    pod = yaml.safe_load(text)["spec"]["template"]["spec"]
    [preflight], [server] = pod["initContainers"], pod["containers"]
    for part in ("args", "env", "volumeMounts"):
        assert preflight[part] == server[part]
    words = [*preflight["command"], *preflight["args"]]
    command = " ".join(on_this_machine(repository, word) for word in words)
    assert repository.run(command).code == 0
    (repository.folder / "models" / "draft" / "config.json").write_text(repository.draft_config())
    assert repository.run(command).code == 1


def test_4_the_manifest_is_a_launch_of_its_server(repository: Repository) -> None:
    text = (ROOT / "examples" / "cluster" / "kubernetes.yaml").read_text()
    repository.write("deployment.yaml", on_this_machine(repository, text))
    ran = repository.run("specpreflight check deployment.yaml --format json")
    report = json.loads(ran.stdout)
    assert (ran.code, report["engine"]["version"]) == (0, "0.5.11")
    assert report["engine"]["determined_by"] == "image lmsysorg/sglang:v0.5.11"
    assert report["inputs"]["environment"] == {"NCCL_PROTO": "LL"}


def test_5_before_the_training(repository: Repository) -> None:
    [command] = blocks(5, "sh")
    repository.write("configs/draft.json", repository.draft_config())
    refused = repository.run(command)
    assert refused.code == 1
    assert re.search(r"configs/draft\.json:\d+:\d+", refused.stdout)
    repository.write("configs/draft.json", repository.draft_config(max_position_embeddings=262144))
    assert repository.run(command).code == 0


def test_5_from_python(repository: Repository) -> None:
    [loop] = blocks(5, "python")
    repository.write("loop.py", loop)
    assert repository.run("python loop.py").code == 0
    repository.add_draft("good")
    refused = repository.run("python loop.py")
    assert refused.code == 1
    assert "AssertionError: SGLang" in refused.stderr


class Trainer:
    """Stand-ins that leave checkpoints as a framework leaves them."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.output = repository.folder.parent / "output"
        for name in ("good", "bad"):
            fits = {} if name == "bad" else {"max_position_embeddings": 262144}
            repository.write(f"exported/{name}.json", repository.draft_config(**fits))

    def exports(self, program: str, *places: str) -> None:
        """Let a program write a draft into each of the folders."""
        listed = " ".join(f'"$OUTPUT/{place}"' for place in places)
        self.repository.stand_in(
            program,
            f"#!/bin/sh\nmkdir -p {listed}\n"
            f'for place in {listed}; do cp "exported/$EXPORTED.json" "$place/config.json"; done\n',
        )

    def run(self, script: str, exported: str) -> int:
        text = (ROOT / "examples" / "training" / script).read_text()
        ran = self.repository.run(
            text.replace("./launch_train.sh", "launch_train.sh"),
            TARGET="target", DRAFT_CONFIG="exported/good.json", DATA="data.jsonl",
            OUTPUT=str(self.output), EXPORTED=exported,
        )  # fmt: skip
        assert ran.code == 0 or "draft-context-shorter" in ran.stdout, ran
        return ran.code


@pytest.fixture
def trainer(repository: Repository) -> Trainer:
    return Trainer(repository)


def test_5_specforge(trainer: Trainer) -> None:
    trainer.exports("torchrun", "epoch_0", "epoch_1")
    assert trainer.run("specforge.sh", "good") == 0
    assert trainer.run("specforge.sh", "bad") == 1


def test_5_modelopt(trainer: Trainer) -> None:
    trainer.exports("launch_train.sh", "trained")
    trainer.exports("python", "export")
    assert trainer.run("modelopt.sh", "good") == 0
    assert trainer.run("modelopt.sh", "bad") == 1


def test_5_speculators(trainer: Trainer, repository: Repository) -> None:
    target = str(repository.folder / "target")
    for name, hidden_size in (("good", 7168), ("bad", 4096)):
        layer = {**json.loads(repository.draft_config()), "hidden_size": hidden_size}
        verifier = {"name_or_path": target, "architectures": ["KimiK25ForConditionalGeneration"]}
        config = {
            "architectures": ["Eagle3Speculator"],
            "speculators_model_type": "eagle3",
            "speculators_config": {
                "algorithm": "eagle3",
                "default_proposal_method": "greedy",
                "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 3}],
                "verifier": verifier,
            },
            "draft_vocab_size": 32000,
            "transformer_layer_config": {**layer, "architectures": ["LlamaForCausalLM"]},
        }
        repository.write(f"exported/{name}.json", json.dumps(config))
    trainer.exports("torchrun", "0", "1")
    assert trainer.run("speculators.sh", "good") == 0
    again = repository.run(f"specpreflight scan {trainer.output} --latest --format json")
    [report] = json.loads(again.stdout)["reports"]
    inputs = report["inputs"]
    assert (inputs["draft"], inputs["target"]) == (str(trainer.output / "1"), target)
