"""Compare what is predicted with what the real engine said, case by case and release by release.

    tools/verdicts.py                                  # the recordings in tests/golden/sglang
    tools/verdicts.py --recorded FOLDER                # a folder with cases.json and verdicts/
    tools/verdicts.py --pairs FOLDER                   # a corpus with PAIRS_VERDICTS.tsv
    tools/verdicts.py --update-docs                    # write docs/accuracy.md

Prints one line per disagreement and a table per release; exits 1 where anything disagrees.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specpreflight.documents import Document
from specpreflight.engines.sglang import ENGINE
from specpreflight.engines.sglang.release_order import release_key
from specpreflight.models.checkpoint import Checkpoint, Problem
from specpreflight.models.finding import STOPPING, Origin, Stage
from specpreflight.models.launch import EngineVersion, Hardware, Launch, Variable
from specpreflight.models.resolved import Event, Resolved

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests/golden/sglang/launches"

#: Folder names in digits: transformers 4 guesses a missing model type from the path's text.
TARGET, DRAFT = "/00000001/target", "/00000001/draft"

PROFILES = {
    "h100": Hardware(profile="h100", capability=(9, 0), memory_mib=81559, gpus=8),
    "b200": Hardware(profile="b200", capability=(10, 0), memory_mib=183359, gpus=8),
    "sm120": Hardware(profile="rtx-pro-6000", capability=(12, 0), memory_mib=97887, gpus=8),
}

#: The stages that the recorded validation sees.
SEEN = (Stage.ARGUMENTS, Stage.TARGET_CONFIG, Stage.DRAFT_CONFIG)

#: An oracle's stage and the ones of a report that say the same.
SAME = {
    "ok": (None,),
    "args": (Stage.ARGUMENTS,),
    "target_config": (Stage.TARGET_CONFIG,),
    "target_model_class": (Stage.TARGET_CONFIG,),
    "draft_config": (Stage.DRAFT_CONFIG,),
    "draft_model_class": (Stage.DRAFT_CONFIG,),
}

#: Settings of the `resolved` block and the recorded fields that they are compared with.
ADJUSTED = {
    "num_steps": "speculative_num_steps",
    "topk": "speculative_eagle_topk",
    "num_draft_tokens": "speculative_num_draft_tokens",
    "page_size": "page_size",
    "max_running_requests": "max_running_requests",
    "algorithm": "speculative_algorithm",
    "attention_backend": "attention_backend",
}


#: Cases that are known to differ, and why (docs/accuracy.md prints them).
EXPLAINED: Mapping[str, str] = {}


@dataclass
class Agreement:
    """What was compared for one release."""

    stages: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)


def build_launch(
    case: Mapping[str, Any], version: str, hardware: Hardware = PROFILES["h100"]
) -> Launch:
    """Return the launch that a recorded case describes."""
    target = _checkpoint("target", case.get("target_config"), TARGET, case.get("target_files"))
    draft = None
    if case.get("draft_config") is not None:
        draft = _checkpoint("draft", case["draft_config"], DRAFT, case.get("draft_files"))
    environment = {
        name: Variable(name, str(text), Origin("environment", name=name))
        for name, text in (case.get("env") or {}).items()
        if text is not None
    }
    argv = tuple(_argv(case))
    version_used = EngineVersion("sglang", version, "recorded")
    named = ENGINE.read_arguments(argv, version_used)
    return Launch(
        version_used,
        target if named.target == TARGET else None,
        _named_draft(named.draft, target, draft),
        argv,
        named.flags,
        environment,
        hardware,
        named.target,
        named.draft,
    )


def _named_draft(
    path: str | None, target: Checkpoint, draft: Checkpoint | None
) -> Checkpoint | None:
    if path is None:
        return None
    if path == TARGET:
        return target
    if path == DRAFT and draft is not None:
        return draft
    problem = Problem("missing" if path.startswith("/") else "not-cached", f"{path}: not there")
    return Checkpoint("draft", path, None, Document(path, b"{}", {}), problem=problem)


def _checkpoint(role: str, config: Any, path: str, files: Mapping[str, Any] | None) -> Checkpoint:
    name = f"{path}/config.json"
    names = tuple(sorted({"config.json", *(files or {})}))
    text = config if isinstance(config, str) else json.dumps(config, indent=1)
    facts: dict[str, Any] = {"documents": dict(_documents(files or {}))}
    try:
        root = json.loads(text)
    except ValueError:
        empty = Document(name, text.encode(), {})
        problem = Problem("invalid", f"{name}: not JSON")
        return Checkpoint(role, path, Path(path), empty, names, problem, facts)
    document = Document(name, text.encode(), root)
    return Checkpoint(role, path, Path(path), document, names, facts=facts)


def _documents(files: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, content in files.items():
        if name.endswith(".json"):
            yield name, json.loads(content) if isinstance(content, str) else content


def _argv(case: Mapping[str, Any]) -> Iterator[str]:
    """Restate the oracle's `driver.py:build_argv`."""
    words: list[str] = []
    flags = case.get("flags") or []
    for name, value in flags.items() if isinstance(flags, dict) else ():
        option = "--" + name.lstrip("-")
        if value is True:
            words.append(option)
        elif isinstance(value, list):
            words += [option, *map(str, value)]
        elif isinstance(value, dict):
            words += [option, json.dumps(value)]
        elif value is not False and value is not None:
            words += [option, str(value)]
    if isinstance(flags, list):
        words = [str(word) for word in flags]
    words = [word.replace("{TARGET}", TARGET).replace("{DRAFT}", DRAFT) for word in words]
    given = {word.split("=")[0] for word in words}
    if not given & {"--model-path", "--model"}:
        yield from ("--model-path", TARGET)
    drafts = {"--speculative-draft-model-path", "--speculative-draft"}
    if case.get("draft_config") is not None and not given & drafts and case.get("pass_draft", True):
        yield from ("--speculative-draft-model-path", DRAFT)
    if "--skip-tokenizer-init" not in given:
        yield "--skip-tokenizer-init"
    yield from words


