"""The JSON report keeps its contract."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest
from sample_report import SAMPLE

from specpreflight.models.schema import report_schema
from specpreflight.models.topology import Topology
from specpreflight.reports.json import render_json, render_many

KEYS = [
    "format_version", "engine", "verdict", "findings", "skipped", "resolved", "inputs", "summary",
]  # fmt: skip


def test_keys_and_their_order() -> None:
    assert list(json.loads(render_json(SAMPLE))) == [*KEYS, "since"]
    assert list(json.loads(render_json(replace(SAMPLE, since=None)))) == KEYS


def test_report_is_valid_against_the_published_schema() -> None:
    jsonschema.validate(json.loads(render_json(SAMPLE)), report_schema())


def test_finding_has_the_fields_of_the_contract_and_no_others() -> None:
    finding = json.loads(render_json(SAMPLE))["findings"][0]
    assert set(finding) == {
        "rule", "severity", "outcome", "stage", "confidence", "message", "detail",
        "engine_message", "values", "remedies", "fingerprint", "ignored",
    }  # fmt: skip
    assert finding["values"][0]["origin"] == {
        "kind": "file", "path": "d/config.json", "pointer": "/max_position_embeddings",
        "line": 4, "column": 30, "end_column": 36, "name": None,
    }  # fmt: skip


def test_topology_is_shown_by_its_fields() -> None:
    topology = Topology("nvidia-smi topo -m", (("X", "NV18"), ("NV18", "X")), sockets=1)
    inputs = replace(SAMPLE.inputs, hardware={"topology": topology})
    shown = json.loads(render_json(replace(SAMPLE, inputs=inputs)))["inputs"]["hardware"]
    assert shown["topology"] == {
        "tool": "nvidia-smi topo -m", "links": [["X", "NV18"], ["NV18", "X"]],
        "sockets": 1, "nics": [],
    }  # fmt: skip


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_json_number_is_written_as_text(number: float) -> None:
    value = replace(SAMPLE.findings[0].values[0], value=number)
    finding = replace(SAMPLE.findings[0], values=(value,))
    text = render_json(replace(SAMPLE, findings=(finding,)))
    shown = json.loads(text, parse_constant=pytest.fail)["findings"][0]["values"][0]["value"]
    assert shown == str(number)


def test_several_reports_share_a_summary() -> None:
    data = json.loads(render_many([SAMPLE, SAMPLE]))
    assert list(data) == ["format_version", "reports", "summary", "idle"]
    assert data["summary"]["errors"] == 2
