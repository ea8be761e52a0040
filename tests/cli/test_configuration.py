"""A configuration file and a baseline, as commands use them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
PAIR = ("target", "draft", "--engine", "sglang@0.5.11", "--no-env")
RULE = "draft-context-shorter"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the incident's checkpoints, as the working directory."""
    for name in ("target", "draft"):
        shutil.copytree(EXAMPLE / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    change_draft(tmp_path, eagle_config={})  # which has a warning of its own
    return tmp_path


def configure(project: Path, text: str) -> None:
    (project / "specpreflight.toml").write_text(text)


def ignore(**changes: str) -> str:
    entry = {"rule": f'"{RULE}"', "reason": '"served at 128k"', **changes}
    return "[[ignore]]\n" + "".join(f"{key} = {value}\n" for key, value in entry.items())


def change_draft(project: Path, **changes: Any) -> None:
    path = project / "draft" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}, indent=2))


def test_an_ignored_finding_does_not_fail_and_says_why(
    run: Callable[..., Any], project: Path
) -> None:
    configure(project, ignore())
    ran = run("check", *PAIR, "--format", "json")
    [finding] = [one for one in ran.data["findings"] if one["rule"] == RULE]
    assert (ran.code, ran.stderr) == (0, "")
    assert finding["severity"] == "note"
    assert finding["ignored"] == {"reason": "served at 128k", "by": "specpreflight.toml:1"}
    assert ran.data["summary"]["ignored"] == 1
    assert ran.data["verdict"]["outcome"] == "crashes"
    assert "1 ignored" in run("check", *PAIR).stdout


def test_isolated_reads_no_file(run: Callable[..., Any], project: Path) -> None:
    configure(project, "nonsense = [")
    assert run("check", *PAIR).code == 2
    assert run("check", *PAIR, "--isolated").code == 1


def test_a_file_by_name(run: Callable[..., Any], project: Path) -> None:
    configure(project, "nonsense = [")
    (project / "other.toml").write_text(ignore())
    assert run("check", *PAIR, "--config", "other.toml").code == 0
    missing = run("check", *PAIR, "--config", "none.toml")
    assert (missing.code, missing.stderr) == (2, "specpreflight: none.toml: no such file\n")


def test_an_ignore_past_its_date(run: Callable[..., Any], project: Path) -> None:
    configure(project, ignore(until="2026-01-31"))
    ran = run("check", *PAIR)
    assert ran.code == 1
    assert f"specpreflight.toml:1: the ignore of `{RULE}` ended on 2026-01-31" in ran.stderr


def test_an_ignore_that_matches_nothing(run: Callable[..., Any], project: Path) -> None:
    configure(project, ignore() + ignore(rule='"vocab-size-differs"'))
    ran = run("check", *PAIR)
    line = "specpreflight.toml:4: the ignore of `vocab-size-differs` matches no finding"
    assert (ran.code, ran.stderr) == (0, f"specpreflight: {line}\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n" + ignore(rule='"draft-context-shortr"'), 2),
        ('[severity]\ndraft-context-shortr = "note"\n', 2),
    ],
)
def test_a_rule_that_is_not_there(
    run: Callable[..., Any], project: Path, text: str, line: int
) -> None:
    configure(project, text)
    ran = run("check", *PAIR)
    assert ran.code == 2
    problem = f"specpreflight.toml:{line}: no rule is called `draft-context-shortr`"
    assert ran.stderr == f"specpreflight: {problem}\n  did you mean `{RULE}`?\n"


def test_an_engine_that_is_not_there(run: Callable[..., Any], project: Path) -> None:
    configure(project, 'engine = "sglnag"\n')
    ran = run("check", "target", "draft")
    assert (ran.code, ran.stderr.startswith("specpreflight: specpreflight.toml: ")) == (2, True)


def test_severity_and_fail_on(run: Callable[..., Any], project: Path) -> None:
    configure(project, f'[severity]\n{RULE} = "warning"\n')
    assert run("check", *PAIR).code == 0
    configure(project, f'fail-on = "warning"\n[severity]\n{RULE} = "warning"\n')
    assert run("check", *PAIR).code == 1
    assert run("check", *PAIR, "--fail-on", "error").code == 0