def first_stop(resolved: Resolved) -> Event | None:
    """Return the first event that stops the launch at a stage that the oracle sees."""
    return next((e for e in resolved.events if e.outcome in STOPPING and e.stage in SEEN), None)


def accepted_stages(verdict: Mapping[str, Any]) -> tuple[Stage | None, ...]:
    """Return the stages of a report that say the same as a recorded verdict."""
    same: tuple[Stage | None, ...] = SAME[verdict["stage"]]
    chain = " ".join(verdict.get("chain") or ())
    if verdict["stage"] == "args" and ("model_config.py" in chain or "transformers/" in chain):
        return (*same, Stage.TARGET_CONFIG, Stage.DRAFT_CONFIG)
    return same


def compare(
    case: Mapping[str, Any], verdict: Mapping[str, Any], version: str, hardware: Hardware
) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield `(what, setting, recorded, predicted)`; `what` is `stage` or `value`."""
    resolved = ENGINE.resolve(build_launch(case, version, hardware))
    stop = first_stop(resolved)
    wanted = accepted_stages(verdict)
    stage = None if stop is None else stop.stage
    said = None if stop is None else f"{stop.topic}: {stop.exception}: {stop.engine_message}"
    recorded = f"{verdict['stage']}: {verdict.get('exception')}: {verdict.get('message')}"
    yield (
        "stage",
        "",
        recorded if stage not in wanted else "agrees",
        (said if stage not in wanted else "agrees"),
    )
    if verdict["stage"] != "ok" or stop is not None:
        return
    adjusted = verdict.get("adjusted") or {}
    for setting, name in ADJUSTED.items():
        if name in adjusted and isinstance(adjusted[name], list):
            yield "value", setting, adjusted[name][1], resolved.value(setting)
    if verdict.get("target_context_len") is not None:
        yield (
            "value",
            "context_length",
            verdict["target_context_len"],
            resolved.value("context_length"),
        )
    if verdict.get("draft_context_len") is not None:
        yield (
            "value",
            "draft_context_length",
            verdict["draft_context_len"],
            resolved.value("draft_context_length"),
        )
        architectures = verdict.get("draft_architectures") or [None]
        yield "value", "draft_architecture", architectures[0], resolved.value("draft_architecture")
        for setting, name in (("draft_dtype", "draft_dtype"), ("target_dtype", "target_dtype")):
            if verdict.get(name):
                yield (
                    "value",
                    setting,
                    verdict[name].removeprefix("torch."),
                    resolved.value(setting),
                )


def agree(
    cases: Iterable[Mapping[str, Any]],
    verdicts: Mapping[str, Mapping[str, Any]],
    version: str,
    hardware: Hardware = PROFILES["h100"],
) -> Agreement:
    """Return the agreement of one release over the cases that have a verdict."""
    agreement = Agreement()
    for case in cases:
        verdict = verdicts.get(case["id"])
        if verdict is None:
            continue
        for what, setting, recorded, predicted in compare(case, verdict, version, hardware):
            counter = agreement.stages if what == "stage" else agreement.values
            counter["agree" if recorded == predicted else "differ"] += 1
            if recorded != predicted:
                agreement.disagreements.append(
                    f"{version} {case['id']} {setting or 'stage'}: "
                    f"recorded {recorded!r}, predicted {predicted!r}"
                )
    return agreement


def read_golden(path: Path) -> tuple[list[dict[str, Any]], dict[str, dict[str, dict[str, Any]]]]:
    """Return the cases of a golden file and release → case id → verdict (see `tools/golden.py`)."""
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    bases = json.loads(head)["bases"]
    cases = []
    verdicts: dict[str, dict[str, dict[str, Any]]] = {}
    for line in lines:
        case = json.loads(line)
        for role in ("target_config", "draft_config"):
            if isinstance(case.get(role), list):
                case[role] = _rebuilt(bases, *case[role])
        for releases, verdict in case.pop("verdicts"):
            for release in releases:
                verdicts.setdefault(release, {})[case["id"]] = _lengthened(verdict)
        cases.append(case)
    return cases, verdicts


def _rebuilt(bases: Mapping[str, Any], base: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    config = {key: value for key, value in bases[base].items() if f"-{key}" not in changes}
    return config | {key: value for key, value in changes.items() if not key.startswith("-")}


def _lengthened(verdict: dict[str, Any]) -> dict[str, Any]:
    """Return a golden verdict in the oracle's own terms."""
    adjusted = {name: [None, value] for name, value in verdict.get("adjusted", {}).items()}
    return {
        **verdict,
        "chain": ["transformers/"] if verdict.get("read_config") else [],
        "adjusted": adjusted,
        "draft_architectures": [verdict.get("draft_architecture")],
    }


