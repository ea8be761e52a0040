"""Every machine format, on one sample that has all that a report can have."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sample_report import BESIDE, SAMPLE, THETA

from specpreflight.cli.launch_options import FORMATS
from specpreflight.cli.rendering import MACHINE_FORMATS, render
from specpreflight.models.beside import Beside
from specpreflight.models.report import Summary
from specpreflight.reports.github import render_github
from specpreflight.reports.gitlab import render_gitlab
from specpreflight.reports.junit import render_junit
from specpreflight.reports.markdown import render_markdown
from specpreflight.reports.sarif import render_sarif

PAGES = {
    "draft-context-shorter": ("the draft is shorter", "The draft is shorter.\n\n## Example"),
    "rope-theta-differs": ("theta differs", "Theta differs.\n\n## Example"),
}


def test_command_line_offers_exactly_these() -> None:
    assert set(FORMATS) == {"text", *MACHINE_FORMATS}


@pytest.mark.parametrize("form", MACHINE_FORMATS)
def test_several_reports_in_one_call(form: str) -> None:
    assert render(form, [SAMPLE, SAMPLE]).endswith("\n")


def test_json_lines_is_a_report_a_line() -> None:
    lines = render("json-lines", [SAMPLE, SAMPLE]).splitlines()
    assert [json.loads(line)["verdict"]["outcome"] for line in lines] == ["crashes", "crashes"]


def test_sarif_has_both_places_and_the_fix() -> None:
    [run] = json.loads(render_sarif([SAMPLE], PAGES))["runs"]
    result = run["results"][0]
    region = {"startLine": 4, "startColumn": 30, "endColumn": 36}
    assert result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["region"] == region
    assert result["relatedLocations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "t/config.json"
    }
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    uris = [step["location"]["physicalLocation"]["artifactLocation"]["uri"] for step in steps]
    assert uris == ["t/config.json", "d/config.json"]
    [change] = result["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {"deletedRegion": region, "insertedContent": {"text": "262144"}}
    ]
    assert run["results"][1]["suppressions"][0]["justification"] == "trained like this (--ignore)"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == sorted(PAGES)


def test_sarif_names_the_change_that_brought_a_finding() -> None:
    results = json.loads(render_sarif([SAMPLE], PAGES))["runs"][0]["results"]
    texts = [result["message"]["text"] for result in results]
    assert [
        "Since launch.lock.json: the draft's config.json changed" in text for text in texts
    ] == [
        True,
        False,
    ]


def test_sarif_passes_the_public_validator(tmp_path: Path) -> None:
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("needs npx, to run @microsoft/sarif-multitool")
    file = tmp_path / "report.sarif"
    file.write_text(render_sarif([SAMPLE], PAGES, BESIDE))
    command = [npx, "--yes", "@microsoft/sarif-multitool@5.7.0", "validate", file.name]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "error" in run.stderr and "npm" in run.stderr:
        pytest.skip("the npm registry cannot be reached")
    assert "Analysis completed successfully" in run.stdout
    assert ": error " not in run.stdout
    assert ": warning " not in run.stdout


def test_sarif_says_what_stands_beside_in_notifications() -> None:
    [run] = json.loads(render_sarif([SAMPLE], PAGES, BESIDE))["runs"]
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is False
    about_files = invocation["toolExecutionNotifications"]
    assert [one["level"] for one in about_files] == ["error", "error", "note"]
    assert about_files[1]["message"] == {
        "text": "what could not be read: closed: permission denied."
    }
    first, second, third = invocation["toolConfigurationNotifications"]
    assert first["message"]["text"].endswith(":7: the ignore of `a-rule` ended on 2026-01-31.")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "conf/specpreflight.toml"
    assert place["region"]["startLine"] == 7
    assert "locations" not in second
    assert "region" not in third["locations"][0]["physicalLocation"]
    only_idle = json.loads(render_sarif([SAMPLE], PAGES, Beside(idle=BESIDE.idle)))["runs"][0]
    assert only_idle["invocations"][0]["executionSuccessful"] is True
    assert "invocations" not in json.loads(render_sarif([SAMPLE], PAGES))["runs"][0]


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "markdown", "html"])
def test_what_is_ignored_in_vain_is_said_and_fails_nothing(form: str) -> None:
    idle = Beside(idle=BESIDE.idle)
    without, with_it = render(form, [SAMPLE, SAMPLE]), render(form, [SAMPLE, SAMPLE], idle)
    assert with_it.count("b-rule") >= 1
    assert "b-rule" not in without
    for word in ("<failure", "<error", '"level": "error"', "❌"):
        assert without.count(word) == with_it.count(word)


def test_what_could_not_be_checked_fails_and_a_draft_alone_does_not() -> None:
    root = ElementTree.fromstring(render_junit([], BESIDE))
    suites = {suite.get("name"): suite for suite in root}
    assert [(one.get("errors"), one.get("skipped")) for one in suites.values()] == [
        ("1", "0"), ("1", "0"), ("0", "1"), ("0", "0"),
    ]  # fmt: skip
    error = suites["what could not be read"].find("testcase/error")
    assert error is not None
    assert error.text == "closed: permission denied"


def test_what_stands_beside_is_seen_from_the_repository_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub" / "closed").mkdir(parents=True)
    (tmp_path / "sub" / "specpreflight.toml").touch()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    idle = [BESIDE.idle[0]._replace(by="specpreflight.toml:7"), *BESIDE.idle[1:]]
    beside = BESIDE._replace(idle=idle)
    [run] = json.loads(render("sarif", [SAMPLE], beside))["runs"]
    texts = [
        one["message"]["text"].split(": ")[1]
        for one in run["invocations"][0]["toolConfigurationNotifications"]
    ]
    assert texts == ["sub/specpreflight.toml:7", "--ignore b-rule", "known.json"]
    assert "file=sub/closed::permission denied" in render("github", [SAMPLE], beside)


def test_junit_counts() -> None:
    root = ElementTree.fromstring(render_junit([SAMPLE]))
    [suite] = root.findall("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "d/config.json:4:30" in (failure.text or "")


def test_github_annotation_lands_on_the_line() -> None:
    first = render_github([SAMPLE]).splitlines()[0]
    assert first.startswith(
        "::error title=draft-context-shorter (sglang 0.5.11),file=d/config.json,line=4,col=30::"
    )
    assert "%0ATo do: set `max_position_embeddings` to 262144" in first


def test_gitlab_issue() -> None:
    [issue] = json.loads(render_gitlab([SAMPLE]))[:1]
    assert issue["severity"] == "critical"
    assert issue["location"] == {"path": "d/config.json", "lines": {"begin": 4, "end": 4}}


def test_markdown_folds_notes() -> None:
    text = render_markdown([SAMPLE])
    assert text.startswith("### SGLang 0.5.11 crashes")
    assert "| `draft` | `131072` | `d/config.json:4` |" in text
    assert "<details><summary>notes: 1</summary>" in text


def test_launches_of_one_pair_are_told_apart_by_their_file() -> None:
    reports = [
        replace(SAMPLE, inputs=replace(SAMPLE.inputs, launch_file=f"serve-{number}.sh"))
        for number in (1, 2)
    ]
    suites = [suite.get("name") for suite in ElementTree.fromstring(render_junit(reports))]
    assert suites == [f"sglang 0.5.11: serve-{number}.sh: t + d" for number in (1, 2)]
    assert "in `serve-1.sh`" in render_markdown(reports)
    assert "<small>in serve-2.sh</small>" in render("html", reports)


def test_markdown_of_any_tree_is_a_comment_that_github_takes() -> None:
    paths = [(f"drafts/{number}/{'x' * 60}", "no target here") for number in range(2000)]
    failed = [str(path) for path in paths]
    beside = Beside(failed, paths, paths, BESIDE.idle * 2000, failed)
    quiet = replace(SAMPLE, findings=(THETA,), summary=Summary(notes=1))
    text = render_markdown([SAMPLE, quiet] * 1000, beside)
    assert len(text) < 65_536
    assert text.count("… and ") >= 5
    assert "more launches with errors or warnings." in text