def test_the_engine_of_the_file_is_a_default(run: Callable[..., Any], project: Path) -> None:
    configure(project, 'engine = "sglang@0.4.10"\n')
    words = ("check", "target", "draft", "--no-env", "--format", "json")
    assert run(*words).data["engine"] == {
        "name": "sglang", "version": "0.4.10", "determined_by": "`engine` of specpreflight.toml",
    }  # fmt: skip
    assert run(*words, "--engine", "sglang@0.5.11").data["engine"]["version"] == "0.5.11"


def test_a_launch_knows_its_engine_better_than_the_file(
    run: Callable[..., Any], project: Path
) -> None:
    configure(project, 'engine = ["sglang@0.4.10", "vllm@0.10.0"]\n')
    launch = "command: [python3, -m, sglang.launch_server, --model-path, target]\n"
    image = "image: lmsysorg/sglang:v0.5.9\n"
    for text, version in ((launch, "0.4.10"), (image + launch, "0.5.9")):
        (project / "pod.yaml").write_text(text)
        ran = run("check", "pod.yaml", "--no-env", "--format", "json")
        assert ran.data["engine"]["version"] == version
    (project / "serve.sh").write_text("vllm serve target\n")
    ran = run("check", "serve.sh", "--no-env", "--format", "json")
    assert ran.data["engine"]["version"] == "0.10.0"


def test_scan_and_run_read_it_too(run: Callable[..., Any], project: Path) -> None:
    configure(project, 'engine = "sglang@0.5.11"\n' + ignore())
    assert run("scan", ".", "--target", "target", "--no-env").code == 0
    assert run("scan", ".", "--target", "target", "--no-env", "--isolated").code == 1


def test_a_scan_says_which_ignores_are_for_nothing_it_found(
    run: Callable[..., Any], project: Path
) -> None:
    configure(project, ignore() + ignore(pairs='[{ draft = "gone" }]'))
    scan = ("scan", ".", "--target", "target", "--no-env")
    ran = run(*scan, "--output", "markdown=report.md")
    line = f"specpreflight.toml:4: the ignore of `{RULE}` is for no launch that was found"
    assert (ran.code, ran.stderr) == (0, "")
    assert f"  {line}\n1 launch, 0 with errors" in ran.stdout
    assert f"- {line}\n" in (project / "report.md").read_text()
    ran = run(*scan, "--format", "json")
    assert (ran.code, ran.stderr) == (0, f"specpreflight: {line}\n")
    assert [one["kind"] for one in ran.data["idle"]] == ["unasked"]
    assert run(*scan, "--latest", "--format", "json").data["idle"] == [], "not all was looked at"


def test_a_check_says_in_its_files_what_is_ignored_in_vain(
    run: Callable[..., Any], project: Path
) -> None:
    configure(project, ignore() + ignore(rule='"vocab-size-differs"'))
    run("check", *PAIR, "--output", "junit=report.xml", "--output", "html=report.html")
    for name in ("report.xml", "report.html"):
        assert "specpreflight.toml:4: the ignore of" in (project / name).read_text()


def test_known_findings_pass_and_new_ones_fail(run: Callable[..., Any], project: Path) -> None:
    assert run("check", *PAIR).code == 1
    made = run("baseline", "create", "known.json", "check", *PAIR)
    assert (made.code, made.stderr) == (0, "known.json: 1 findings (1 new, 0 gone)\n")
    assert run("check", *PAIR, "--baseline", "known.json").code == 0
    change_draft(project, max_position_embeddings=65536)
    assert run("check", *PAIR, "--baseline", "known.json").code == 0, "another value, same fault"
    change_draft(project, hidden_size=1024)
    ran = run("check", *PAIR, "--baseline", "known.json")
    assert ran.code == 1
    assert "error[hidden-size-differs]" in ran.stdout
    assert f"error[{RULE}]" not in ran.stdout