def recorded_verdicts(folder: Path, profile: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (release, case id → verdict) of a folder of the oracle."""
    place = folder / "verdicts" if profile == "h100" else folder / "verdicts" / profile
    for path in sorted(place.glob("*.json")):
        verdicts = json.loads(path.read_text())["verdicts"]
        yield path.stem, {verdict["id"]: verdict for verdict in verdicts}


def read_cases(folder: Path) -> list[dict[str, Any]]:
    """Return the cases of a folder of the oracle."""
    document = json.loads((folder / "cases.json").read_text())
    cases: list[dict[str, Any]] = document["cases"] if isinstance(document, dict) else document
    return cases


def pair_cases(corpus: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield (release, case, verdict) for every row of a corpus's PAIRS_VERDICTS.tsv."""
    with (corpus / "PAIRS_VERDICTS.tsv").open(encoding="utf-8") as lines:
        for number, row in enumerate(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)):
            config = corpus / "configs" / row["target_id"] / "config.json"
            draft = corpus / "configs" / row["draft_id"] / "config.json"
            environment = dict(
                pair.partition("=")[::2] for pair in (row["environment"] or "").split()
            )
            case = {
                "id": f"{number:04} {row['target_id']} + {row['draft_id']} {row['environment']}",
                "target_config": config.read_text(encoding="utf-8"),
                "draft_config": draft.read_text(encoding="utf-8") if draft.exists() else None,
                "flags": row["flags"].split(),
                "env": environment,
            }
            verdict = {"id": case["id"], "chain": ["transformers/"], **row}
            yield row["sglang"], case, verdict


def main() -> None:
    """Print the agreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recorded", type=Path, action="append")
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--profile", default="h100", choices=sorted(PROFILES))
    parser.add_argument("--versions", default="")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--update-docs", action="store_true")
    options = parser.parse_args()
    results: dict[str, Agreement] = {}
    if options.pairs:
        by_release: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
        for version, case, verdict in pair_cases(options.pairs):
            by_release.setdefault(version, []).append((case, verdict))
        for version, rows in by_release.items():
            if options.versions and version not in options.versions.split(","):
                continue
            verdicts = {verdict["id"]: verdict for _, verdict in rows}
            results[version] = agree((case for case, _ in rows), verdicts, version)
            _print(version, results[version], options.show)
    if not options.pairs and not options.recorded:
        for path in sorted(GOLDEN.glob("*.jsonl")):
            cases, by_version = read_golden(path)
            print(path.stem)
            for version in sorted(by_version, key=release_key):
                if not options.versions or version in options.versions.split(","):
                    found = agree(cases, by_version[version], version)
                    results[f"{path.stem} {version}"] = found
                    _print(version, found, options.show)
    for folder in options.recorded or ():
        cases = [
            case
            for case in read_cases(folder)
            if (not options.kinds or case["kind"] in options.kinds.split(","))
            and (not options.only or case["id"] in options.only.split(","))
        ]
        for version, verdicts in recorded_verdicts(folder, options.profile):
            if options.versions and version not in options.versions.split(","):
                continue
            results[version] = agree(cases, verdicts, version, PROFILES[options.profile])
            _print(version, results[version], options.show)
    if options.update_docs:
        ACCURACY.write_text(accuracy_page(results))
    if any(not is_explained(line) for r in results.values() for line in r.disagreements):
        sys.exit(1)


def is_explained(line: str) -> bool:
    """Return whether a disagreement is one of `EXPLAINED`."""
    return any(case in line for case in EXPLAINED)


def accuracy_page(results: Mapping[str, Agreement]) -> str:
    """Return docs/accuracy.md: the agreement per release, and what differs and why."""
    rows = []
    for name, result in results.items():
        recording, _, release = name.rpartition(" ")
        rows.append(
            f"| {recording} | {release} | {_share(result.stages)} | {_share(result.values)} |"
        )
    differing = [line for result in results.values() for line in result.disagreements]
    reasons = [
        f"- {reason} ({sum(case in line for line in differing)} verdicts)"
        for case, reason in EXPLAINED.items()
    ]
    return _PAGE.format(rows="\n".join(rows), reasons="\n".join(reasons) or "Nothing.")


def _share(counter: Counter[str]) -> str:
    if not counter.total():
        return "-"
    return f"{counter['agree']} of {counter.total()} ({counter['agree'] / counter.total():.2%})"


_PAGE = """# How far a prediction for SGLang agrees with the engine

