"""What a directory without config.json holds instead."""

from __future__ import annotations

from pathlib import Path

from specpreflight.documents.read import WEIGHT_SUFFIXES, printable
from specpreflight.errors import InputError

#: Files that tell of a checkpoint that no engine starts from, and what to do about it.
_FOREIGN_CHECKPOINTS = (
    ("adapter_config.json", "holds a LoRA adapter, not a model", "merge it into its base model"),
    ("model_index.json", "holds a diffusion pipeline", "give one of its models' directories"),
    ("params.json", "holds a checkpoint in its vendor's own format", "convert it (config.json)"),
    ("snapshots", "is a repository's folder of the Hub cache", "give a folder below snapshots/"),
)


def missing_config(directory: Path, given: str) -> InputError:
    """Return the error for a directory without config.json, by what is there instead."""
    given = printable(given)
    try:
        names = {entry.name for entry in directory.iterdir()}
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return InputError(f"{given}: {reason}", hint="make the directory readable for this user")
    for name, problem, hint in _FOREIGN_CHECKPOINTS:
        if name in names:
            return InputError(f"{given}: has no config.json, it {problem}", hint=hint)
    nested = sorted(name for name in names if _exists(directory / name / "config.json"))
    if nested:
        return InputError(
            f"{given}: has no config.json",
            hint=f"there is one in {printable(given.rstrip('/') + '/' + nested[-1])}",
        )
    if not names:
        return InputError(f"{given}: is an empty directory", hint="check the mount or download")
    weights = any(name.endswith(WEIGHT_SUFFIXES) for name in names)
    problem = "has weights but no config.json" if weights else "has no config.json"
    return InputError(f"{given}: {problem}", hint="download the model's config.json into it")


def _exists(path: Path) -> bool:
    return path.is_symlink() or path.exists()
