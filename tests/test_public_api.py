"""What other programs import: names, signatures, types, and the schema of a report."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import specpreflight
from specpreflight import Ignore, Policy, build_launch, check, scan
from specpreflight.models.schema import report_schema

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "kimi-k2.5-eagle3"


def test_the_names() -> None:
    assert set(specpreflight.__all__) == {
        "Ignore", "Policy", "Report", "__version__", "build_launch", "check", "scan",
    }  # fmt: skip
    for name in specpreflight.__all__:
        assert getattr(specpreflight, name) is not None
    with pytest.raises(AttributeError):
        specpreflight.nothing  # noqa: B018


def test_the_signatures() -> None:
    def parameters(function: object) -> list[str]:
        return list(inspect.signature(function).parameters)  # type: ignore[arg-type]

    assert parameters(check) == ["launch", "policy"]
    assert parameters(build_launch)[:4] == ["target", "draft", "engine", "words"]
    assert parameters(scan)[0] == "paths"


def test_importing_it_imports_none_of_its_parts() -> None:
    code = "import sys, specpreflight; print(*(m for m in sys.modules if 'specpreflight' in m))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["specpreflight"]


def test_a_check_with_a_policy() -> None:
    launch = build_launch(str(EXAMPLE / "target"), str(EXAMPLE / "draft"), engine="sglang@0.5.11")
    assert check(launch).summary.errors == 1
    policy = Policy(ignores=(Ignore("draft-context-shorter", "a reason", "this test"),))
    report = check(launch, policy=policy)
    assert (report.summary.errors, report.summary.ignored) == (0, 1)


def test_a_scan() -> None:
    reports = list(scan([str(EXAMPLE / "draft")], target=str(EXAMPLE / "target")))
    assert [report.summary.errors for report in reports] == [1]


def test_paths_may_be_path_objects() -> None:
    draft, target = EXAMPLE / "draft", EXAMPLE / "target"
    [scanned] = scan(draft, target=target)
    checked = check(build_launch(target, draft))
    assert scanned.findings == checked.findings
    assert checked.inputs.target == str(target)


def test_callers_can_be_type_checked() -> None:
    assert (Path(specpreflight.__file__).parent / "py.typed").is_file()
    assert inspect.signature(check).return_annotation == "Report"
    assert inspect.signature(scan).return_annotation == "Iterator[Report]"


def test_the_published_schema_is_that_of_a_report() -> None:
    published = json.loads((ROOT / "docs" / "report.schema.json").read_text())
    assert published == json.loads(json.dumps(report_schema()))
