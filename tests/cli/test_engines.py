"""`specpreflight engines`."""

from __future__ import annotations

import json

from click.testing import CliRunner

from specpreflight.cli.engines import engines, render_json, render_text
from specpreflight.engines.sglang.completeness import ReleaseSummary
from specpreflight.engines.sglang.knowledge import Release, releases
from specpreflight.engines.vllm.releases import releases as vllm_releases


def test_the_table_has_every_release_newest_first():
    result = CliRunner().invoke(engines, [])
    assert result.exit_code == 0
    title, header, *rows = result.output.partition("\n\n")[0].splitlines()
    assert title == f"sglang: {len(releases())} releases"
    assert header.split()[:3] == ["release", "date", "transformers"]
    assert [row.split()[0] for row in rows] == list(reversed(releases()))
    assert rows[-1].split()[:5] == ["0.4.6.post5", "2025-05-24", "4.51.1", "2.6.0", "2.21.5"]
    assert all(row.endswith("  complete") for row in rows)


def test_json_has_the_same():
    result = CliRunner().invoke(engines, ["--format", "json"])
    assert result.exit_code == 0
    rows = json.loads(result.output)["engines"]["sglang"]
    assert [row["release"] for row in rows] == list(releases())
    assert rows[-1]["flags"] > rows[0]["flags"] > 100
    assert all(row["complete"] and not row["unknown"] for row in rows)


def test_vllm_is_listed_too():
    result = CliRunner().invoke(engines, [])
    assert f"vllm: {len(vllm_releases())} releases" in result.output
    rows = json.loads(CliRunner().invoke(engines, ["--format", "json"]).output)["engines"]["vllm"]
    assert [row["release"] for row in rows] == list(vllm_releases())


def test_what_is_unknown_is_told():
    about = Release("0.9.0", None, "3.0", "6.0", None)
    known = [ReleaseSummary(about, 1, 2, 3, 4, ("probe a.b", "--x default"))]
    assert (
        render_text({"sglang": known}).splitlines()[-1].split("  ")[-1]
        == "all but probe a.b, --x default"
    )
    assert "0.9.0" in render_text({"sglang": known})
    row = json.loads(render_json({"sglang": known}))["engines"]["sglang"][0]
    assert (row["complete"], row["unknown"]) == (False, ["probe a.b", "--x default"])