Written by `tools/verdicts.py --update-docs`; do not edit.

The recordings in `tests/golden/sglang/launches` hold launches and what the real code of ten
releases said of them on a machine without GPUs, from the command line to the look-up of both model
classes (H100 profile). A prediction agrees in *stage* where its first stop at one of these stages
is the recorded one (none for a launch that passes), and in *values* where a resolved setting
(steps, top-k, draft tokens, page size, running requests, attention backend, both context lengths,
the draft's architecture, both dtypes) is the recorded one.

- `public`: launches of eleven kinds, from context lengths to parallelism.
- `configs`: one key of a draft or a target changed at a time: lengths, RoPE, types, model types,
  dtypes, quantisation, architectures.
- `nested`: vision models whose config says a thing beside its text config, inside it, or twice.

| recording | release | stage | values |
|---|---|---|---|
{rows}

## What differs, and why
{reasons}

## What is not predicted
From the files and flags alone:

- *How well a draft drafts.* Acceptance lengths are never computed. A finding says
  `accepts-nothing` or `degrades` where the code feeds the draft something that it was not trained
  on; a draft that is merely bad looks like a good one.
- *Memory.* Whether weights, KV pools and CUDA graphs fit (`Capture CUDA graph failed`, out of
  memory while loading or serving) depends on the card, the driver and what else runs there. That
  a release does not count the draft when it sizes the pools is told, not whether that is too
  much.
- *What requests do.* Lengths and concurrency decide whether a short rotary table, a full row of
  the pool or two hidden sizes in one batch are ever met. Such findings stand at `serving`, and
  the first two are made only where the launch asks for long requests.
- *What is installed.* Kernels (`sgl-kernel`, FlashInfer, FA3, DeepEP), drivers and plugins that
  register algorithms, backends or models when they are imported are taken to be those of a plain
  installation of the release.
- *The bytes of weights.* Names, shapes and dtypes are read, values are not (but for small maps
  such as `d2t`); whether they are the right ones is unknown.
- *Loaders of model classes that are not restated.* Their tensors are not judged (`keys` says
  which).
- *Code that a checkpoint brings along* is never run. With `--trust-remote-code` such a config
  counts by the keys that are in it; defaults and sub-configs that only its code knows are
  unknown.
- *Configuration classes of models that generate no text* (vision, audio) are known by name only;
  what follows from their defaults is unknown.
- *A missing `model_type`.* transformers 4 guesses it from the text of the path. The prediction
  uses the path as it is given.
- *The GPU*, where it decides and `--hardware` does not name it: the launch is predicted for each
  kind. A setting that they do not agree on is `unknown` in the report, with what each would do; a
  stop that only some of them have is listed under `skipped`.

With a lower confidence (`observed`, `inferred`), because the code shows the cause and not the
effect:

- what a server does after a read past the end of a table or a row (`rotary-table-short`,
  `no-room-for-drafts`), and how much a switch or layer that is not used costs
  (`training-switch-unread`, `aux-layers-not-used`, `dflash-layers-guessed`);
- which kernels refuse mixed dtypes (`dtype-differs`), and what a quantisation scheme does with
  plain weights (`quantization-inherited`);
- whether a target fits a second time as its own draft (`draft-path-missing`);
- for a tree (`--engine PATH`), everything that hangs on a question that the tree does not answer,
  or on a restated file that is not the nearest release's: the finding names it.

What comes after the model classes are looked up (shapes, backends of the draft, workers) is
restated by hand from the source of all releases, and not compared in the table above.
"""

ACCURACY = ROOT / "docs/accuracy.md"


def _print(version: str, agreement: Agreement, show: int) -> None:
    for line in agreement.disagreements[:show]:
        print("  ", line[:400])
    stages, values = agreement.stages, agreement.values
    print(
        f"{version:12} stages {stages['agree']}/{stages.total()}  "
        f"values {values['agree']}/{values.total()}",
        flush=True,
    )


if __name__ == "__main__":
    main()
