"""Public failure reports: the statically detectable ones get the outcome that was reported.

The reports lie in the team's shared material. A report states only the keys that it mentions, so
each config is completed: from the corpus where the model is there, else from a small model of the
family. Which rule has to find it, in which release, and which release no longer has it, is stated
here; the outcome words are mapped as DESIGN's table says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from launches import DEEPSEEK, LLAMA, LLAMA_EAGLE, LLAMA_EAGLE3, change, write_checkpoint
from make_checkpoints import Draft

from specpreflight.api import build_launch, check
from specpreflight.engines.sglang.knowledge import load, releases
from specpreflight.models.finding import Finding, Origin
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

GLM = change(
    LLAMA,
    architectures=["Glm4MoeForCausalLM"],
    model_type="glm4_moe",
    num_hidden_layers=92,
    num_nextn_predict_layers=1,
)
KIMI = change(LLAMA, architectures=["DeepseekV3ForCausalLM"], model_type="kimi_k2")
#: Keys of Gemma 4's assistant that have to be 0, which the corpus's excerpt leaves out.
_PER_LAYER = ("hidden_size_per_layer_input", "vocab_size_per_layer_input")
FP8 = {"quant_method": "fp8", "activation_scheme": "static"}
CHAIN = (
    *("--speculative-num-steps", "3", "--speculative-eagle-topk", "1"),
    *("--speculative-num-draft-tokens", "4"),
)


@dataclass(frozen=True)
class Reading:
    """What has to be found in a report, and what the report leaves out.

    Attributes:
        rule: the rule that has to find it.
        at: the release: the one that is named, the last before the report's date, or the last
            that has the fault.
        fixed: the first release in which this rule no longer finds anything of that outcome.
        before: the last release in which it did not yet find it.
        target, draft: keys laid over the completed configs; a `draft` of `None` is none.
        words: flags beside the reported ones, or instead of what is no command line.
        weights: tensors by name, of the draft or (without one) of the target.
        outcomes: what the source of that release proves, where the report says less.
    """

    rule: str
    at: str
    fixed: str | None = None
    before: str | None = None
    target: Mapping[str, Any] = field(default_factory=dict)
    draft: Mapping[str, Any] | None = field(default_factory=dict)
    words: tuple[str, ...] = ()
    replaces: bool = False
    hardware: str = "h100"
    weights: Draft | None = None
    outcomes: frozenset[str] | None = None


def without_head() -> Draft:
    """Return the headers of an EAGLE-3 draft of a whole vocabulary without its own head."""
    from make_checkpoints import eagle3_mla

    made = eagle3_mla()
    del made.shapes["lm_head.weight"]
    return made


def forgotten_layer() -> Draft:
    """Return a checkpoint whose index does not name the file with its MTP layer."""
    layer, last = "model.layers.0.mlp.gate.weight", "model.layers.92.eh_proj.weight"
    made = Draft(dict(GLM), {layer: (4, 8), last: (8, 16)}, shards={last: "mtp.safetensors"})
    made.index = {"weight_map": {layer: "model.safetensors"}}
    return made


#: By the number of the report.
READINGS: Mapping[int, Reading] = {
    1: Reading("draft-context-shorter", "0.5.8.post1", before="0.4.10.post2"),
    2: Reading("no-room-for-drafts", "0.4.10.post2", fixed="0.5.1"),
    # The report's own release is older than the oldest known one; there the draft also had a pool
    # of its own, as wide as its own context.
    3: Reading("rotary-table-short", "0.4.6.post5", fixed="0.5.3"),
    4: Reading("draft-context-shorter", "0.4.7"),
    9: Reading(
        "draft-context-shorter",
        "0.4.10.post2",
        words=("--speculative-algorithm", "EAGLE"),
        replaces=True,
    ),
    10: Reading("algorithm-draft-mismatch", "0.5.10", draft={"max_position_embeddings": 262144}),
    11: Reading("algorithm-draft-mismatch", "0.5.19", draft=None),
    12: Reading(
        "head-without-weights",
        "0.5.13",
        draft={"tie_word_embeddings": False},
        weights=without_head(),
    ),
    13: Reading("draft-attention-backend-unfit", "0.5.10.post1", hardware="b200"),
    14: Reading("draft-attention-backend-unfit", "0.5.10", hardware="b200"),
    16: Reading(
        "model-type-unknown",
        "0.5.11",
        fixed="0.5.12",
        draft={"architectures": ["Eagle3DeepseekV2ForCausalLM"], "model_type": "kimi_k2"},
    ),
    17: Reading(
        "aux-layers-not-used",
        "0.5.12.post1",
        fixed="0.5.13",
        draft={"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 30, 58]}},
        outcomes=frozenset({"starts"}),
    ),
    18: Reading("aux-layers-out-of-range", "0.5.16", fixed="0.5.17"),
    23: Reading("hidden-size-differs", "0.4.6.post5", target={"quantization_config": FP8}),
    26: Reading("dtype-differs", "0.5.12.post1", draft=LLAMA_EAGLE3 | {"torch_dtype": "float16"}),
    29: Reading("standalone-vocabulary-differs", "0.5.11", fixed="0.5.15"),
    33: Reading(
        "standalone-widths-differ",
        "0.5.10.post1",
        fixed="0.5.12",
        before="0.5.1",
        draft={"architectures": ["LlamaForCausalLM"]},
    ),
    # Fixed in the oldest release that is known: the key that it reads is what is left out here.
    35: Reading("hidden-size-differs", "0.4.6.post5", draft={"target_hidden_size": ...}),
    45: Reading("algorithm-draft-mismatch", "0.5.17"),
    47: Reading(
        "topk-needs-other-backend",
        "0.5.2",
        before="0.4.10.post2",
        draft=LLAMA_EAGLE3,
        words=(
            *("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "5"),
            *("--speculative-num-draft-tokens", "32"),
        ),
    ),
    48: Reading("step-counts-contradict", "0.4.6.post5", draft=None, target=DEEPSEEK),
    55: Reading("vocab-size-differs", "0.5.11"),
    61: Reading(
        "rope-key-layout",
        "0.5.6.post2",
        fixed="0.5.10",
        draft={"rope_theta": ..., "rope_parameters": {"rope_theta": 1000000.0}},
    ),
    66: Reading(
        "mtp-layer-missing",
        "0.5.7",
        fixed="0.5.8",
        words=("--speculative-algorithm", "NEXTN"),
        replaces=True,
        draft=None,
        target=GLM,
        weights=forgotten_layer(),
        outcomes=frozenset({"accepts-nothing"}),
    ),
    69: Reading("quantization-inherited", "0.5.17"),
    70: Reading("tied-head-contradicts", "0.4.9.post2"),
    74: Reading("algorithm-draft-mismatch", "0.4.6.post5"),
    75: Reading("algorithm-draft-mismatch", "0.4.10.post2"),
    78: Reading(
        "algorithm-settings-unfit",
        "0.5.13",
        draft={"text_config": dict.fromkeys(_PER_LAYER, 0)},
    ),
    115: Reading("dflash-layers-guessed", "0.5.19"),
    121: Reading("training-switch-unread", "0.5.16", fixed="0.5.17", draft=LLAMA_EAGLE3),
    # The launch as it stands is refused by that release for its radix cache.
    123: Reading(
        "draft-path-missing",
        "0.5.10.post1",
        fixed="0.5.22",
        draft=None,
        words=("--disable-radix-cache",),
    ),
    124: Reading("quantization-inherited", "0.5.8", draft={"architectures": GLM["architectures"]}),
    126: Reading(
        "step-counts-contradict",
        "0.4.6.post5",
        target=DEEPSEEK,
        draft=change(DEEPSEEK, architectures=["DeepseekV3ForCausalLMNextN"]),
        words=(
            *("--speculative-num-steps", "2", "--speculative-eagle-topk", "4"),
            *("--speculative-num-draft-tokens", "32"),
        ),
    ),
}

#: Cases that say nothing of a launch of SGLang, or nothing that a finding may say of every launch.
NOT_REACHED = {
    122: "no release has the gap: up to 0.5.11 `get_config` turns deepseek_v32 into deepseek_v3, "
    "0.5.12 rewrites the name itself",
    107: "of sglang-jax, which is another engine: its flags and defaults are not SGLang's",
    117: "of vLLM, by its launch line; `test_vllm_cases` has it",
    128: "every speculative launch without --max-running-requests gets 48, so a finding would hang "
    "on every healthy one; `resolved` tells the number and why",
}


def number(path: Path) -> int:
    return int(path.name.partition("-")[0])


def read_case(path: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    case: dict[str, Any] = yaml.safe_load(path.read_text())
    return case


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


#: Models that the corpus has under a sibling's name.
SIBLINGS = {
    "moonshotai/Kimi-K2.6": "moonshotai/Kimi-K2.5",
    "Qwen/Qwen3.6-35B-A3B-FP8": "Qwen/Qwen3.5-35B-A3B",
    "DeepSeek-V3/R1": "deepseek-ai/DeepSeek-V3",
}
HEADS = {
    "EAGLE3": LLAMA_EAGLE3,
    "EAGLE": LLAMA_EAGLE,
    "STANDALONE": LLAMA,
    "DFLASH": change(LLAMA, architectures=["DFlashDraftModel"], num_hidden_layers=5),
}


def words_of(case: Mapping[str, Any], reading: Reading) -> list[str]:
    """Return the flags without the paths: the checkpoints are given beside them."""
    words = [] if reading.replaces else [str(word) for word in case["launch"]]
    kept: list[str] = []
    while words:
        word = words.pop(0)
        if (
            word in ("--model-path", "--model")
            or word.startswith("--speculative-draft-model-p")
            or word == "--speculative-draft"
        ):
            words.pop(0)
        else:
            kept.append(word)
    kept += reading.words
    if not any(word.startswith("--speculative-algo") for word in kept):
        kept += ["--speculative-algorithm", "EAGLE" if reading.draft is None else "EAGLE3"]
    return kept


def configs_of(
    case: Mapping[str, Any], reading: Reading, words: list[str]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return both configs as far as the report tells them, completed from what is like them."""
    stated, stated_draft = case["target_config"] or {}, case["draft_config"] or {}
    model = stated.get("model")
    target = complete(stated, corpus_config(SIBLINGS.get(model, model)) or LLAMA)
    target = change(complete(reading.target, target))
    if reading.draft is None:
        return target, None
    text = target.get("text_config", target)
    fitting = {key: text[key] for key in ("hidden_size", "vocab_size") if key in text}
    head = next((config for name, config in HEADS.items() if name in words), LLAMA_EAGLE3)
    base = corpus_config(stated_draft.get("model")) or {**head, **fitting}
    return target, change(complete(reading.draft, complete(stated_draft, base)))


