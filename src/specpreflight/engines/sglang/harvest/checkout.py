"""A user's own tree: where its package stands, and its facts from the cache or freshly read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from specpreflight.engines.sglang.harvest.cache import find_facts, keep_facts

if TYPE_CHECKING:
    from specpreflight.engines.sglang.harvest.engine import Facts


def read_checkout(root: Path) -> Facts:
    """Return the facts of the package folder `root` (`…/sglang`)."""
    return find_facts(root) or _read(root)


def _read(root: Path) -> Facts:
    from specpreflight.engines.sglang.harvest.engine import LAUNCH_FILES, read_engine
    from specpreflight.engines.sglang.harvest.source_tree import SourceTree

    tree = SourceTree(root)
    facts = read_engine(tree, environment_files=LAUNCH_FILES)
    keep_facts(root, tree.seen, facts)
    return facts
