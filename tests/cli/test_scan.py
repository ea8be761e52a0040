"""`specpreflight scan`: what is found in a tree, how it is paired, and what the exit code says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The target of the incident, and the draft as two epochs of one training run."""
    shutil.copytree(EXAMPLE / "target", tmp_path / "target")
    for epoch in ("epoch_1", "epoch_2"):
        shutil.copytree(EXAMPLE / "draft", tmp_path / "run" / epoch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit_config(path: Path, **changes: Any) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, **changes}, indent=2))


def pairs_of(data: Any) -> list[tuple[str | None, str | None]]:
    reports = data.get("reports", [data])
    return [(one["inputs"]["target"], one["inputs"]["draft"]) for one in reports]


def test_equal_facts_pair_a_draft(run: Callable[..., Any], tree: Path) -> None:
    ran = run("scan", ".", "--no-env", "--format", "json")
    assert ran.code == 1
    assert pairs_of(ran.data) == [("./target", "./run/epoch_1"), ("./target", "./run/epoch_2")]


def test_the_newest_of_a_series(run: Callable[..., Any], tree: Path) -> None:
    ran = run("scan", "run", "--latest", "--target", "target", "--no-env", "--format", "json")
    assert pairs_of(ran.data) == [("target", "run/epoch_2")]


def test_a_draft_without_target_is_listed(run: Callable[..., Any], tree: Path) -> None:
    ran = run("scan", "run/epoch_1", "--no-env", "--output", "html=report.html")
    assert ran.code == 0
    assert "1 draft without a target:\n  run/epoch_1: " in ran.stdout
    assert "drafts without a target: 1</summary>" in (tree / "report.html").read_text()


def test_drafts_that_differ_beside_the_config_are_two(run: Callable[..., Any], tree: Path) -> None:
    for epoch, text in (("epoch_1", '{"eos_token_id": 1}'), ("epoch_2", '{"eos_token_id": 1]')):
        (tree / "run" / epoch / "generation_config.json").write_text(text)
    ran = run("scan", "run", "--target", "target", "--no-env", "--format", "json")
    alone = run("check", "target", "run/epoch_2", "--no-env", "--format", "json")
    assert ran.data["reports"][1]["findings"] == alone.data["findings"]


def test_where_the_model_type_is_missing_the_path_counts(
    run: Callable[..., Any], tree: Path
) -> None:
    for epoch in ("epoch_1", "epoch_2"):
        config = json.loads((tree / "run" / epoch / "config.json").read_text())
        del config["model_type"]
        (tree / "run" / epoch / "config.json").write_text(json.dumps(config))
    (tree / "run" / "epoch_2").rename(tree / "run" / "llama-head")
    engine = ("--engine", "sglang@0.5.9", "--no-env", "--format", "json")
    ran = run("scan", "run", "--target", "target", *engine)
    assert [one["findings"] for one in ran.data["reports"]] == [
        run("check", "target", f"run/{name}", *engine).data["findings"]
        for name in ("epoch_1", "llama-head")
    ]


def test_an_unreadable_config_leaves_the_others(run: Callable[..., Any], tree: Path) -> None:
    (tree / "run" / "epoch_1" / "config.json").write_text('{"model_type": ')
    ran = run("scan", "run", "--target", "target", "--no-env", "--format", "json")
    assert ran.code == 4
    assert [one["verdict"]["outcome"] for one in ran.data["reports"]] == ["refuses", "crashes"]


def test_why_a_config_is_unreadable_is_told_once_for_each_file(
    run: Callable[..., Any], tree: Path
) -> None:
    for epoch in ("epoch_1", "epoch_2"):
        (tree / "run" / epoch / "config.json").write_text("<html>")
    shutil.copytree(EXAMPLE / "draft", tree / "run" / "epoch_3")
    ran = run("scan", "run", "--target", "run/epoch_1", "--no-env", "--output", "markdown=out")
    assert ran.code == 4
    told = ran.stderr.splitlines()
    page = "is an HTML page, probably the error or login page of a download"
    assert [line for line in told if "is an HTML page" in line] == [
        f"specpreflight: run/epoch_1/config.json: {page}",
        f"specpreflight: run/epoch_2/config.json: {page}",
    ]
    assert "run/epoch_2/config.json: is an HTML page" in (tree / "out").read_text()