def run_case(case: Mapping[str, Any], reading: Reading, release: str, directory: Path) -> Report:
    words = words_of(case, reading)
    target, draft = configs_of(case, reading, words)
    target_path = write_checkpoint(directory / "1", target)
    draft_path = None if draft is None else write_checkpoint(directory / "2", draft)
    if reading.weights is not None:
        reading.weights.write(target_path if draft_path is None else draft_path)
    return check(
        build_launch(
            str(target_path),
            None if draft_path is None else str(draft_path),
            engine=f"sglang@{release}",
            words=words,
            environment={
                name: Variable(name, str(value), Origin("environment", name=name))
                for name, value in case["env"].items()
                if value != "unset"
            },
            hardware=read_hardware(reading.hardware),
        )
    )


def found_by(report: Report, reading: Reading, outcomes: Collection[str]) -> list[Finding]:
    """Return what the rule found of the reported outcome."""
    return [
        finding
        for finding in report.findings
        if finding.rule == reading.rule and finding.outcome.value in outcomes
    ]


def is_of_sglang(case: Mapping[str, Any]) -> bool:
    """Return whether a report is about SGLang itself, or something that serves with it."""
    return re.search(r"\bsglang\b", str(case["engine"])) is not None


def detectable() -> list[Any]:
    return [
        pytest.param(path, id=path.stem)
        for path in CASES
        if is_of_sglang(case := read_case(path))
        and (case["static_detectable"] == "yes" or number(path) in READINGS)
    ]


