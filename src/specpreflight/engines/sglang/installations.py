"""Finds an SGLang package on this machine by looking at files; nothing is imported or run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

#: Below a given folder: the package itself, its parent, a checkout, an environment, a container.
PLACES = (
    "",
    "sglang",
    "python/sglang",
    "sglang/python/sglang",
    "lib/python3*/site-packages/sglang",
    "lib64/python3*/site-packages/sglang",
    "local/lib/python3*/dist-packages/sglang",
    "usr/local/lib/python3*/dist-packages/sglang",
    "usr/local/lib/python3*/site-packages/sglang",
    "usr/lib/python3/dist-packages/sglang",
    "sgl-workspace/sglang/python/sglang",
    "opt/*/lib/python3*/site-packages/sglang",
)
_VERSION = r"""(?m)^__version__\s*=\s*(?:version\s*=\s*)?["']([^"']+)["']"""
_PIN = r"\b(torch|transformers|sgl-kernel|sglang-kernel)\s*==\s*([\w.+!]+)"


def find_package(folder: Path) -> Path | None:
    """Return the `sglang` package folder that `folder` is or holds, `None` if there is none.

    Understood are the package itself, site-packages, a git checkout, a virtual environment and
    the extracted root of a container; an editable installation is followed to its source.
    """
    for pattern in PLACES:
        candidates = sorted(folder.glob(pattern)) if pattern else [folder]
        for candidate in candidates:
            if is_package(candidate):
                return candidate
    for site in (folder, *sorted(folder.glob("lib/python3*/site-packages"))):
        for source in _editable_sources(site):
            if is_package(source):
                return source
    return None


def is_package(folder: Path) -> bool:
    """Say whether `folder` is SGLang's package: it has the server's arguments."""
    return folder.joinpath("srt", "server_args.py").is_file()


def find_installed(python: str | None = None) -> Path | None:
    """Return the package that an interpreter would import, `None` if it finds none.

    Args:
        python: the interpreter of a launch command (`/opt/venv/bin/python`); by default the
            active virtual environment, then the `python3` of `PATH`.
    """
    for prefix in _prefixes(python):
        found = find_package(prefix)
        if found is not None:
            return found
    return None


def read_version(root: Path) -> str | None:
    """Return the version of the package folder `root`, `None` where none is written.

    `_version.py` and `version.py` are tried, then the metadata beside it. A checkout that was
    never built says nothing.
    """
    for name in ("_version.py", "version.py"):
        path = root / name
        if path.is_file():
            found = re.search(_VERSION, path.read_text("utf-8", "replace"))
            if found:
                return found[1]
    return installed_version(root.parent, root.name)


def installed_version(site: Path, project: str) -> str | None:
    """Return the version of a project by the name of its metadata folder in site-packages."""
    for folder in sorted(site.glob(f"{project}-*.dist-info")):
        return folder.name.removesuffix(".dist-info").partition("-")[2]
    return None


def read_pins(root: Path) -> dict[str, str]:
    """Return the exact versions of `torch`, `transformers` and `kernel` that a tree requires.

    Read from the metadata beside an installed package, else from the `pyproject.toml` of a
    checkout.
    """
    for text in _requirements(root):
        found: dict[str, str] = {}
        for name, version in re.findall(_PIN, text):
            found.setdefault("kernel" if name.endswith("kernel") else name, version)
        if found:
            return found
    return {}


def _requirements(root: Path) -> Iterator[str]:
    for folder in sorted(root.parent.glob(f"{root.name}-*.dist-info")):
        metadata = folder / "METADATA"
        if metadata.is_file():
            lines = metadata.read_text("utf-8", "replace").splitlines()
            yield "\n".join(line for line in lines if line.startswith("Requires-Dist:"))
    for folder in (root.parent, root.parent.parent):
        project = folder / "pyproject.toml"
        if project.is_file():
            yield project.read_text("utf-8", "replace")


def _prefixes(python: str | None) -> Iterator[Path]:
    if python is not None:
        yield Path(python).absolute().parent.parent
        return
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if active:
        yield Path(active)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder and Path(folder, "python3").exists():
            yield Path(folder).absolute().parent
            return


def _editable_sources(site: Path) -> Iterator[Path]:
    """Yield where editable installations of SGLang say that their source stands."""
    for record in sorted(site.glob("sglang-*.dist-info/direct_url.json")):
        try:
            url = urlparse(json.loads(record.read_bytes())["url"])
        except (ValueError, KeyError, TypeError):
            continue
        if url.scheme == "file":
            yield Path(unquote(url.path), "sglang")
            yield Path(unquote(url.path), "python", "sglang")
    for record in sorted(site.glob("*sglang*.pth")):
        for line in record.read_text("utf-8", "replace").splitlines():
            if line and not line.startswith(("import ", "import\t", "#")):
                yield Path(site, line.strip(), "sglang")
