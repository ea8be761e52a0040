"""Which SGLang a user means: a release, an image tag, a checkout, what is installed.

Everything is mapped to a release whose behaviour is known, and `determined_by` says how; what
can't be mapped is refused with the nearest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from specpreflight.engines.sglang.installations import (
    find_installed,
    find_package,
    read_version,
)
from specpreflight.engines.sglang.knowledge import release, releases
from specpreflight.engines.sglang.release_order import VERSION, release_key
from specpreflight.errors import UsageError
from specpreflight.models.launch import EngineVersion

_MOVING = frozenset({"main", "master", "latest", "nightly", "dev", "head", "HEAD"})
_IMAGE = r"(?:[\w.-]+(?::\d+)?/)*[\w.-]+:([\w][\w.-]*)(?:@sha256:\w+)?"
#: NVIDIA's own images are tagged by year and month.
_MONTH = r"(2\d)\.(0\d|1[0-2])(?:-[\w.-]+)?"
_TAG = rf"v?({VERSION.pattern})(?:-[\w.-]+)?"
_DATED = r"(?:nightly|dev|main|latest)[\w.-]*?(20\d{2})-?([01]\d)-?([0-3]\d)(?!\d)[\w.-]*"
_COMMIT = r"(?=.*[a-f])(?=.*\d)[0-9a-f]{7,40}"


def identify(wanted: str | None) -> EngineVersion:
    """Return the release that `wanted` means.

    Args:
        wanted: `0.5.9`, `v0.5.10rc1`, `0.5.9+cu130`, `main`, an image or its tag
            (`lmsysorg/sglang:v0.5.9-cu129`), a folder that is or holds the package, `installed`,
            `installed:/opt/venv/bin/python`, or `None` for the newest known release.

    Raises:
        UsageError: nothing known is meant; the message names the nearest.
    """
    known = releases()
    if wanted is None:
        return _version(known[-1], "assumed: the newest known release")
    text = wanted.strip()
    if not text:
        raise UsageError("no SGLang version was given after `@`", hint="such as sglang@0.5.9")
    if text == "installed" or text.startswith("installed:"):
        return identify_installed(text.partition(":")[2] or None)
    image = re.fullmatch(_IMAGE, text) if ":" in text else None
    if image is not None:
        return _identify_tag(image[1], f"image tag {text}")
    if _is_path(text):
        return identify_path(Path(text))
    return _identify_tag(text, f"--engine sglang@{text}")


def identify_path(path: Path, determined_by: str | None = None) -> EngineVersion:
    """Return the version for a tree: its own facts are read, the nearest release fills gaps.

    Raises:
        UsageError: the folder neither is nor holds an SGLang package.
    """
    package = find_package(path)
    if package is None:
        raise UsageError(
            f"{path}: no SGLang found there",
            hint="give the folder of the package, site-packages, a checkout or an environment",
        )
    how = determined_by or f"the tree {path}"
    nearest, note = _nearest_to_tree(package)
    return EngineVersion("sglang", nearest, f"{how}, {note}", str(package))


def identify_installed(python: str | None = None) -> EngineVersion:
    """Return the version that an interpreter has installed, by looking at files.

    Args:
        python: the interpreter that the launch command names; by default the active environment's.

    Raises:
        UsageError: it has none.
    """
    package = find_installed(python)
    if package is None:
        where = python or "the active environment"
        raise UsageError(
            f"SGLang is not installed in {where}",
            hint=f"name a release, such as --engine sglang@{releases()[-1]}, or a folder",
        )
    return identify_path(package, f"installed at {package}")


def _identify_tag(text: str, how: str) -> EngineVersion:
    known = releases()
    if text in known:
        return _version(text, how)
    month, dated = re.fullmatch(_MONTH, text), re.fullmatch(_DATED, text)
    if month is not None:
        return _identify_day(f"20{month[1]}-{month[2]}-31", how)
    if dated is not None:
        return _identify_day(f"{dated[1]}-{dated[2]}-{dated[3]}", how)
    match = re.fullmatch(_TAG, text)
    if match is not None:
        return _identify_number(match[1], how)
    if text in _MOVING or text.split("-")[0] in _MOVING:
        return _version(known[-1], f"{how}: the newest known release stands for it")
    if re.fullmatch(_COMMIT, text):
        raise UsageError(
            f"commit {text} cannot be placed without its source",
            hint=f"give the checkout's folder, or the nearest release (newest known: {known[-1]})",
        )
    raise UsageError(f"`{text}` is no SGLang version", hint=_suggestion(text, known))


def _identify_day(day: str, how: str) -> EngineVersion:
    known = releases()
    older = [version for version in known if (release(version).date or "") <= day]
    nearest = older[-1] if older else known[0]
    return _version(nearest, f"{how}: the newest release until {day}")


def _identify_number(text: str, how: str) -> EngineVersion:
    known = releases()
    plain = text.partition("+")[0]
    if plain in known:
        return _version(plain, how)
    series = [version for version in known if version.startswith(f"{plain}.")]
    if series and plain.count(".") < 2:
        return _version(series[-1], f"{how}: the newest known {plain}")
    try:
        key = release_key(plain)
    except ValueError:  # a number of thousands of digits
        raise UsageError(f"`{plain}` is no SGLang version") from None
    if key < release_key(known[0]) and not _becomes(plain, known):
        raise UsageError(
            f"SGLang {plain} is older than every known release", hint=f"the nearest is {known[0]}"
        )
    final = _becomes(plain, known)
    if final is not None:
        return _version(final, f"{how}: {final} is what it became")
    older = [version for version in known if release_key(version) < key]
    if older[-1] == known[-1]:
        return _version(known[-1], f"{how}: newer than the newest known release")
    return _version(older[-1], f"{how}: not a known release, the nearest before it")


def _becomes(version: str, known: Sequence[str]) -> str | None:
    """Return the release that a candidate or a development version led to, if it is known."""
    match = VERSION.fullmatch(version)
    if match is None or match[2] not in ("rc", ".dev"):
        return None
    key = release_key(match[1])
    return next((final for final in known if release_key(final) == key), None)


def _nearest_to_tree(package: Path) -> tuple[str, str]:
    """Return the release nearest to a tree, and a note for the report."""
    known = releases()
    stated = read_version(package)
    if stated is None or not VERSION.fullmatch(stated) or release_key(stated)[0] == ():
        from specpreflight.engines.sglang.tree_release import nearest_release

        nearest = nearest_release(package)
        if nearest is not None:
            return nearest, f"which states no version; {nearest} is nearest by its options"
        note = f"which states no version; {known[-1]} stands for what it does not answer"
        return known[-1], note
    try:
        return _identify_number(stated, "").version, f"version {stated}"
    except UsageError:
        return known[0], f"version {stated}"


def _is_path(text: str) -> bool:
    is_folder = os.path.isdir(text)  # noqa: PTH112 (no name is too long for it)
    return text in (".", "..") or "/" in text or "\\" in text or is_folder


def _suggestion(text: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(text.lstrip("v"), known, n=1)
    return f"did you mean {near[0]}?" if near else f"known: {known[0]} to {known[-1]}, main, a path"


def _version(version: str, determined_by: str) -> EngineVersion:
    return EngineVersion("sglang", version, determined_by)
