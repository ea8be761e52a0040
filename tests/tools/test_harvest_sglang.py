"""Adding a release with `tools/harvest.py`: from a folder, into tables that stay reviewable."""

from __future__ import annotations

import json
import os

import harvest
import pytest
from engine_trees import ANNOTATED_STYLE, ARGPARSE_STYLE, write_tree

_TRANSFORMERS = {
    "configuration_utils.py": "class PretrainedConfig: ...\n",
    "models/auto/configuration_auto.py": """
        CONFIG_MAPPING_NAMES = OrderedDict([("llama", "LlamaConfig")])
        """,
    "models/auto/modeling_auto.py": """
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES = OrderedDict([("llama", "Llama")])
        """,
    "models/llama/configuration_llama.py": """
        class LlamaConfig(PretrainedConfig):
            def __init__(self, vocab_size=32000): ...
        """,
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Harvest the releases that the test wrote below `wheels/`, and return the tables' folder."""
    monkeypatch.setattr(harvest, "nccl_of", lambda torch: f"nccl of {torch}")
    for version in ("4.57.1", "5.0.0"):
        write_tree(tmp_path / "libraries" / version, _TRANSFORMERS, "transformers")

    def add(version, files, pin="4.57.1", day=1_700_000_000):
        folder = tmp_path / "wheels" / version
        write_tree(folder, files)
        metadata = folder / f"sglang-{version}.dist-info/METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Requires-Dist: torch==2.9.1\nRequires-Dist: transformers=={pin}\n")
        os.utime(metadata, (day, day))

    def harvested(*versions):
        words = ["sglang", "--from", str(tmp_path / "wheels"), "--data", str(tmp_path / "data")]
        words += ["--transformers", str(tmp_path / "libraries"), *(versions or ["--all"])]
        assert harvest.main(words) == 0
        return tmp_path / "data"

    harvested.add = add
    return harvested


def _lines(folder):
    return {path.name: path.read_text().splitlines() for path in folder.iterdir()}


def test_a_release_is_described_by_its_wheel(run):
    run.add("0.5.9", ARGPARSE_STYLE)
    data = run("0.5.9")
    assert json.loads((data / "releases.json").read_text()) == {
        "sglang": {
            "0.5.9": {
                "date": "2023-11-14",
                "kernel": None,
                "nccl": "nccl of 2.9.1",
                "torch": "2.9.1",
                "transformers": "4.57.1",
            }
        },
        "transformers": ["4.57.1"],
    }
    flags = json.loads((data / "flags.json").read_text())
    assert flags["--speculative-algorithm"] == {
        "after": [["0.5.9", None, "--max-queued"]],
        "type": [["0.5.9", None, "str"]],
        "choices": [["0.5.9", None, ["EAGLE", "EAGLE3", "NEXTN"]]],
    }
    classes = json.loads((data / "transformers.json").read_text())
    assert classes["LlamaConfig"]["vocab_size"] == [["4.57.1", None, [32000]]]


def test_a_release_that_changed_nothing_changes_one_line(run):
    run.add("0.5.9", ARGPARSE_STYLE)
    before = _lines(run("0.5.9"))
    run.add("0.5.10", ARGPARSE_STYLE, day=1_710_000_000)
    after = _lines(run("0.5.10"))
    changed = {name: set(after[name]) - set(before[name]) for name in after}
    assert {name for name, lines in changed.items() if lines} == {"releases.json"}
    assert sum(map(len, changed.values())) == 2  # the new release, and the comma before it


def test_a_change_is_told_on_the_lines_of_what_changed(run):
    run.add("0.5.9", ARGPARSE_STYLE)
    before = _lines(run("0.5.9"))
    text = ARGPARSE_STYLE["srt/server_args.py"]
    text = text.replace('"NEXTN"]', '"NEXTN", "NGRAM"]').replace(
        'parser.add_argument("--quick", action="store_true")', ""
    )
    run.add("0.5.10", {"srt/server_args.py": text}, pin="5.0.0")
    after = _lines(run("0.5.10"))
    assert [line for line in after["flags.json"] if line not in before["flags.json"]] == [
        '  "after": [["0.5.9","0.5.10","--quick"],["0.5.10",null,"--hooks"]],',
        '  "action": [["0.5.9","0.5.10","store_true"]],',
        '  "after": [["0.5.9","0.5.10","--hooks"]],',
        '  "default": [["0.5.9","0.5.10",false]],',
        '  "type": [["0.5.9","0.5.10","bool"]]',
        '  "choices": [["0.5.9","0.5.10",["EAGLE","EAGLE3","NEXTN"]],'
        '["0.5.10",null,["EAGLE","EAGLE3","NEXTN","NGRAM"]]],',
    ]
    assert after["transformers.json"] == before["transformers.json"]


def test_the_order_of_harvesting_does_not_matter(run):
    run.add("0.5.9", ARGPARSE_STYLE)
    run.add("0.5.10.post1", ANNOTATED_STYLE)
    run.add("0.5.10", ARGPARSE_STYLE)
    run("0.5.10.post1")
    run("0.5.9")
    one = _lines(run("0.5.10"))
    for path in (run("0.5.9")).iterdir():
        path.unlink()
    assert _lines(run()) == one
    assert _lines(run("0.5.10")) == one


def test_nothing_is_lost_between_a_table_and_its_file(tmp_path):
    columns = {"e": {"k": {"1.0": 1, "3.0": [1, "x" * 130], "4.0": None}}}
    order = ["1.0", "2.0", "3.0", "4.0", "5.0"]
    harvest._write(tmp_path / "t.json", columns, order)
    assert harvest._expand(harvest._load(tmp_path / "t.json"), order) == columns
