#!/usr/bin/env python3
"""Write `engines/vllm/data/` from unpacked vLLM wheels.

    tools/harvest_vllm.py FOLDER        # FOLDER/<release>/vllm/ and FOLDER/<release>/*.dist-info/

Each data file keeps a topic as a history: `{name: [[release, value], …]}`, an entry per release
that changed the value and `null` where it went away, so that a diff shows what a release changed.
`data/source/` keeps the code that reads a config, each function once with the releases it holds in.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from harvest import nccl_of
from packaging.version import Version

from specpreflight.engines.source.bundle import RELEASES, write_module
from specpreflight.engines.source.closure import Closure
from specpreflight.engines.source.modules import STRINGS, TreeSources
from specpreflight.engines.vllm.harvest import TOPICS, read_engine

DATA = Path(__file__).parent.parent / "src/specpreflight/engines/vllm/data"

#: Names worth following from the code that reads a config.
_FOLLOWED = (
    "vllm.transformers_utils.config.",
    "vllm.transformers_utils.config_parser_base.",
    "vllm.transformers_utils.configs",
    "vllm.transformers_utils.utils.without_trust_remote_code",
    "vllm.config.utils.getattr_iter",
    "vllm.config.SpeculativeConfig",
    "vllm.config.speculative.SpeculativeConfig",
    "vllm.model_executor.models.mimo_v2_mtp._MIMO",
)

#: The first release whose behaviour is restated.
FIRST = Version("0.10.0")


def main(folder: Path) -> None:
    """Harvest every release below `folder` and write the histories."""
    releases = sorted(
        (path.parent.name for path in folder.glob("*/vllm") if Version(path.parent.name) >= FIRST),
        key=Version,
    )
    with ProcessPoolExecutor(2) as pool:
        facts = list(pool.map(read_engine, [folder / release / "vllm" for release in releases]))
    requirements = [_requirements(folder / release) for release in releases]
    _write("releases", dict(zip(releases, requirements, strict=True)))
    for topic in TOPICS:
        _write(topic, _history(releases, [fact[topic] for fact in facts]))
    _write_source(folder, releases)


def _requirements(folder: Path) -> dict[str, str]:
    """Return what a wheel's metadata pins, the NCCL of that torch, and the day it was built."""
    metadata = next(folder.glob("*.dist-info/METADATA"))
    built = datetime.fromtimestamp(metadata.stat().st_mtime, tz=timezone.utc)
    found = {"date": built.date().isoformat()}
    for line in metadata.read_text().splitlines():
        if line.startswith("Requires-Dist: ") and ";" not in line:
            text = line.removeprefix("Requires-Dist: ")
            for name in ("transformers", "torch"):
                if text.startswith(name) and text[len(name)] in "<>=! ":
                    found[name] = text[len(name) :].strip()
    nccl = nccl_of(found["torch"].removeprefix("=="))
    return found if nccl is None else {**found, "nccl": nccl}


def _history(releases: list[str], facts: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for fact in reversed(facts) for name in fact)
    history: dict[str, list[Any]] = {name: [] for name in names}
    for release, fact in zip(releases, facts, strict=True):
        for name, entries in history.items():
            value = fact.get(name)
            if (entries[-1][1] if entries else None) != value:
                entries.append([release, value])
    return history


def _write_source(folder: Path, releases: list[str]) -> None:
    """Write the definitions that read a config, as `engines/source/bundle.py` keeps them."""
    target = DATA / "source"
    target.mkdir(exist_ok=True)
    for stale in target.glob("*.json"):
        stale.unlink()
    with ProcessPoolExecutor(2) as pool:
        found = dict(
            zip(
                releases,
                pool.map(_definitions, [folder / release for release in releases]),
                strict=True,
            )
        )
    for module in sorted({name for modules in found.values() for name in modules}):
        write_module(target, module, {r: found[r].get(module, {}) for r in releases})
    (target / RELEASES).write_text(json.dumps({"vllm": releases}, indent=1) + "\n")


def _definitions(tree: Path) -> dict[str, dict[str, str]]:
    """Return module → definition → text of one release."""
    sources = TreeSources(vllm=tree)
    closure = Closure(sources, _is_followed, _is_wanted)
    for root in (
        "vllm.transformers_utils.config.get_config",
        "vllm.transformers_utils.config.HFConfigParser",
        "vllm.config.SpeculativeConfig",
        "vllm.config.speculative.SpeculativeConfig",
    ):
        closure.add(root)
    for path in sorted((tree / "vllm/transformers_utils/configs").rglob("*.py")):
        name = ".".join(path.relative_to(tree).with_suffix("").parts).removesuffix(".__init__")
        module = sources.module(name)
        for bound in () if module is None else module.definitions:
            if bound.endswith("Config") or bound.startswith("update_"):
                closure.add(f"{name}.{bound}")
    found: dict[str, dict[str, str]] = {}
    for (module, key), definition in closure.found.items():
        bare = key == "SpeculativeConfig"
        text = "class SpeculativeConfig:\n    pass" if bare else definition.source
        found.setdefault(module, {})[key] = text
    for name, module in closure.modules.items():
        if module.strings:
            found[name][STRINGS] = ""
        if module.package == module.name:
            found[name][""] = ""
    return found


def _is_followed(dotted: str) -> bool:
    return dotted.startswith(_FOLLOWED) and "LazyConfigDict" not in dotted


def _is_wanted(module: str, owner: str, method: str) -> bool:
    if owner == "SpeculativeConfig":
        return method == "hf_config_override"
    return method not in ("to_json_string", "to_dict", "to_diff_dict", "save_pretrained")


def _write(name: str, content: dict[str, Any]) -> None:
    """Write one entry a line: small enough to read, stable enough to diff."""
    lines = []
    for key, value in content.items():
        lines.append(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}")
    (DATA / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
