#!/usr/bin/env python3
"""Compare predictions for vLLM with the oracle's recorded verdicts.

    tools/vllm_verdicts.py ORACLE [--versions V,V] [--only ID] [--misses 40]

ORACLE holds `cases.json` and `verdicts/<version>.json`. Each case is written to a scratch folder
and checked as a user would: the same arguments, paths and variables.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from specpreflight.api import build_launch
from specpreflight.engines.registry import find_engine
from specpreflight.models.finding import STOPPING, Origin, Stage
from specpreflight.models.launch import Hardware, Variable

#: What the oracle calls a stage, in this project's words; several where a stage can be either.
STAGES = {
    "args": {Stage.ARGUMENTS},
    "target_config": {Stage.TARGET_CONFIG},
    "speculative_config": {Stage.DRAFT_CONFIG, Stage.ARGUMENTS},
    "engine_config": {Stage.DRAFT_CONFIG, Stage.ARGUMENTS},
    "ok": {None},
}
PROFILES = {"h100": Hardware("h100", "h100", (9, 0), 81559, 8)}
EARLY = (Stage.ARGUMENTS, Stage.TARGET_CONFIG, Stage.DRAFT_CONFIG)


def predict(case: Mapping[str, Any], version: str, root: Path) -> dict[str, Any]:
    """Return stage and resolved values of a case, in the oracle's field names."""
    target = _write(root / (case.get("target_dir") or "target"), case, "target")
    draft = _write(root / (case.get("draft_dir") or "draft"), case, "draft")
    argv = _argv(case, str(target), str(draft))
    environment = {"HF_HUB_OFFLINE": "1", **(case.get("env") or {})}
    with contextlib.chdir(root):
        launch = build_launch(
            engine=f"vllm@{version}",
            words=argv,
            environment={
                name: Variable(name, str(value), Origin("environment", name=name))
                for name, value in environment.items()
                if value is not None
            },
            hardware=PROFILES["h100"],
        )
        resolved = find_engine("vllm").resolve(launch)
    stops = [event for event in resolved.events if event.outcome in STOPPING]
    early = [event for event in stops if event.stage in EARLY]
    first = min(early, key=lambda event: EARLY.index(event.stage), default=None)
    return {
        "stage": None if first is None else first.stage,
        "event": first,
        "method": resolved.value("method"),
        "num_speculative_tokens": resolved.value("num_speculative_tokens"),
        "runner": resolved.value("model_runner"),
        "target_max_model_len": resolved.value("context_length"),
        "draft_max_model_len": resolved.value("draft_context_length"),
        "draft_architecture": resolved.value("draft_architecture"),
    }


def differences(predicted: Mapping[str, Any], verdict: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields in which a prediction differs from a recorded verdict."""
    if predicted["stage"] not in STAGES[verdict["stage"]]:
        yield "stage"
        return
    recorded = dict(verdict["resolved"])
    names = recorded.get("draft_architectures")
    if recorded.get("method") in ("ngram", "suffix", "custom_class", "extract_hidden_states"):
        names = None
        recorded.pop("draft_max_model_len", None)
    if recorded.get("method") == "ngram_gpu":
        names = None
        recorded.pop("draft_max_model_len", None)
    recorded["draft_architecture"] = names[0] if names else None
    for name in (
        "method",
        "num_speculative_tokens",
        "runner",
        "target_max_model_len",
        "draft_max_model_len",
        "draft_architecture",
    ):
        if recorded.get(name) is not None and predicted[name] != recorded[name]:
            yield name


def _write(folder: Path, case: Mapping[str, Any], role: str) -> Path:
    config = case.get(f"{role}_config")
    if config is not None or role == "target":
        folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        text = config if isinstance(config, str) else json.dumps(config)
        (folder / "config.json").write_text(text)
        for name, body in (case.get(f"{role}_files") or {}).items():
            (folder / name).write_text(body if isinstance(body, str) else json.dumps(body))
    return folder


def _argv(case: Mapping[str, Any], target: str, draft: str) -> list[str]:
    """Return the words as the oracle's driver builds them."""
    flags = case.get("flags") or {}
    words: list[str] = [] if isinstance(flags, dict) else [str(word) for word in flags]
    for name, value in flags.items() if isinstance(flags, dict) else ():
        option = name if name.startswith("-") else f"--{name}"
        if value is True:
            words.append(option)
        elif isinstance(value, list):
            words += [option, *map(str, value)]
        elif value not in (False, None):
            words += [option, json.dumps(value) if isinstance(value, dict) else str(value)]
    given = case.get("speculative_config")
    if given is not None:
        words += ["--speculative-config", given if isinstance(given, str) else json.dumps(given)]
    words = [word.replace("{TARGET}", target).replace("{DRAFT}", draft) for word in words]
    return words if "--model" in words else ["--model", target, *words]


def main() -> None:
    """Print the agreement by field and version, and the first misses."""
    parser = argparse.ArgumentParser()
    parser.add_argument("oracle", type=Path)
    parser.add_argument("--versions", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--misses", type=int, default=60)
    options = parser.parse_args()
    cases = {
        case["id"]: case
        for case in json.loads((options.oracle / "cases.json").read_text())["cases"]
    }
    files = sorted((options.oracle / "verdicts").glob("*.json"))
    wanted = options.versions.split(",") if options.versions else [file.stem for file in files]
    misses: list[str] = []
    for version in wanted:
        counted: Counter[str] = Counter()
        verdicts = json.loads((options.oracle / "verdicts" / f"{version}.json").read_text())
        for verdict in verdicts["verdicts"]:
            name = verdict["id"]
            if options.only and not name.startswith(options.only):
                continue
            with tempfile.TemporaryDirectory(prefix="orc") as folder:
                try:
                    predicted = predict(cases[name], version, Path(folder))
                except Exception as error:
                    counted["stage"] += 1
                    misses.append(f"{version} {name}: {type(error).__name__} {error}")
                    if os.environ.get("TRACE"):
                        raise
                    continue
            for field in differences(predicted, verdict):
                counted[field] += 1
                event = predicted["event"]
                said = "-" if event is None else f"{event.topic}: {event.engine_message}"
                recorded = (
                    verdict["resolved"].get(field)
                    if field != "stage"
                    else (f"{verdict['stage']}: {verdict['message']}")
                )
                misses.append(
                    f"{version} {name} {field}: {predicted[field] if field != 'stage' else said!r} | {recorded!r}"[
                        :330
                    ]
                )
        total = len(verdicts["verdicts"])
        print(version, total, dict(counted), f"stage {100 - 100 * counted['stage'] / total:.1f}%")
    for miss in misses[: options.misses]:
        print(" ", miss)


if __name__ == "__main__":
    main()
    sys.exit(0)
