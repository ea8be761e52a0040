"""A recorded launch made into one that can be checked again, as far as its file tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specpreflight.api import identify_engine
from specpreflight.documents import Document
from specpreflight.engines.registry import find_engine
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Origin
from specpreflight.models.launch import EngineVersion, Hardware, Launch, Variable
from specpreflight.models.lock import Lock, LockedCheckpoint


def rebuild_launch(lock: Lock) -> Launch:
    """Return the launch that a lock records; its weights and tokenizers are not in the file.

    Raises:
        UsageError: its engine is not known.
    """
    engine = recorded_engine(lock)
    inputs = lock.report.inputs
    hardware: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in inputs.hardware.items()
        if name != "topology"
    }
    return Launch(
        engine=engine,
        target=_checkpoint("target", lock.target),
        draft=_checkpoint("draft", lock.draft),
        argv=lock.argv,
        flags=find_engine(engine.name).read_arguments(lock.argv, engine).flags,
        environment={
            name: Variable(name, value, Origin("environment", name=name))
            for name, value in inputs.environment.items()
        },
        hardware=Hardware(**hardware),
        target_path=inputs.target,
        draft_path=inputs.draft,
    )


def recorded_engine(lock: Lock) -> EngineVersion:
    """Return the engine of a lock: the tree it was read from, where that is still there.

    Raises:
        UsageError: it is not known.
    """
    name, version = lock.report.engine.name, lock.report.engine.version
    tree = lock.source.path
    wanted = tree if tree is not None and Path(tree).is_dir() else version
    return identify_engine(f"{name}@{wanted}")


def _checkpoint(role: str, locked: LockedCheckpoint | None) -> Checkpoint | None:
    if locked is None:
        return None
    data = json.dumps(locked.config, ensure_ascii=False, indent=2).encode()
    name = f"{locked.path}/config.json"
    config = Document(name, data, json.loads(data))
    return Checkpoint(role, locked.path, None, config, tuple(locked.files))
