"""Opens the source that a launch's release is evaluated from: the bundle, or a user's tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specpreflight.engines.sglang.engine_source import EngineSource
from specpreflight.engines.sglang.knowledge import Knowledge
from specpreflight.engines.sglang.server_args.machine import Machine
from specpreflight.engines.sglang.transformers_names import Registrations
from specpreflight.engines.source.bundle import BundledSources, JoinedSources, nearest_release
from specpreflight.engines.source.modules import Sources, TreeSources
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import Launch

BUNDLE = Path(__file__).with_name("data") / "source"

#: Files beside config.json that the engine looks into while it reads a config.
SIDE_FILES = ("hf_quant_config.json",)


def open_source(
    launch: Launch, knowledge: Knowledge, machine: Machine, checkpoints: Mapping[str, Checkpoint]
) -> EngineSource:
    """Return the evaluator of this launch's release, ready for its checkpoints.

    Where many launches are resolved in a row (`keep_sources`), one that an earlier launch has left
    is taken again.
    """
    variables = {
        name: known.value for name, known in launch.environment.items() if known.value is not None
    }
    key = repr((launch.engine, machine.is_rocm, machine.platform, machine.capability, variables))
    source = None if _kept is None else _kept.get(key)
    if source is None:
        source = _open(launch, knowledge, machine, variables)
    source.begin(checkpoints, _side_files(checkpoints))
    if _kept is not None:
        _kept.pop(key, None)
        if not source.altered:
            _kept[key] = source
            while len(_kept) > _KEPT_AT_MOST:
                del _kept[next(iter(_kept))]
    return source


def keep_sources() -> None:
    """Keep sources from now on; what one launch gave must be read before the next is resolved."""
    global _kept
    if _kept is None:
        _kept = {}


#: By what a source is made from; `None` where none is kept. A launch takes a source a machine.
_kept: dict[str, EngineSource] | None = None
_KEPT_AT_MOST = 8


def _open(
    launch: Launch, knowledge: Knowledge, machine: Machine, variables: Mapping[str, str]
) -> EngineSource:
    """Return a new evaluator of this launch's release.

    For a tree (`--engine PATH`) SGLang's modules come from the tree, and transformers' from beside
    it where it is installed there.
    """
    transformers = nearest_release(BUNDLE, "transformers", knowledge.transformers)
    bundle = BundledSources(BUNDLE, {"sglang": knowledge.nearest, "transformers": transformers})
    sources: Sources = bundle
    registrations: Registrations | None = Registrations(
        knowledge.config_classes.registry,
        knowledge.config_classes.registered,
        knowledge.config_classes.model_types,
        lambda: bundle.names("sglang.srt.configs"),
    )
    if launch.engine.path is not None:
        registrations = None
        root = Path(launch.engine.path).parent
        beside = (root / "transformers" / "__init__.py").is_file()
        sources = JoinedSources(
            sglang=TreeSources(sglang=root),
            transformers=TreeSources(transformers=root) if beside else bundle,
        )
    return EngineSource(
        sources,
        transformers,
        variables,
        knowledge.classes.keys(),
        bundle.model_classes,
        settings=knowledge.environment,
        registrations=registrations,
        platform="hip" if machine.is_rocm else machine.platform,
        capability=machine.capability,
    )


def _side_files(checkpoints: Mapping[str, Checkpoint]) -> dict[str, Any]:
    return {
        f"{path.rstrip('/')}/{name}": content
        for path, checkpoint in checkpoints.items()
        for name, content in checkpoint.facts.get("documents", {}).items()
        if name in SIDE_FILES
    }
