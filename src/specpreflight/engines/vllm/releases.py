"""Which releases of vLLM are known, and which one a user means."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from specpreflight.engines.vllm.data_files import read_data
from specpreflight.errors import UsageError
from specpreflight.models.launch import EngineVersion

#: `0.33.0`, `v0.33.0`, `0.11.0rc1`, `0.33.1.dev12+g1234567.cu129`, `v0.24.0-cu129`.
_VERSION = re.compile(r"v?(\d+\.\d+(?:\.\d+)*(?:\.post\d+|rc\d+)?)(?:[-+.].*)?$")


def releases() -> tuple[str, ...]:
    """Return the known releases, oldest first."""
    return tuple(read_data("releases"))


def identify(wanted: str | None) -> EngineVersion:
    """Return the release that a version, image tag, path or `None` means.

    Raises:
        UsageError: not a version, or one that is older than every known release.
    """
    known = releases()
    if wanted is None:
        return EngineVersion("vllm", known[-1], "assumed: the newest known release")
    if wanted in ("main", "latest", "nightly"):
        determined = f"`{wanted}`, predicted as the newest known release"
        return EngineVersion("vllm", known[-1], determined)
    if wanted and os.path.isdir(wanted):  # noqa: PTH112 (no name is too long for it)
        return _at_path(Path(wanted), known)
    match = _VERSION.fullmatch(wanted)
    if match is None:
        from difflib import get_close_matches

        near = get_close_matches(wanted, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {known[0]} to {known[-1]}"
        raise UsageError(f"`{wanted}` is no vLLM version", hint=hint)
    return _nearest(match[1], known)


def _nearest(version: str, known: Sequence[str]) -> EngineVersion:
    """Return the newest known release that is not newer than `version`."""
    if version in known:
        return EngineVersion("vllm", version, "--engine")
    below = [release for release in known if sort_key(release) <= sort_key(version)]
    if not below:
        raise UsageError(
            f"vLLM {version} is older than every known release; it drafts with another engine",
            hint=f"the nearest is --engine vllm@{known[0]}; known are {known[0]} to {known[-1]}",
        )
    return EngineVersion("vllm", below[-1], f"nearest known release below {version}")


def _at_path(path: Path, known: Sequence[str]) -> EngineVersion:
    """Return the release of a site-packages folder or a checkout, by its metadata alone."""
    named = sorted(path.glob("vllm-*.dist-info"))
    if not named:
        return EngineVersion(
            "vllm", known[-1], f"{path} does not say its version: the newest known", str(path)
        )
    version = named[-1].name.removesuffix(".dist-info").partition("-")[2]
    found = _nearest(version.partition("+")[0], known)
    return EngineVersion("vllm", found.version, f"metadata in {path}", str(path))


@lru_cache(maxsize=256)
def sort_key(version: str) -> tuple[tuple[int, ...], int]:
    """Return what orders versions as packaging does, for the forms that vLLM publishes."""
    text, _, candidate = version.partition("rc")
    numbers, _, post = text.partition(".post")
    parts = [int(part) for part in numbers.split(".")]
    while len(parts) < 3:
        parts.append(0)
    return (*parts, int(post or 0)), int(candidate) if candidate else 1_000_000
