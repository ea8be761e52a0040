"""The unified diff of planned fixes: exactly the bytes, as `patch -p0` takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import diff_bytes, unified_diff
from pathlib import Path

from specpreflight.fixes.plan import FilePlan

_NO_NEWLINE = b"\n\\ No newline at end of file\n"


def render_diff(plans: Iterable[FilePlan]) -> bytes:
    """Return what the plans change, for `patch -p0` in the current directory.

    An absolute path below it is made relative, since `patch` takes no absolute names; one that is
    elsewhere stays, for `patch -p1 -d /`.
    """
    here = Path.cwd()
    return b"".join(line for plan in plans for line in _diff_file(plan, here))


def _diff_file(plan: FilePlan, here: Path) -> Iterator[bytes]:
    name = _header_name(plan.document.name, here)
    before = plan.document.data.split(b"\n")
    after = plan.new_data.split(b"\n")
    lines = diff_bytes(unified_diff, _with_ends(before), _with_ends(after), name, name)
    for line in lines:
        yield line if line.endswith(b"\n") else line + _NO_NEWLINE


def _with_ends(lines: list[bytes]) -> list[bytes]:
    """Give every line its newline back; `bytes.splitlines` would split at a lone CR too."""
    *whole, last = lines
    return [line + b"\n" for line in whole] + ([last] if last else [])


def _header_name(name: str, here: Path) -> bytes:
    """Return a name for a header line: a tab ends one that has spaces, as git writes it."""
    if name.startswith("/") and Path(name).is_relative_to(here):
        name = str(Path(name).relative_to(here))
    encoded = name.encode("utf-8", "surrogateescape")
    return encoded + b"\t" if b" " in encoded else encoded
