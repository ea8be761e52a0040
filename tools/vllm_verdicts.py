#!/usr/bin/env python3
"""Compare predictions for vLLM with the oracle's recorded verdicts.

    tools/vllm_verdicts.py ORACLE [--versions V,V] [--only ID] [--misses 40] [--record FILE]

ORACLE holds `cases.json` and `verdicts/<version>.json`. Each case is written to a scratch folder
and checked as a user would: the same arguments, paths and variables.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from specpreflight.api import build_launch
from specpreflight.engines.registry import find_engine
from specpreflight.engines.vllm.speculation import WITHOUT_DRAFT
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
#: What is compared beside the stage, in the oracle's names.
FIELDS = (
    "method",
    "num_speculative_tokens",
    "runner",
    "target_max_model_len",
    "draft_max_model_len",
)
EARLY = (Stage.ARGUMENTS, Stage.TARGET_CONFIG, Stage.DRAFT_CONFIG)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder; Python 3.11 has `contextlib.chdir` for it."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def predict(case: Mapping[str, Any], version: str, root: Path) -> dict[str, Any]:
    """Return stage and resolved values of a case, in the oracle's field names."""
    target = _write(root / (case.get("target_dir") or "target"), case, "target")
    draft = _write(root / (case.get("draft_dir") or "draft"), case, "draft")
    argv = _argv(case, str(target), str(draft))
    environment = {"HF_HUB_OFFLINE": "1", **(case.get("env") or {})}
    with _inside(root):
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
        "said": None if first is None else _masked(first.engine_message, target, draft),
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
    if recorded.get("method") in WITHOUT_DRAFT:
        names = None
        recorded.pop("draft_max_model_len", None)
    recorded["draft_architecture"] = names[0] if names else None
    for name in (*FIELDS, "draft_architecture"):
        if recorded.get(name) is not None and predicted[name] != recorded[name]:
            yield name
    said = (verdict["message"] or "").partition("\n")[0].partition(" Supported architectures")[0]
    if predicted["said"] is not None and said[:80] not in predicted["said"]:
        yield "message"


def _masked(message: str | None, target: Path, draft: Path) -> str:
    """Return a message with the scratch paths written as the oracle writes them."""
    text = (message or "").replace(str(target), "<TARGET>")
    return text.replace(str(draft), "<DRAFT>")


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
        elif value is not False and value is not None:
            words += [option, json.dumps(value) if isinstance(value, dict) else str(value)]
    given = case.get("speculative_config")
    if given is not None:
        words += ["--speculative-config", given if isinstance(given, str) else json.dumps(given)]
    words = [word.replace("{TARGET}", target).replace("{DRAFT}", draft) for word in words]
    return words if "--model" in words else ["--model", target, *words]


def compare(
    cases: Mapping[str, Any], version: str, verdicts: list[dict[str, Any]]
) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield `(case, field, predicted, recorded)` for every difference in one version."""
    for verdict in verdicts:
        case = cases[verdict["id"]]
        with tempfile.TemporaryDirectory(prefix="orc") as folder:
            predicted = predict(case, version, Path(folder))
        for field in differences(predicted, verdict):
            if field in ("stage", "message"):
                event = predicted["event"]
                said = None if event is None else f"{event.topic}: {predicted['said']}"
                yield verdict["id"], field, said, f"{verdict['stage']}: {verdict['message']}"
            else:
                yield verdict["id"], field, predicted[field], verdict["resolved"].get(field)


def read_oracle(
    folder: Path, versions: list[str]
) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Return the cases by id, and the verdicts by version, of an oracle's folder or golden file."""
    if folder.is_file():
        cases, verdicts = read_golden(folder)
        return cases, {name: verdicts[name] for name in versions or verdicts}
    listed = json.loads((folder / "cases.json").read_text())["cases"]
    names = versions or sorted(path.stem for path in (folder / "verdicts").glob("*.json"))
    return {case["id"]: case for case in listed}, {
        name: json.loads((folder / "verdicts" / f"{name}.json").read_text())["verdicts"]
        for name in names
    }


