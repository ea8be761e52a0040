"""Public failure reports: the statically detectable ones get the outcome that was reported.

The reports lie in the team's shared material. A report states only the keys that it mentions, so
each config is completed: from the corpus where the model is there, else from a small model of the
family. The outcome words are mapped as DESIGN's table says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE, LLAMA_EAGLE3, change, write_checkpoint

from specpreflight.api import build_launch, check
from specpreflight.engines.sglang.knowledge import load, releases
from specpreflight.models.finding import Origin
from specpreflight.models.launch import Variable
from specpreflight.models.report import Report
from specpreflight.sources.hardware import read_hardware

SHARED = Path(__file__).resolve().parents[2] / "shared"
CASES = sorted((SHARED / "cases").glob("*.yaml"), key=lambda path: int(path.name.split("-")[0]))

#: What a case says → the outcomes that say the same.
OUTCOMES = {
    "refused_early": {"refuses"},
    "start_crash": {"crashes", "refuses"},
    "runtime_crash": {"crashes", "hangs"},
    "hang": {"hangs", "crashes"},
    "silent_low_accept": {"accepts-nothing", "degrades"},
    "silent_wrong": {"wrong-output"},
    "silent_slow": {"degrades"},
    "none": {"starts", "adjusts"},
}

#: Cases that this project does not reach yet, with the reason.
NOT_REACHED = {
    "02-sglang-ctx-illegal-memory": "the report's main branch lies between two releases",
    "03-sglang-ctx-override-runtime-crash": "let through with a warning; that it crashes later "
    "depends on the requests, so the outcome is degrades",
    "12-sglang-kimi-k26-draft-lm-head-missing": "needs the weights; tested with a checkpoint",
    "16-sglang-k26-eagle3-mla-unknown-model-type": "the report does not state the model type",
    "33-sglang-standalone-hidden-size": "crashes only when batches merge; which releases do is not "
    "known",
    "35-sglang-llama33-70b-hidden": "the release is older than any that is known",
    "61-sglang-rope-parameters-v5": "about training; it states no launch and no draft",
    "107-sglang-jax-default-topk": "about another engine, sglang-jax",
    "123-sglang-qwen35-nextn-no-path": "the release makes an MTP draft of the target; what made "
    "it slow is not in the report",
}


HEADS = {
    "EAGLE3": LLAMA_EAGLE3,
    "EAGLE": LLAMA_EAGLE,
    "DFLASH": change(LLAMA, architectures=["DFlashDraftModel"], num_hidden_layers=5),
}


def read_case(path: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    case: dict[str, Any] = yaml.safe_load(path.read_text())
    return case


def release_of(case: Mapping[str, Any]) -> str:
    """Return the release that the report names, else the first one after its date."""
    stated = re.search(r"0\.[45]\.\d+(\.post\d+)?", str(case["version"]))
    if stated and stated.group() in releases():
        return stated.group()
    date = str(case["date"])[:10]
    later = [release for release in releases() if (load(release).date or "") >= date]
    return later[0] if later and not stated else releases()[0 if stated else -1]


def complete(stated: Mapping[str, Any] | None, base: Mapping[str, Any]) -> dict[str, Any]:
    """Lay what a report states over a complete config; remarks are left out."""
    merged = dict(base)
    for key, value in (stated or {}).items():
        is_remark = key.startswith("_") or key in ("model", "file", "note")
        if is_remark or (isinstance(value, str) and not re.fullmatch(r"[\w.+-]+", value)):
            continue
        if isinstance(value, dict):
            inner = merged.get(key)
            value = complete(value, inner if isinstance(inner, dict) else {})
            if value.get("rope_type") == "llama3":
                value = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, **value}
        merged[key] = value
    return merged


def corpus_config(model: Any) -> dict[str, Any] | None:
    path = SHARED / "corpus" / "configs" / str(model).replace("/", "__") / "config.json"
    return json.loads(path.read_text()) if path.is_file() else None


def run_case(case: Mapping[str, Any], directory: Path) -> Report:
    target_stated, draft_stated = case["target_config"] or {}, case["draft_config"] or {}
    words = [str(word) for word in case["launch"]]
    target = complete(target_stated, corpus_config(target_stated.get("model")) or LLAMA)
    has_draft = any("draft" in word for word in words) or bool(
        {"architectures", "hidden_size", "vocab_size", "dflash_config"} & set(draft_stated)
    )
    if not any("algorithm" in word for word in words):
        words += ["--speculative-algorithm", "EAGLE3" if has_draft else "EAGLE"]
    head = next((config for name, config in HEADS.items() if name in words), LLAMA)
    text = target.get("text_config", target)
    fitting = {key: text[key] for key in ("hidden_size", "vocab_size") if key in text}
    draft = complete(draft_stated, corpus_config(draft_stated.get("model")) or {**head, **fitting})
    target_path = write_checkpoint(directory / "1", target)
    draft_path = write_checkpoint(directory / "2", draft) if has_draft else None
    words = with_local_paths(words)
    return check(
        build_launch(
            str(target_path),
            None if draft_path is None else str(draft_path),
            engine=f"sglang@{release_of(case)}",
            words=words,
            environment={
                name: Variable(name, str(value), Origin("environment", name=name))
                for name, value in case["env"].items()
                if value != "unset"
            },
            hardware=read_hardware("h100"),
        )
    )


def with_local_paths(words: list[str]) -> list[str]:
    """Leave the reported paths out; the checkpoints are given beside the flags."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("--model-path", "--model") or word.startswith("--speculative-draft-model-p"):
            skip = True
        elif word != "--speculative-draft":
            kept.append(word)
        else:
            skip = True
    return kept


@pytest.mark.shared
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_sglang_case(path: Path, tmp_path: Path) -> None:
    case = read_case(path)
    if "sglang" not in str(case["engine"]) or case["static_detectable"] != "yes":
        pytest.skip("not SGLang's, or not detectable from static facts")
    if path.stem in NOT_REACHED:
        pytest.skip(NOT_REACHED[path.stem])
    report = run_case(case, tmp_path)
    found = {finding.outcome.value for finding in report.findings}
    assert found & OUTCOMES[case["outcome"]] or (
        case["outcome"] == "none" and found <= OUTCOMES["none"]
    ), report.verdict.summary


def test_every_case_was_found() -> None:
    assert not CASES or len(CASES) > 100
