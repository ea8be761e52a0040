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
    """Return the evaluator of this launch's release.

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
    variables = {
        name: known.value for name, known in launch.environment.items() if known.value is not None
    }
    return EngineSource(
        sources,
        transformers,
        variables,
        checkpoints,
        _side_files(checkpoints),
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
