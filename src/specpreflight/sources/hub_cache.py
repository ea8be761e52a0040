"""Find a repository's snapshot in the local Hub cache, without importing the Hub client.

The layout is huggingface_hub's public one (docs, "Understand caching"): `models--ORG--NAME/` with
`refs/REVISION` naming a commit and `snapshots/COMMIT/` holding links to blobs. The client itself
is imported only to download, since it costs several times a whole check.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Return the Hub cache folder, by the client's own variables and defaults."""
    explicit = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if explicit:
        return Path(explicit).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", os.path.join(cache, "huggingface"))  # noqa: PTH118
    return Path(home).expanduser() / "hub"


def find_snapshot(repository: str, revision: str) -> Path | None:
    """Return the snapshot folder of a cached revision that has a config.json, else `None`."""
    folder = cache_directory() / ("models--" + repository.replace("/", "--"))
    reference = folder / "refs" / revision
    is_named = os.path.isfile(reference)  # noqa: PTH113 (no name is too long for it)
    commit = reference.read_text().strip() if is_named else revision
    snapshot = folder / "snapshots" / commit
    return snapshot if os.path.lexists(snapshot / "config.json") else None


def find_or_download(repository: str, revision: str) -> Path:
    """Return the snapshot folder of a cached revision, or download its JSON files (`--online`).

    Raises:
        InputError: the Hub does not have it, refuses, or cannot be reached.
    """
    from specpreflight.storage.hub import download_json

    return find_snapshot(repository, revision) or download_json(repository, revision)


def cached_snapshots() -> list[Path]:
    """Return the snapshot folder of every revision that the local cache knows by a name.

    Of a repository without named revisions, all snapshots.
    """
    found: dict[Path, None] = {}
    for folder in sorted(cache_directory().glob("models--*")):
        named = [path for path in sorted((folder / "refs").rglob("*")) if path.is_file()]
        snapshots = [folder / "snapshots" / path.read_text().strip() for path in named]
        for snapshot in snapshots or sorted((folder / "snapshots").glob("*")):
            if os.path.lexists(snapshot / "config.json"):
                found[snapshot] = None
    return list(found)
