"""The restated loaders against what the engine's own loaders did.

`golden/weights/cases.json` holds 529 cases with the verdicts of eleven releases, `mutated.json` 450
random changes of sound checkpoints with those of four, `crossed.json` 254 drafts of five: another
class's name, another algorithm, standalone models, further random changes. Each verdict was
recorded by running the release's real `load_weights` on a CPU with tiny tensors. A case is written
as the difference to the sound checkpoint of its family, a verdict once for all releases that agree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from specpreflight.documents import Document
from specpreflight.engines.sglang.knowledge import load
from specpreflight.engines.sglang.loaders import load_report
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.loader_report import LoaderReport
from specpreflight.models.weights import Tensor, WeightTable

GOLDEN = Path(__file__).parents[3] / "golden" / "weights"

#: The recorder counts every dropped name with `d2t` in it as the map once there is one.
ARTEFACTS = {"e3-d2t-name-inside-other", "mla-d2t-name-inside-other"}
#: Up to 0.5.8 the loader had materialised its input: all names count as dropped after a KeyError.
MATERIALISED = {"nn-dense-mlp-given"}


@cache
def golden(name: str) -> dict[str, Any]:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def verdicts(name: str) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    for case in golden(name)["cases"]:
        for releases, verdict in case["verdicts"].items():
            for release in releases.split():
                yield case, release, verdict


def tensor(name: str, text: str) -> Tensor:
    dtype, _, shape = text.partition(" ")
    sizes = tuple(int(size) for size in shape.split("x")) if shape else ()
    return Tensor(name, dtype, sizes, "model.safetensors", 0, 0)


def run(golden_name: str, case: dict[str, Any], release: str) -> LoaderReport:
    family = golden(golden_name)["families"][case["id"].split("-")[0]]
    config = {**family["config"], **case.get("config", {})}
    tensors = {**family["tensors"], **case.get("tensors", {})}
    for key in case.get("without", ()):
        del config[key]
    for name in case.get("missing", ()):
        del tensors[name]
    draft = Checkpoint("draft", "draft", None, Document("config.json", b"", config))
    own = case.get("own", family["own"])
    target = None if own else Checkpoint("target", "target", None, draft.config)
    table = {name: tensor(name, text) for name, text in tensors.items()}
    return load_report(
        draft,
        target,
        case.get("algorithm", family["algorithm"]),
        load(release),
        WeightTable("safetensors", table),
        case.get("flags"),
    )


def difference(report: LoaderReport, verdict: dict[str, Any]) -> dict[str, Any]:
    """Return what the restatement says otherwise than the engine did."""
    error = None if report.error is None else report.error.exception
    found: dict[str, Any] = {}
    if error != verdict.get("stop"):
        found["stop"] = (error, verdict.get("stop"))
    for key, ours in (
        ("dropped", sorted(report.dropped)),
        ("untouched", sorted(each.parameter for each in report.untouched)),
    ):
        if ours != verdict.get(key, []):
            found[key] = set(ours) ^ set(verdict.get(key, []))
    if "taken" in verdict and len(report.taken) != verdict["taken"]:
        found["taken"] = (len(report.taken), verdict["taken"])
    return found


@pytest.mark.parametrize("name", ["cases", "mutated", "crossed"])
def test_every_recorded_verdict_is_predicted(name: str) -> None:
    wrong, total = {}, 0
    for case, release, verdict in verdicts(name):
        if verdict.get("stage") == "config" or case["id"] in ARTEFACTS:
            continue
        if case["id"] in MATERIALISED and release == "0.5.8":
            continue
        total += 1
        found = difference(run(name, case, release), verdict)
        if found:
            wrong[f"{case['id']} {release}"] = found
    assert wrong == {}
    assert total > 700


def test_silent_cuts_and_paddings() -> None:
    """What no error tells: recorded with the amounts for one release."""
    by_id = {case["id"]: case for case in golden("cases")["cases"]}
    cut = run("cases", by_id["e3-head-dim-64-tensors-128"], "0.5.13")
    assert {each.tensor.split(".")[-2] for each in cut.resized} >= {"q_proj", "k_proj", "v_proj"}
    padded = run("cases", by_id["e3-inter-wrong"], "0.5.13")
    assert {each.parameter for each in padded.zero_filled} or padded.resized


def test_what_would_stop_the_load_after_the_first_error() -> None:
    by_id = {case["id"]: case for case in golden("cases")["cases"]}
    case = {**by_id["e3-right"], "config": {"hidden_size": 256, "head_dim": 64}}
    report = run("cases", case, "0.5.13")
    assert report.error is not None
    assert len(report.further) > 5
    assert report.error not in report.further
