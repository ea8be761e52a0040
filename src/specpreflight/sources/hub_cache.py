"""Find a repository's snapshot in the local Hub cache, without importing the Hub client.

The layout is huggingface_hub's public one (docs, "Understand caching"): `models--ORG--NAME/` with
`refs/REVISION` naming a commit and `snapshots/COMMIT/` holding links to blobs. The client itself
is imported only to download, since it costs several times a whole check.
"""

from __future__ import annotations

import os
from pathlib import Path

from specpreflight.errors import InputError


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
    commit = reference.read_text().strip() if reference.is_file() else revision
    snapshot = folder / "snapshots" / commit
    return snapshot if os.path.lexists(snapshot / "config.json") else None


def download_json(repository: str, revision: str) -> Path:
    """Download a repository's JSON files into the cache and return the snapshot folder.

    Raises:
        InputError: the Hub refused, or could not be reached.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        folder = snapshot_download(repository, revision=revision, allow_patterns=["*.json"])
    except (HfHubHTTPError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"{repository}: could not be downloaded: {reason}",
            hint="check the name, the network, and for a gated repository `hf auth login`",
        ) from error
    return Path(folder)
