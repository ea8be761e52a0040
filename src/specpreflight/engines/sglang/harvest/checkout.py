"""A user's own tree: where its package stands, and its facts from the cache or freshly read."""

from __future__ import annotations

from pathlib import Path

from specpreflight.engines.sglang.harvest.cache import find_facts, keep_facts
from specpreflight.engines.sglang.harvest.engine import LAUNCH_FILES, Facts, read_engine
from specpreflight.engines.sglang.harvest.source_tree import SourceTree


def read_checkout(root: Path) -> Facts:
    """Return the facts of the package folder `root` (`…/sglang`)."""
    facts = find_facts(root)
    if facts is None:
        tree = SourceTree(root)
        facts = read_engine(tree, environment_files=LAUNCH_FILES)
        keep_facts(root, tree.seen, facts)
    return facts
