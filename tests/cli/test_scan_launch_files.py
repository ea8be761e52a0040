"""Launch files of a tree: the command line and the Python API read them with one function."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specpreflight import scan
from specpreflight.models.finding import Origin
from specpreflight.models.launch import Hardware, Launch, Variable
from specpreflight.models.report import Report
from specpreflight.reports.json import report_data
from specpreflight.scanning import ScanError, launches

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
EAGLE3 = (
    "--speculative-algorithm EAGLE3 --speculative-num-steps 3 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 4"
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A target, three drafts, and what starts two of them: a script with two launches, compose."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "tree"
    shutil.copytree(EXAMPLE / "target", root / "target")
    for number in (1, 2, 3):
        shutil.copytree(EXAMPLE / "draft", root / "run" / f"epoch_{number}")
    (root / "serve").mkdir()
    (root / "serve" / "all.sh").write_text(
        "export SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1\n"
        f"sglang serve --model-path ../target --port 1 {EAGLE3} "
        "--speculative-draft-model-path ../run/epoch_1 &\n"
        "vllm serve ../target --max-model-len 131072\n"
    )
    (root / "serve" / "compose.yaml").write_text(
        "services:\n  kimi:\n    image: lmsysorg/sglang:v0.5.9\n"
        "    volumes: ['../:/models']\n"
        "    command: python3 -m sglang.launch_server --model-path /models/target "
        f"{EAGLE3} --speculative-draft-model-path /models/run/epoch_2\n"
    )
    (root / "serve" / "notes.yaml").write_text("sglang: starts nothing\n")
    monkeypatch.chdir(root)
    return root


def by_command(run: Callable[..., Any], *words: str) -> list[Any]:
    ran = run("scan", ".", "--no-env", "--isolated", "--format", "json", *words)
    return ran.data["reports"]


def by_python(**options: Any) -> list[Any]:
    return [json.loads(json.dumps(report_data(report))) for report in scan(".", **options)]


HARDWARE = Hardware(memory_mib=81559, gpus=8)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), {}),
        (("--engine", "sglang@0.5.11"), {"engine": "sglang@0.5.11"}),
        (("--engine", "vllm"), {"engine": "vllm"}),
        (("--target", "target", "--latest"), {"target": "target", "latest": True}),
        (("--hardware", "memory_mib=81559,gpus=8"), {"hardware": HARDWARE}),
        (("--", "--tp", "8"), {"words": ["--tp", "8"]}),
    ],
)
def test_both_say_the_same_in_the_same_order(
    run: Callable[..., Any], tree: Path, words: tuple[str, ...], options: dict[str, Any]
) -> None:
    reports = by_command(run, *words)
    assert by_python(**options) == reports
    files = [one["inputs"]["launch_file"] for one in reports]
    assert files[:3] == ["./serve/all.sh", "./serve/all.sh", "./serve/compose.yaml"]
    assert set(files[3:]) == {None}


def test_variables_are_those_of_env(run: Callable[..., Any], tree: Path) -> None:
    name = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
    given = {name: Variable(name, "0", Origin("environment", name=name))}
    first, *others = by_python(environment=given)
    assert first["inputs"]["environment"] == {name: "0"}
    said = by_command(run, "--env", f"{name}=0")
    assert [one["verdict"] for one in (first, *others)] == [one["verdict"] for one in said]


def test_each_file_is_asked_about_its_own_engine(run: Callable[..., Any], tree: Path) -> None:
    """The release of `--engine` for its engine's launches; what is given wins over the image."""
    used = [one["engine"] for one in by_command(run, "--engine", "sglang@0.5.11")[:3]]
    assert [(one["name"], one["determined_by"]) for one in used] == [
        ("sglang", "--engine sglang@0.5.11"),
        ("vllm", "assumed: the newest known release"),
        ("sglang", "--engine sglang@0.5.11"),
    ]


