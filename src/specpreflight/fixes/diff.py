"""The unified diff of planned fixes: exactly the bytes, as `patch -p0` takes them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import diff_bytes, unified_diff
from pathlib import Path

from specpreflight.fixes.plan import FilePlan

_NO_NEWLINE = b"\n\\ No newline at end of file\n"


def render_diff(plans: Iterable[FilePlan]) -> bytes:
    """Return what the plans change, for `patch -p0` in the current directory.

    An absolute path below it is made relative, since `patch` takes no absolute names; one that is
    elsewhere stays, for `patch -p1 -d /`.
    """
    return b"".join(
        diff_file(plan.document.name, plan.document.data, plan.new_data) for plan in plans
    )


def diff_file(name: str, before: bytes, after: bytes) -> bytes:
    """Return the unified diff of one file; nothing where both are the same."""
    header = _header_name(name, Path.cwd())
    lines = diff_bytes(unified_diff, _lines(before), _lines(after), header, header)
    return b"".join(line if line.endswith(b"\n") else line + _NO_NEWLINE for line in lines)


def _lines(data: bytes) -> list[bytes]:
    """Split after every newline; `bytes.splitlines` would split at a lone CR too."""
    *whole, last = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def _header_name(name: str, here: Path) -> bytes:
    """Return a name for a header line: a tab ends one that has spaces, as git writes it."""
    if name.startswith("/") and Path(name).is_relative_to(here):
        name = str(Path(name).relative_to(here))
    encoded = name.encode("utf-8", "surrogateescape")
    return encoded + b"\t" if b" " in encoded else encoded