def test_weights_that_cannot_be_read_do_not_part_a_pair(
    run: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "run" / "epoch_1" / "model.safetensors").write_bytes(bytes(8))
    os.mkfifo(tree / "run" / "epoch_2" / "model.safetensors")

    def refuse(path: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("specpreflight.sources.checkpoint_identity._read_header", refuse)
    ran = run("scan", ".", "--no-env", "--format", "json")
    assert pairs_of(ran.data) == [("./target", "./run/epoch_1"), ("./target", "./run/epoch_2")]


@pytest.mark.parametrize("engine", ["sglang@0.5.11", "vllm"])
def test_words_for_all_leave_the_algorithm_to_each_draft(
    run: Callable[..., Any], tree: Path, engine: str
) -> None:
    words = ("scan", "run", "--target", "target", "--no-env", "--engine", engine)
    plain = run(*words, "--format", "json")
    sized = run(*words, "--format", "json", "--", "--trust-remote-code")
    for one, other in zip(plain.data["reports"], sized.data["reports"], strict=True):
        assert one["verdict"] == other["verdict"]
    flags = sized.data["reports"][0]["inputs"]["flags"]
    assert "trust-remote-code" in flags
    assert any(name.startswith("speculative-") for name in flags)
    off = run(*words[:4], "--", "--speculative-num-steps", "3")
    assert "speculation-off" in off.stdout


def test_a_pairs_file(run: Callable[..., Any], tree: Path) -> None:
    shutil.copytree(EXAMPLE / "target", tree / "other")
    (tree / "pairs.tsv").write_text("# target\tdraft\nother\trun/epoch_*\n")
    ran = run("scan", "run", "--pairs", "pairs.tsv", "--no-env", "--format", "json")
    assert pairs_of(ran.data) == [("other", "run/epoch_1"), ("other", "run/epoch_2")]
    assert ran.data["reports"][0]["inputs"]["paired_by"] == "pairs.tsv:2"


def test_a_pairs_file_may_name_what_lies_elsewhere(run: Callable[..., Any], tree: Path) -> None:
    (tree / "pairs.json").write_text('[{"target": "target", "draft": "run/epoch_1"}]')
    (tree / "empty").mkdir()
    ran = run("scan", "empty", "--pairs", "pairs.json", "--no-env", "--format", "json")
    assert pairs_of(ran.data) == [("target", "run/epoch_1")]


@pytest.mark.parametrize("text", ["target\n", "a b c\n", "'a b\n", "[3]", "[{}]"])
def test_a_pairs_file_that_is_none(run: Callable[..., Any], tree: Path, text: str) -> None:
    (tree / "pairs").write_text(text)
    ran = run("scan", "run", "--pairs", "pairs", "--no-env", "--format", "json")
    assert (ran.code, ran.stdout) == (4, "")
    assert ran.stderr.startswith("specpreflight: pairs")


def test_what_a_draft_says_itself_comes_first(run: Callable[..., Any], tree: Path) -> None:
    shutil.copytree(EXAMPLE / "target", tree / "org" / "Other")
    edit_config(tree / "run" / "epoch_1", target_model_name_or_path="org/Other")
    (tree / "run" / "epoch_2" / "README.md").write_text(
        "---\nlicense: mit\nbase_model:\n  - 'Org/other'\n---\n# A draft\n"
    )
    ran = run("scan", ".", "--no-env", "--format", "json")
    drafts = {draft: target for target, draft in pairs_of(ran.data) if draft}
    assert drafts == {"./run/epoch_1": "org/Other", "./run/epoch_2": "./org/Other"}


def test_a_target_that_is_named_and_not_here(run: Callable[..., Any], tree: Path) -> None:
    edit_config(tree / "run" / "epoch_1", target_model_name_or_path="nobody/Nothing")
    ran = run("scan", "target", "run/epoch_1", "--no-env")
    assert "names nobody/Nothing, which is not here" in ran.stdout
    assert ran.code == 0


def test_two_targets_with_the_same_facts_are_not_guessed_between(
    run: Callable[..., Any], tree: Path
) -> None:
    shutil.copytree(EXAMPLE / "target", tree / "second")
    edit_config(tree / "second", num_hidden_layers=30)
    config = json.loads((tree / "second" / "config.json").read_text())
    config["text_config"]["num_hidden_layers"] = 30
    (tree / "second" / "config.json").write_text(json.dumps(config))
    ran = run("scan", ".", "--no-env")
    assert "2 here have hidden size 7168" in ran.stdout


def test_equal_facts_are_an_inference(run: Callable[..., Any], tree: Path) -> None:
    by_facts = run("scan", "target", "run", "--no-env", "--format", "json-lines")
    by_option = run("scan", "run", "--target", "target", "--no-env", "--format", "json-lines")
    for ran, expected in ((by_facts, {"inferred"}), (by_option, {"proven"})):
        report = json.loads(ran.stdout.splitlines()[0])
        assert {finding["confidence"] for finding in report["findings"]} == expected


def test_launch_files_are_checked_as_launches(run: Callable[..., Any], tree: Path) -> None:
    (tree / "serve.sh").write_text(
        "#!/bin/sh\npython -m sglang.launch_server --model-path target "
        "--speculative-draft-model-path run/epoch_1 --speculative-algorithm EAGLE3 "
        "--context-length 131072\n"
    )
    (tree / "notes.yaml").write_text("sglang: a word in a file that starts nothing\n")
    ran = run("scan", ".", "--no-env", "--format", "json")
    first, *others = ran.data["reports"]
    assert first["inputs"]["launch_file"] == "./serve.sh"
    assert first["verdict"]["outcome"] != "crashes"
    assert [one["inputs"]["draft"] for one in others] == ["./run/epoch_2"]


def test_what_a_launch_file_names_may_be_elsewhere(run: Callable[..., Any], tree: Path) -> None:
    (tree / "only").mkdir()
    (tree / "only" / "serve.sh").write_text(
        "sglang serve --model-path /models/m --speculative-algorithm EAGLE3 "
        "--speculative-draft-model-path /models/d\n"
    )
    ran = run("scan", "only", "--no-env")
    assert ran.code == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("release", ["0.4.8", "0.5.11", "0.5.23"])
@pytest.mark.parametrize("draft", ["$1", "org/draft", "/models/draft", "drafts/x"])
def test_a_draft_that_is_elsewhere_is_unknown_where_the_target_is_here(
    run: Callable[..., Any], tree: Path, draft: str, release: str
) -> None:
    (tree / "serve.sh").write_text(
        "sglang serve --model-path target --trust-remote-code --speculative-algorithm EAGLE3 "
        "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 "
        f"--speculative-draft-model-path {draft}\n"
    )
    ran = run("scan", "serve.sh", "--no-env", "--engine", f"sglang@{release}", "--format", "json")
    [report] = ran.data["reports"]
    assert not [one for one in report["findings"] if one["stage"] == "draft-config"]
    assert "config-unreadable" not in {one["rule"] for one in report["findings"]}
    reasons = [one["reason"] for one in report["skipped"] if one["needs"] == "draft.config"]
    assert reasons


def test_all_launches_of_a_file(run: Callable[..., Any], tree: Path) -> None:
    (tree / "two.sh").write_text(
        "sglang serve --model-path target --port 1 &\nsglang serve --model-path target --port 2\n"
    )
    ran = run("scan", "two.sh", "--no-env", "--format", "json")
    assert [one["inputs"]["flags"]["port"] for one in ran.data["reports"]] == ["1", "2"]
    assert ran.stderr == ""


def test_other_programs_and_hidden_directories_are_left_alone(
    run: Callable[..., Any], tree: Path
) -> None:
    for name, text in (
        ("vae", '{"_class_name": "AutoencoderKL"}'),
        ("web", '{"port": 80, // no JSON\n}'),
        (".git", '{"model_type": "llama"}'),
        ("optimizer_states", '{"model_type": "llama"}'),
    ):
        (tree / "rest" / name).mkdir(parents=True)
        (tree / "rest" / name / "config.json").write_text(text)
    ran = run("scan", "rest", "--no-env")
    assert (ran.code, ran.stderr) == (
        0,
        "specpreflight: no checkpoint and no launch found to check\n",
    )


def test_a_loop_of_links_has_an_end(run: Callable[..., Any], tree: Path) -> None:
    (tree / "run" / "again").symlink_to(tree)
    (tree / "run" / "latest").symlink_to("epoch_2")
    (tree / "elsewhere").mkdir()
    (tree / "run" / "dangling").symlink_to("nowhere")
    (tree / "run" / "itself").symlink_to("itself")
    (tree / "run" / "serve.sh").symlink_to("serve.sh")
    ran = run("scan", "run", "--target", "target", "--no-env", "--format", "json")
    assert ran.data["unreadable"] == []
    assert pairs_of(ran.data) == [("target", "run/epoch_1"), ("target", "run/epoch_2")]


def test_links_that_overlap_give_each_checkpoint_once(run: Callable[..., Any], tree: Path) -> None:
    (tree / "links").mkdir()
    (tree / "links" / "a").symlink_to("../run/epoch_1")
    (tree / "links" / "b").symlink_to("../run")
    ran = run("scan", "links", "--target", "target", "--no-env", "--format", "json")
    assert pairs_of(ran.data) == [("target", "links/a"), ("target", "links/b/epoch_2")]


def test_a_link_that_leads_out_is_followed(run: Callable[..., Any], tree: Path) -> None:
    (tree / "links").mkdir()
    (tree / "links" / "draft").symlink_to("../run/epoch_1")
    ran = run("scan", "links", "links/draft", "--target", "target", "--format", "json")
    assert pairs_of(ran.data) == [("target", "links/draft")]


def test_an_unreadable_directory_hides_nothing(
    run: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "run" / "closed").mkdir()
    scandir = os.scandir

    def refuse(path: Any = ".") -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    outputs = ("--output", "junit=report.xml", "--output", "markdown=report.md")
    ran = run("scan", "run", "--target", "target", "--no-env", "--format", "json", *outputs)
    assert ran.code == 4
    assert ran.data["unreadable"] == [{"path": "run/closed", "reason": "permission denied"}]
    assert "run/closed: permission denied</error>" in (tree / "report.xml").read_text()
    assert "- run/closed: permission denied\n" in (tree / "report.md").read_text()
    assert "specpreflight: run/closed: permission denied" in ran.stderr
    assert len(ran.data["reports"]) == 2


def test_a_path_that_is_not_there(run: Callable[..., Any], tree: Path) -> None:
    ran = run("scan", "nowhere", "run", "--target", "target", "--no-env")
    assert ran.code == 4
    assert "nowhere: no such file or directory" in ran.stderr
    assert "2 launches, 2 with errors" in ran.stdout


def test_a_rule_that_fails_is_an_internal_error(
    run: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from specpreflight.rules import registry
    from specpreflight.rules.files import key_repeated

    def fail(*_: object) -> Any:
        raise RuntimeError("a defect")

    monkeypatch.setattr(key_repeated, "RULE", key_repeated.RULE._replace(check=fail))
    monkeypatch.setattr(registry, "_load", registry._load.__wrapped__)
    ran = run("scan", "run", "--target", "target", "--no-env", "--no-cache", "--jobs", "1")
    assert ran.code == 3
    assert "rule key-repeated failed: RuntimeError: a defect" in ran.stderr
    assert "2 launches, 2 with errors" in ran.stdout


def test_exit_codes_follow_fail_on(run: Callable[..., Any], tree: Path) -> None:
    words = ("scan", "run", "--target", "target", "--no-env")
    assert run(*words).code == 1
    assert run(*words, "--fail-on", "never").code == 0
    assert run(*words, "--ignore", "draft-context-shorter").code == 0
    assert run(*words, "--ignore", "draft-context-shorter", "--fail-on", "note").code == 1
    assert run("scan").code == 2
    assert run(*words, "--engine", "nonsense").code == 2
    assert run(*words, "--output", "nonsense").code == 2


def test_several_outputs_at_once(run: Callable[..., Any], tree: Path) -> None:
    ran = run(
        "scan", "run", "--target", "target", "--no-env",
        "--output", "sarif=out.sarif", "--output", "json=out.json", "--output", "junit=out.xml",
    )  # fmt: skip
    assert ran.stdout.startswith("run/epoch_1 for target")
    assert len(json.loads(Path("out.sarif").read_text())["runs"][0]["results"]) >= 2
    assert json.loads(Path("out.json").read_text())["summary"]["errors"] == 2
    assert Path("out.xml").read_text().count("<testsuite ") == 2


def test_json_of_nothing_is_json(run: Callable[..., Any], tree: Path) -> None:
    (tree / "empty").mkdir()
    data = run("scan", "empty", "--no-env", "--format", "json").data
    assert data["reports"] == data["unpaired"] == data["unreadable"] == []
    assert set(data["summary"].values()) == {0}


def test_two_engines(run: Callable[..., Any], tree: Path) -> None:
    engines = ("--engine", "sglang@0.5.11", "--engine", "vllm")
    ran = run("scan", "run/epoch_1", "--target", "target", *engines, "--no-env", "--format", "json")
    assert [one["engine"]["name"] for one in ran.data["reports"]] == ["sglang", "vllm"]


def test_a_hub_cache(run: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tree / "hub"))
    for name, source, commit in (("Target", "target", "a1"), ("Draft", "draft", "b2")):
        folder = tree / "hub" / f"models--Org--{name}"
        shutil.copytree(EXAMPLE / source, folder / "snapshots" / commit)
        shutil.copytree(EXAMPLE / source, folder / "snapshots" / "older")
        (folder / "refs").mkdir()
        (folder / "refs" / "main").write_text(commit)
    edit_config(
        tree / "hub" / "models--Org--Draft" / "snapshots" / "b2",
        target_model_name_or_path="Org/Target",
    )
    ran = run("scan", "--hub-cache", "--no-env", "--format", "json")
    [(target, draft)] = pairs_of(ran.data)
    assert target is not None
    assert target.endswith("models--Org--Target/snapshots/a1")
    assert draft is not None
    assert draft.endswith("models--Org--Draft/snapshots/b2")


class TestChangedSince:
    @pytest.fixture(autouse=True)
    def repository(self, tree: Path) -> None:
        (tree / "serve.sh").write_text("sglang serve --model-path target\n")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "start")

    def git(self, *words: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *identity, *words], check=True)

    def drafts(self, run: Callable[..., Any], *options: str) -> list[str | None]:
        ran = run("scan", ".", "--changed-since", "HEAD", "--no-env", "--format", "json", *options)
        return [draft for _, draft in pairs_of(ran.data)]

    def test_nothing_changed(self, run: Callable[..., Any]) -> None:
        assert self.drafts(run) == []

    def test_a_draft_changed(self, run: Callable[..., Any], tree: Path) -> None:
        edit_config(tree / "run" / "epoch_2", max_position_embeddings=65536)
        assert self.drafts(run) == ["./run/epoch_2"]

    def test_a_target_changed(self, run: Callable[..., Any], tree: Path) -> None:
        edit_config(tree / "target", tie_word_embeddings=True)
        assert self.drafts(run) == [None, "./run/epoch_1", "./run/epoch_2"]

    def test_a_target_is_gone(self, run: Callable[..., Any], tree: Path) -> None:
        edit_config(tree / "run" / "epoch_1", target_model_name_or_path="../../target")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "name the target")
        shutil.rmtree(tree / "target")
        (tree / "serve.sh").unlink()
        assert self.drafts(run) == ["./run/epoch_1"]

    def test_a_new_draft(self, run: Callable[..., Any], tree: Path) -> None:
        shutil.copytree(tree / "run" / "epoch_1", tree / "run" / "epoch_3")
        assert self.drafts(run) == ["./run/epoch_3"]

    def test_a_launch_file_changed(self, run: Callable[..., Any], tree: Path) -> None:
        (tree / "serve.sh").write_text("sglang serve --model-path target --port 3\n")
        assert self.drafts(run) == [None]

    def test_a_file_of_variables_changed(self, run: Callable[..., Any], tree: Path) -> None:
        serve, variables = tree / "deploy" / "compose.yaml", tree / "deploy" / "common.env"
        serve.parent.mkdir()
        serve.write_text(
            "services:\n  kimi:\n    image: lmsysorg/sglang:v0.5.11\n    env_file: common.env\n"
            "    command: sglang serve --model-path /models/t\n"
        )
        variables.write_text("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1\n")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "serve it")
        assert self.drafts(run) == []
        variables.write_text("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=0\n")
        assert self.drafts(run) == [None]

    def test_a_pairs_file_changed(self, run: Callable[..., Any], tree: Path) -> None:
        (tree / "pairs").write_text("target run/epoch_1\n")
        assert self.drafts(run, "--pairs", "pairs") == ["./run/epoch_1"]

    def test_an_unknown_revision(self, run: Callable[..., Any]) -> None:
        ran = run("scan", ".", "--changed-since", "nowhere")
        assert ran.code == 2
        assert "--changed-since nowhere: no such revision" in ran.stderr

    def test_no_repository(self, run: Callable[..., Any], tmp_path_factory: Any) -> None:
        ran = run("scan", tmp_path_factory.mktemp("plain"), "--changed-since", "HEAD")
        assert ran.code == 4
        assert "in no git repository" in ran.stderr


def test_from_python(tree: Path) -> None:
    from specpreflight import Report, scan

    reports = list(scan("run", target="target", engine="sglang@0.5.11", latest=True))
    assert all(isinstance(report, Report) for report in reports)
    assert [report.verdict.outcome.value for report in reports] == ["crashes"]
