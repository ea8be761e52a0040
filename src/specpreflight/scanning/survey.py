"""The first pass over a tree: what is there, before anything is paired or checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from specpreflight.errors import InputError
from specpreflight.models.pairing import Profile, Targets, describe, is_model_config, stated_in_card
from specpreflight.sources.checkpoint import read_checkpoint
from specpreflight.sources.checkpoint_tree import FoundCheckpoint, FoundLaunchFile, Unreadable
from specpreflight.sources.text_file import read_text_file

#: Names beside a config.json that make it a model's even where it can't be read.
_MODEL_FILES = (".safetensors", ".bin", ".gguf", ".index.json", "generation_config.json")


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A checkpoint that was found, and what pairing asks of it."""

    path: str
    profile: Profile


@dataclass
class Survey:
    """What a tree holds."""

    checkpoints: list[Surveyed] = field(default_factory=list)
    targets: Targets = field(default_factory=Targets)
    launch_files: list[str] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)


def survey(found: Iterable[FoundCheckpoint | FoundLaunchFile | Unreadable]) -> Survey:
    """Look at everything that was found, once."""
    result = Survey()
    for each in found:
        if isinstance(each, Unreadable):
            result.unreadable.append(each)
        elif isinstance(each, FoundLaunchFile):
            result.launch_files.append(each.path)
        else:
            _add(result, each)
    return result


def _add(result: Survey, found: FoundCheckpoint) -> None:
    checkpoint = read_checkpoint("draft", found.path)
    if checkpoint.problem is not None:
        if not any(name.endswith(_MODEL_FILES) for name in found.names):
            data = Path(found.path, "config.json")
            if not _may_be_model(data):
                return
    elif not is_model_config(checkpoint.config.root):
        return
    profile = describe(checkpoint)
    result.checkpoints.append(Surveyed(found.path, profile))
    if profile.kind == "target":
        result.targets.add(found.path, profile)


def _may_be_model(config: Path) -> bool:
    """Return whether an unreadable config.json could be a model's."""
    try:
        data = config.read_bytes()[:100_000]
    except OSError:
        return True
    return b"model_type" in data or b"architectures" in data or len(data) < 200


def card_statements(path: str) -> list[tuple[str, str]]:
    """Return what a checkpoint's model card says of its target."""
    try:
        text = read_text_file(Path(path, "README.md"))
    except InputError:
        return []
    return [*stated_in_card(text)]
