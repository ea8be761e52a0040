"""The VLLM_* variables that each release's code contains, from `data/variables.json`."""

from __future__ import annotations

from specpreflight.engines.vllm.data_files import read_data
from specpreflight.engines.vllm.releases import sort_key


def known_variables(release: str | None) -> frozenset[str]:
    """Return the names that stand anywhere in a release's Python files, or in any release's."""
    if release is None:
        return frozenset(read_data("variables"))
    wanted = sort_key(release)
    return frozenset(
        name
        for name, spans in read_data("variables").items()
        if any(
            sort_key(since) <= wanted and (until is None or wanted < sort_key(until))
            for since, until in spans
        )
    )