def test_vanished_findings_are_said_and_pruned(run: Callable[..., Any], project: Path) -> None:
    run("baseline", "create", "known.json", "check", *PAIR)
    change_draft(project, max_position_embeddings=262144)
    ran = run("check", *PAIR, "--baseline", "known.json")
    assert f"known.json: `{RULE}` of draft is gone" in ran.stderr
    change_draft(project, hidden_size=1024)
    pruned = run("baseline", "prune", "known.json", "check", *PAIR)
    assert pruned.stderr == "known.json: 0 findings (0 new, 1 gone)\n"
    assert run("check", *PAIR, "--baseline", "known.json").code == 1
    updated = run("baseline", "update", "known.json", "check", *PAIR)
    assert "new, 0 gone" in updated.stderr
    assert run("check", *PAIR, "--baseline", "known.json").code == 0


def test_a_baseline_of_a_tree_tells_its_drafts_apart(
    run: Callable[..., Any], project: Path
) -> None:
    scan = ("scan", ".", "--target", "target", "--engine", "sglang@0.5.11", "--no-env")
    assert run("baseline", "create", "known.json", *scan).code == 0
    assert run(*scan, "--baseline", "known.json").code == 0
    shutil.copytree(project / "draft", project / "copy")
    assert run(*scan, "--baseline", "known.json").code == 1
    shutil.rmtree(project / "draft")
    assert "of draft is gone" in run(*scan, "--baseline", "known.json").stdout
    assert "1 gone" in run("baseline", "prune", "known.json", *scan).stderr


def test_the_baseline_does_not_move_with_the_working_directory(
    run: Callable[..., Any], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(project, 'baseline = "known.json"\nengine = "sglang@0.5.11"\n')
    run("baseline", "create", "known.json", "check", *PAIR)
    monkeypatch.chdir(project / "draft")
    assert run("check", "../target", ".", "--no-env").code == 0
    assert run("check", "../target", "config.json", "--no-env").code == 0
    assert run("check", project / "target", project / "draft", "--no-env").code == 0
    assert run("check", "../target", ".", "--no-env", "--no-baseline").code == 1


def test_a_baseline_that_cannot_be_read(run: Callable[..., Any], project: Path) -> None:
    missing = run("check", *PAIR, "--baseline", "known.json")
    assert missing.code == 4
    assert "baseline create known.json" in missing.stderr
    (project / "known.json").write_text('{"format_version": "1", "findings": [{"rule": "x"}]}')
    broken = run("check", *PAIR, "--baseline", "known.json")
    assert (broken.code, "cannot be read: 'fingerprint'" in broken.stderr) == (4, True)
    (project / "known.json").write_text("{}")
    assert run("check", *PAIR, "--baseline", "known.json").code == 4


def test_a_baseline_of_a_path_that_is_no_text(run: Callable[..., Any], project: Path) -> None:
    odd = os.fsdecode(b"drafts/\xff\xfe")
    shutil.copytree(project / "draft", odd)
    made = run("baseline", "create", "known.json", "scan", odd, "--target", "target", "--no-env")
    assert made.code == 0
    assert "1 new" in made.stderr
    assert run("scan", odd, "--target", "target", "--no-env", "--baseline", "known.json").code == 0


def test_create_overwrites_nothing(run: Callable[..., Any], project: Path) -> None:
    (project / "known.json").write_text("precious")
    ran = run("baseline", "create", "known.json", "check", *PAIR)
    assert (ran.code, (project / "known.json").read_text()) == (2, "precious")


def test_a_baseline_of_nothing_that_can_be_read(run: Callable[..., Any], project: Path) -> None:
    ran = run("baseline", "create", "known.json", "check", "target", "draft", "--engine", "nope")
    assert (ran.code, (project / "known.json").exists()) == (2, False)


def test_what_is_ignored_or_a_note_is_not_written_down(
    run: Callable[..., Any], project: Path
) -> None:
    configure(project, ignore())
    ran = run("baseline", "create", "known.json", "check", *PAIR)
    assert ran.stderr == "known.json: 0 findings (0 new, 0 gone)\n"


def test_fix_leaves_known_findings_alone(run: Callable[..., Any], project: Path) -> None:
    run("baseline", "create", "known.json", "check", *PAIR)
    before = (project / "draft" / "config.json").read_bytes()
    ran = run("check", *PAIR, "--baseline", "known.json", "--fix")
    assert ran.code == 0
    assert (project / "draft" / "config.json").read_bytes() == before
