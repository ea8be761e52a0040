"""A launch and its report, held still: everything that may differ the next time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from specpreflight import __version__
from specpreflight.api import RELEVANT_PREFIXES
from specpreflight.engines.base import Facts
from specpreflight.engines.registry import find_engine
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.lock import FORMAT_VERSION, EngineSource, Lock, LockedCheckpoint
from specpreflight.models.report import Report
from specpreflight.models.secrets import (
    name_words,
    named_values,
    redact,
    redact_words,
    scrub,
    secret_texts,
)
from specpreflight.reports.json import plain_data
from specpreflight.sources.file_hashes import hash_bytes, hash_checkpoint, hash_tree
from specpreflight.sources.libraries import find_libraries

#: Keys of a config that end with `_token` and are secrets.
_TOKENS: Final = frozenset({"hf_token", "auth_token", "access_token", "api_token"})


def capture(launch: Launch, report: Report, *, beside: Path | None = None) -> Lock:
    """Return the lock of a launch.

    Args:
        launch: as it was checked.
        report: what the check said.
        beside: the site-packages folder that the engine is imported from, where it is known.
    """
    variables = [(name, known.value) for name, known in launch.environment.items()]
    values = [(name, value) for name, value in name_words(launch.argv) if name != value]
    secrets = secret_texts([*variables, *values, *_config_values(launch)])
    return Lock(
        format_version=FORMAT_VERSION,
        written_by=f"specpreflight {__version__}",
        source=_engine_source(launch.engine),
        libraries={} if beside is None else find_libraries(beside),
        argv=tuple(scrub(redact_words(launch.argv), secrets)),
        target=_checkpoint(launch.target, secrets),
        draft=_checkpoint(launch.draft, secrets),
        report=_without_secrets(_with_relevant_variables(report), secrets),
    )


def _config_values(launch: Launch) -> Iterator[tuple[str, Any]]:
    """Yield what configs name; `eos_token` and its kin are texts, not secrets."""
    for checkpoint in (launch.target, launch.draft):
        if checkpoint is not None:
            for name, value in named_values(checkpoint.config.root):
                if not name.endswith("_token") or name in _TOKENS:
                    yield name, value


def is_relevant(name: str, known: Iterable[str] = ()) -> bool:
    """Return whether a variable can touch a launch, by its name."""
    return name.startswith(RELEVANT_PREFIXES) or name in known


def hash_facts(facts: Facts) -> EngineSource:
    """Return one hash for what is known of a release."""
    plain = {
        topic: {
            entry: {field: value for field, value in fields.items() if field != "about"}
            for entry, fields in entries.items()
        }
        for topic, entries in facts.items()
    }
    text = json.dumps(plain, sort_keys=True, default=str)
    count = sum(len(entries) for entries in facts.values())
    return EngineSource("knowledge", hashlib.sha256(text.encode()).hexdigest(), count)


def _engine_source(engine: EngineVersion) -> EngineSource:
    if engine.path is None:
        return hash_facts(find_engine(engine.name).facts(engine))
    path = Path(engine.path)
    package = path / engine.name
    return hash_tree(package if package.is_dir() else path)


def _checkpoint(checkpoint: Checkpoint | None, secrets: Iterable[str]) -> LockedCheckpoint | None:
    if checkpoint is None:
        return None
    if checkpoint.problem is not None:
        return LockedCheckpoint(scrub(checkpoint.given, secrets), {})
    if checkpoint.directory is not None:
        files = hash_checkpoint(checkpoint.directory)
    else:
        files = {"config.json": hash_bytes(checkpoint.config.data)}
    config = scrub(plain_data(checkpoint.config.root), secrets)
    return LockedCheckpoint(scrub(checkpoint.given, secrets), config, files)


def _with_relevant_variables(report: Report) -> Report:
    """Leave out what the launch sets for others than the engine and its libraries."""
    named = {value.origin.name for finding in report.findings for value in finding.values}
    named |= {value.label for finding in report.findings for value in finding.values}
    known = find_engine(report.engine.name).known_variables(None)
    kept = {
        name: value
        for name, value in report.inputs.environment.items()
        if is_relevant(name, known) or name in named
    }
    return replace(report, inputs=replace(report.inputs, environment=kept))


def _without_secrets(report: Report, secrets: Iterable[str]) -> Report:
    """Return the report as it comes back from a file, with every text scrubbed."""
    from specpreflight.models.schema import report_of

    data = scrub(plain_data(report), secrets)
    for finding in data["findings"]:
        for value in finding["values"]:
            value["value"] = redact(value["label"], value["value"])
    return report_of(data)
