"""Write recorded verdicts in the compact form that the tests keep.

    tools/golden.py FOLDER NAME        # FOLDER: cases.json and verdicts/, as the oracle writes them

Writes tests/golden/sglang/launches/NAME.json: configs as changes to a few bases, and each verdict
once with the releases that gave it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1] / "tests/golden/sglang/launches"

#: What of a verdict is kept, by the name that the oracle gives it.
KEPT = (
    "stage", "exception", "message", "target_context_len", "draft_context_len", "target_dtype",
    "draft_dtype",
)  # fmt: skip
ADJUSTED = (
    "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens", "page_size",
    "max_running_requests", "speculative_algorithm", "attention_backend",
)  # fmt: skip


def shorten_verdict(verdict: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a verdict that a prediction is compared with."""
    kept = {name: verdict[name] for name in KEPT if verdict.get(name) not in (None, "")}
    if "message" in kept:
        kept["message"] = kept["message"][:120]
    chain = " ".join(verdict.get("chain") or ())
    if verdict["stage"] == "args" and ("model_config.py" in chain or "transformers/" in chain):
        kept["read_config"] = True
    if verdict["stage"] == "ok" and verdict.get("draft_architectures"):
        kept["draft_architecture"] = verdict["draft_architectures"][0]
    adjusted = verdict.get("adjusted") or {}
    changed = {n: adjusted[n][1] for n in ADJUSTED if isinstance(adjusted.get(n), list)}
    return {**kept, **({"adjusted": changed} if changed else {})}


def difference(base: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """Return the changes that turn `base` into `config`; `-key` removes one."""
    changes = {
        # 1, 1.0 and True are equal to Python and three types to the engine.
        key: value
        for key, value in config.items()
        if repr(base.get(key, ...)) != repr(value)
    }
    return {**changes, **{f"-{key}": None for key in base if key not in config}}


def main() -> None:
    """Write one golden file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    options = parser.parse_args()
    document = json.loads((options.folder / "cases.json").read_text())
    cases = document["cases"] if isinstance(document, dict) else document
    bases: dict[str, dict[str, Any]] = {}
    written = {}
    common = Counter(
        json.dumps(case[role])
        for case in cases
        for role in ("target_config", "draft_config")
        if isinstance(case.get(role), dict)
    )
    for text, _ in common.most_common(12):
        bases[f"base-{len(bases)}"] = json.loads(text)
    for case in cases:
        entry = {key: case[key] for key in ("kind", "flags", "env") if case.get(key)}
        entry |= {
            key: case[key] for key in ("target_files", "draft_files", "pass_draft") if key in case
        }
        for role in ("target_config", "draft_config"):
            config = case.get(role)
            if not isinstance(config, dict):
                entry[role] = config
                continue
            name = min(bases, key=lambda each: len(json.dumps(difference(bases[each], config))))
            entry[role] = [name, difference(bases[name], config)]
        written[case["id"]] = entry
    verdicts: dict[str, dict[str, list[str]]] = {}
    for path in sorted((options.folder / "verdicts").glob("*.json")):
        for verdict in json.loads(path.read_text())["verdicts"]:
            text = json.dumps(shorten_verdict(verdict), sort_keys=True)
            verdicts.setdefault(verdict["id"], {}).setdefault(text, []).append(path.stem)
    lines = [
        json.dumps({"id": name, **entry, "verdicts": [
            [releases, json.loads(text)] for text, releases in verdicts.get(name, {}).items()
        ]})
        for name, entry in written.items()
    ]  # fmt: skip
    ROOT.mkdir(parents=True, exist_ok=True)
    head = json.dumps({"bases": bases})
    (ROOT / f"{options.name}.jsonl").write_text("\n".join([head, *lines]) + "\n")


if __name__ == "__main__":
    main()
