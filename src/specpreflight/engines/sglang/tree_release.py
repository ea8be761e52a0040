"""Which release a tree is nearest to that does not say: by the options of its server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specpreflight.engines.sglang.release_facts import ReleasedFacts, releases


def nearest_release(package: Path) -> str | None:
    """Return the release whose options differ least from those of a tree, the newest of several.

    A git checkout that was never built states no version. Options are added and changed in nearly
    every release, so that they date a tree; `None` where not even half of them are a release's.
    """
    from specpreflight.engines.sglang.harvest.checkout import read_checkout

    own = _options(read_checkout(package).get("flags", {}))
    known = {
        release: _options(ReleasedFacts(release).table("flags")) for release in reversed(releases())
    }
    nearest = min(known, key=lambda release: len(own ^ known[release]))
    return nearest if len(own & known[nearest]) * 2 > len(known[nearest]) else None


def _options(table: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """Return each option with all that is known of it, but its place among the others."""
    return frozenset(
        json.dumps([name, {key: about[key] for key in sorted(about) if key != "after"}])
        for name, about in table.items()
    )