def test_a_defect_in_one_leaves_the_others(
    run: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = launches.check

    def fail(launch: Any, **options: Any) -> Any:
        if launch.engine.name == "vllm":
            raise RuntimeError("a defect")
        return check(launch, **options)

    monkeypatch.setattr(launches, "check", fail)
    ran = run("scan", ".", "--no-env", "--format", "json")
    assert ran.code == 3
    assert "internal error: ./serve/all.sh: RuntimeError: a defect" in ran.stderr
    assert ran.data["failed"] == ["./serve/all.sh: RuntimeError: a defect"]
    files = [one["inputs"]["launch_file"] for one in ran.data["reports"]]
    assert files == ["./serve/all.sh", "./serve/compose.yaml", None]
    reports: list[Report] = []
    with pytest.raises(ScanError, match=r"^\./serve/all\.sh: RuntimeError: a defect$"):
        reports.extend(scan("."))
    assert [report.inputs.launch_file for report in reports] == files


def test_a_release_that_cannot_be_predicted_hides_nothing(
    run: Callable[..., Any], tree: Path
) -> None:
    compose = tree / "serve" / "compose.yaml"
    old = "  old:\n    image: vllm/vllm-openai:v0.5.4\n    command: --model /models/target\n"
    compose.write_text(compose.read_text().replace("v0.5.9", "ours-tuned") + old)
    ran = run("scan", ".", "--no-env", "--format", "json")
    assert ran.code == 4
    [refused] = ran.data["unreadable"]
    assert refused["path"] == "./serve/compose.yaml"
    assert refused["reason"].startswith("vLLM 0.5.4 is older than every known release")
    assert f"specpreflight: ./serve/compose.yaml: {refused['reason']}\n" == ran.stderr
    ours = ran.data["reports"][2]
    assert ours["inputs"]["launch_file"] == "./serve/compose.yaml"
    assert ours["engine"]["determined_by"].endswith("(image lmsysorg/sglang:ours-tuned names none)")


@pytest.fixture
def many(tree: Path) -> list[str]:
    """Twelve more scripts, the fifth of which starts two launches; their paths as reports have."""
    names = []
    for number in range(12):
        line = f"sglang serve --model-path ../target --port {number}\n"
        path = tree / "serve" / f"b{number:02}.sh"
        path.write_text(line * (2 if number == 4 else 1))
        names.append(f"./serve/{path.name}")
    return names


@pytest.mark.parametrize("jobs", [2, 5])
def test_processes_share_the_files(
    run: Callable[..., Any], tree: Path, many: list[str], jobs: int
) -> None:
    alone = run("scan", ".", "--no-env", "--format", "json", "--jobs", "1")
    assert run("scan", ".", "--no-env", "--format", "json", "--jobs", str(jobs)) == alone
    files = [one["inputs"]["launch_file"] for one in alone.data["reports"]]
    assert files == ["./serve/all.sh"] * 2 + [*many[:5], *many[4:], "./serve/compose.yaml", None]


def test_a_file_that_ends_every_process_fails_alone(
    run: Callable[..., Any], tree: Path, many: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check = launches.check
    here = os.getpid()

    def check_or_die(launch: Launch, **options: Any) -> Report:
        if launch.flags.get("port") == "7":
            assert os.getpid() != here
            os.kill(os.getpid(), signal.SIGKILL)
        return check(launch, **options)

    monkeypatch.setattr(launches, "check", check_or_die)
    ran = run("scan", ".", "--no-env", "--format", "json", "--jobs", "2")
    assert ran.code == 3
    assert f"internal error: {many[7]}: WorkerError: " in ran.stderr
    files = [one["inputs"]["launch_file"] for one in ran.data["reports"]]
    assert len(files) == 16
    assert set(many) - set(files) == {many[7]}


def test_a_json_file_that_starts_nothing_is_a_target(run: Callable[..., Any], tree: Path) -> None:
    shutil.copy("target/config.json", "template.json")
    ran = run("scan", "template.json", "--no-env", "--format", "json")
    assert [one["inputs"]["target"] for one in ran.data["reports"]] == ["template.json"]
    assert [one.inputs.target for one in scan("template.json")] == ["template.json"]


@pytest.mark.parametrize("mark", [".git", None], ids=["a repository", "a directory to scan"])
def test_paths_of_a_file_may_start_at_the_top(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str | None
) -> None:
    top = tmp_path / "top"
    shutil.copytree(EXAMPLE / "target", top / "models" / "target")
    shutil.copytree(EXAMPLE / "draft", top / "models" / "draft")
    script = top / "deploy" / "prod" / "serve.sh"
    script.parent.mkdir(parents=True)
    text = f"sglang serve --model-path models/target {EAGLE3} --speculative-draft-model-path"
    script.write_text(f"{text} models/draft\n")
    if mark is not None:
        (top / mark).mkdir()
    monkeypatch.chdir(tmp_path)
    ran = run("scan", "top/deploy" if mark else "top", "--no-env", "--format", "json")
    assert ran.code == 1
    reports = ran.data.get("reports", [ran.data])
    assert [one["inputs"]["launch_file"] for one in reports] == ["top/deploy/prod/serve.sh"]
    assert reports[0]["verdict"]["outcome"] == "crashes"
