"""Which version a tree is, and the libraries it pins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_VERSION = re.compile(r"""^__version__\s*=\s*(?:version\s*=\s*)?["']([^"']+)["']""", re.MULTILINE)
_PIN = re.compile(r"""["']?\b(torch|transformers|sgl-kernel|sglang-kernel)\s*==\s*([\w.+!]+)""")


def read_version(root: Path) -> str | None:
    """Return the version of the package folder `root` (`…/sglang`), `None` where none is written.

    `_version.py` and `version.py` are tried, then the folder of the installed metadata beside it.
    A checkout that was never built says nothing.
    """
    for name in ("_version.py", "version.py"):
        path = root / name
        if path.is_file():
            found = _VERSION.search(path.read_text("utf-8", "replace"))
            if found:
                return found[1]
    for folder in sorted(root.parent.glob(f"{root.name}-*.dist-info")):
        return folder.name.removesuffix(".dist-info").partition("-")[2]
    return None


def read_pins(root: Path) -> Mapping[str, str]:
    """Return the exact versions of torch, transformers and the kernels that the tree requires.

    Read from the metadata beside an installed package, else from `pyproject.toml` above a
    checkout's.
    """
    for text in _requirements(root):
        found: dict[str, str] = {}
        for name, version in _PIN.findall(text):
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