def judge(path: Path, release: str | None, directory: Path) -> tuple[Reading, list[Finding]]:
    if number(path) in NOT_REACHED:
        pytest.skip(NOT_REACHED[number(path)])
    case, reading = read_case(path), READINGS[number(path)]
    report = run_case(case, reading, release or reading.at, directory)
    assert report.internal_errors == ()
    outcomes = reading.outcomes or OUTCOMES[case["outcome"]]
    return reading, found_by(report, reading, outcomes)


@pytest.mark.shared
@pytest.mark.parametrize("path", detectable())
def test_the_report_is_found(path: Path, tmp_path: Path) -> None:
    reading, found = judge(path, None, tmp_path)
    assert found, reading.rule


@pytest.mark.shared
@pytest.mark.parametrize("path", detectable())
def test_and_not_where_it_was_fixed_or_not_there_yet(path: Path, tmp_path: Path) -> None:
    reading = READINGS.get(number(path), Reading("", ""))
    if reading.fixed is None and reading.before is None:
        pytest.skip("no release is known that does not have it")
    for place, release in enumerate((reading.before, reading.fixed)):
        if release is not None:
            _, found = judge(path, release, tmp_path / str(place))
            assert not found, release


@pytest.mark.shared
@pytest.mark.parametrize("path", detectable())
def test_a_ways_out_names_flags_of_the_release(path: Path, tmp_path: Path) -> None:
    reading, found = judge(path, None, tmp_path)
    flags = [flag for one in found for remedy in one.remedies for flag in remedy.flags]
    names = {flag.split()[0] for flag in flags}
    assert names <= load(reading.at).options.keys()


def test_every_reading_names_known_releases() -> None:
    for reading in READINGS.values():
        assert {reading.at, reading.fixed, reading.before} <= {None, *releases()}


def test_every_case_was_found() -> None:
    assert not CASES or len(CASES) > 100
