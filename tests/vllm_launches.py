"""vLLM launches for tests: the checkpoints of `launches`, vLLM's arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from launches import LLAMA, LLAMA_EAGLE3, found, write_checkpoint

from specpreflight.api import build_launch, check
from specpreflight.engines.registry import find_engine
from specpreflight.models.finding import Finding, Origin
from specpreflight.models.launch import Hardware, Variable
from specpreflight.models.report import Report
from specpreflight.models.resolved import Resolved

EAGLE3: dict[str, Any] = {"method": "eagle3", "num_speculative_tokens": 3}
H100 = Hardware("h100", "h100", (9, 0), 81559, 8)


def vllm_launch(
    directory: Path,
    version: str,
    *words: str,
    speculative: Any = EAGLE3,
    target: dict[str, Any] | None = None,
    draft: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    draft_name: str = "draft",
) -> Any:
    """Write two checkpoints and return the launch; `{DRAFT}` in a word is the draft's path.

    `speculative` gets the draft's path as `model` unless it names one or has no use for it.
    """
    target_path = write_checkpoint(directory / "target", LLAMA if target is None else target)
    draft_path = write_checkpoint(directory / draft_name, LLAMA_EAGLE3 if draft is None else draft)
    argv = ["--model", str(target_path)]
    if isinstance(speculative, dict):
        keys = {"model": str(draft_path), **speculative}
        keys = {key: value for key, value in keys.items() if value is not ...}
        argv += ["--speculative-config", json.dumps(keys)]
    elif speculative is not None:
        argv += ["--speculative-config", speculative]
    argv += [word.replace("{DRAFT}", str(draft_path)) for word in words]
    return build_launch(
        engine=f"vllm@{version}",
        words=argv,
        environment={
            name: Variable(name, value, Origin("flag", name="--env"))
            for name, value in (environment or {}).items()
        },
        hardware=H100,
    )


def resolve(directory: Path, version: str, *words: str, **given: Any) -> Resolved:
    """Return what vLLM makes of such a launch."""
    return find_engine("vllm").resolve(vllm_launch(directory, version, *words, **given))


def report(directory: Path, version: str, *words: str, **given: Any) -> Report:
    """Return the report on such a launch."""
    return check(vllm_launch(directory, version, *words, **given))


def findings(directory: Path, rule: str, version: str, *words: str, **given: Any) -> list[Finding]:
    """Return the findings of one rule on such a launch."""
    return found(report(directory, version, *words, **given), rule)


def outcomes(directory: Path, rule: str, version: str, *words: str, **given: Any) -> list[str]:
    """Return the outcomes of one rule's findings on such a launch."""
    return [one.outcome.value for one in findings(directory, rule, version, *words, **given)]


def topics(directory: Path, version: str, *words: str, **given: Any) -> list[str]:
    """Return the topics of vLLM's events on such a launch."""
    return [event.topic for event in resolve(directory, version, *words, **given).events]
