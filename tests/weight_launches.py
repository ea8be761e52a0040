"""Launches with weights: checkpoints written by the real library, and the loader's answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from broken_checkpoints import TWINS, Twin
from make_checkpoints import Draft, eagle3_specforge, llama_target
from packaging.version import Version

from specpreflight.engines.sglang.loaders import trace_loader
from specpreflight.models.finding import Finding
from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.loader_report import LoaderReport
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import loader_of
from specpreflight.rules.registry import find_rule
from specpreflight.sources.checkpoint import read_checkpoint


class Release:
    """A release for loaders: its number, no class defaults (test configs state every key)."""

    draft_rewrites: Mapping[str, str] = {
        "DeepseekV3ForCausalLM": "DeepseekV3ForCausalLMNextN",
        "Qwen3NextForCausalLM": "Qwen3NextForCausalLMMTP",
    }
    classes: Mapping[str, Any] = {"Glm4MoeForCausalLMNextN": None}
    registry: Mapping[str, str] = {}

    def __init__(self, version: str) -> None:
        self.version = version
        self.config_classes = self

    def since(self, release: str) -> bool:
        return Version(self.version) >= Version(release)

    def auto(self, model_type: str) -> None:
        return None


def launch_with(
    draft: Path, target: Path, algorithm: str, release: str = "0.5.13", **flags: str
) -> tuple[Launch, Resolved]:
    """Return a launch of written checkpoints; the same path twice is a target with a head."""
    read = read_checkpoint("target", str(target))
    launch = Launch(
        engine=EngineVersion("sglang", release, "--engine"),
        target=read,
        draft=None if draft == target else read_checkpoint("draft", str(draft)),
        flags={"speculative-algorithm": algorithm, **flags},
    )
    return launch, Resolved(
        {}, (), facts={"loader": cache(partial(trace_loader, launch, Release(release)))}
    )


def write_pair(directory: Path, draft: Draft | None = None, target: Draft | None = None):
    """Write a draft (SpecForge's EAGLE-3 if not given) and a target; return both paths."""
    return (
        (draft or eagle3_specforge()).write(directory / "draft"),
        (target or llama_target()).write(directory / "target"),
    )


def judge(rule: str, launch: Launch, resolved: Resolved) -> list[Finding]:
    """Return what one rule says."""
    return list(find_rule(rule).check(launch, resolved))


def judge_twin(rule: str, directory: Path, **changes: Any) -> list[Finding]:
    """Return what a rule says of its own broken twin, some of whose fields may be changed."""
    twin: Twin = replace(TWINS[rule], **changes)
    draft, target = twin.write(directory)
    return judge(rule, *launch_with(draft, target, twin.algorithm, twin.release, **twin.flags))


def judge_draft(
    rule: str, directory: Path, draft: Draft, release: str = "0.5.13", algorithm: str = "EAGLE3"
) -> list[Finding]:
    """Return what a rule says of a draft beside the usual target."""
    paths = write_pair(directory, draft)
    return judge(rule, *launch_with(*paths, algorithm, release))


def report_of(
    draft: Draft, directory: Path, release: str, algorithm: str = "EAGLE3", own: bool = False
) -> LoaderReport:
    """Return the loader's answer about a draft."""
    if own:
        path = draft.write(directory / "target")
        report = loader_of(launch_with(path, path, algorithm, release)[1])
    else:
        report = loader_of(launch_with(*write_pair(directory, draft), algorithm, release)[1])
    assert report is not None
    return report