#: Stands for a verdict in a version that the case was not tried with.
NOT_RECORDED = -1

#: What a golden verdict holds beside the stage, in this order.
_GOLDEN = (*FIELDS, "draft_architectures", "message")


def read_golden(file: Path) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Return cases and verdicts from the compact form that `write_golden` makes."""
    stored = json.loads(file.read_text())
    configs, kinds = stored["configs"], stored["kinds"]
    cases = {}
    for name, case in stored["cases"].items():
        cases[name] = {"id": name, **case}
        for role in ("target_config", "draft_config"):
            if role in case:
                cases[name][role] = configs[case[role]]
    verdicts: dict[str, list[dict[str, Any]]] = {}
    for version, numbers in stored["verdicts"].items():
        verdicts[version] = []
        for name, number in zip(cases, numbers, strict=True):
            if number == NOT_RECORDED:
                continue
            stage, *found = kinds[number]
            resolved = dict(zip(_GOLDEN, found, strict=True))
            message = resolved.pop("message")
            verdict = {"id": name, "stage": stage, "message": message, "resolved": resolved}
            verdicts[version].append(verdict)
    return cases, verdicts


def write_golden(
    file: Path, cases: Mapping[str, Any], verdicts: Mapping[str, list[dict[str, Any]]]
) -> None:
    """Write cases and verdicts compactly: each config and each kind of verdict once."""
    configs: list[Any] = []
    kinds: list[Any] = []
    kept = {}
    for name, case in cases.items():
        entry = {
            key: value
            for key, value in case.items()
            if key not in ("id", "kind", "note", "tags")
            and value is not None
            and (value or key not in ("flags", "env"))
        }
        for role in ("target_config", "draft_config"):
            if role in entry:
                entry[role] = _number(configs, entry[role])
        kept[name] = entry
    stored = {
        "configs": configs,
        "cases": kept,
        "kinds": kinds,
        "verdicts": {
            version: [numbers.get(name, NOT_RECORDED) for name in kept]
            for version, of_version in verdicts.items()
            for numbers in [{each["id"]: _number(kinds, _essence(each)) for each in of_version}]
        },
    }
    lines = [
        f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
        for key, value in stored.items()
    ]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _number(known: list[Any], item: Any) -> int:
    """Return the index of an item in a list, which gets it if it is new."""
    if item not in known:
        known.append(item)
    return known.index(item)


def _essence(verdict: Mapping[str, Any]) -> list[Any]:
    """Return what is compared of a recorded verdict; an early stop resolved little."""
    resolved = verdict["resolved"] if verdict["stage"] != "args" else {}
    message = (verdict["message"] or "").partition("\n")[0]
    message = message.partition(" Supported architectures")[0][:80]
    return [verdict["stage"], *(resolved.get(name) for name in _GOLDEN[:-1]), message]


def main() -> None:
    """Print the agreement by field and version, and the first misses."""
    parser = argparse.ArgumentParser()
    parser.add_argument("oracle", type=Path)
    parser.add_argument("--versions", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--misses", type=int, default=60)
    parser.add_argument("--record", type=Path, help="write cases and verdicts there, compactly")
    options = parser.parse_args()
    cases, verdicts = read_oracle(options.oracle, list(filter(None, options.versions.split(","))))
    if options.record:
        write_golden(options.record, cases, verdicts)
        return
    misses: list[str] = []
    for version, recorded in verdicts.items():
        chosen = [verdict for verdict in recorded if verdict["id"].startswith(options.only)]
        found = list(compare(cases, version, chosen))
        counted = Counter(field for _, field, _, _ in found)
        share = 100 - 100 * counted["stage"] / max(len(chosen), 1)
        print(version, len(chosen), dict(counted), f"stage {share:.1f}%", flush=True)
        misses += [
            f"{version} {name} {field}: {predicted!r} | {wanted!r}"[:330]
            for name, field, predicted, wanted in found
        ]
    for miss in misses[: options.misses]:
        print(" ", miss)


if __name__ == "__main__":
    main()
