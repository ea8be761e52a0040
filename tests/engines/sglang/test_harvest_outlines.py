"""Leaving out what does not matter of a model's file, without changing what is read of it."""

from __future__ import annotations

import ast
from textwrap import dedent

from engine_trees import write_tree

from specpreflight.engines.sglang.harvest.model_classes import read_model_classes
from specpreflight.engines.sglang.harvest.outlines import without_bodies

_FILE = dedent('''
    class A(Base):
        """A text
    that is dedented."""

        x = 1

        def __init__(self, config):
            self.lm_head = config

        @property
        def short(self): return 1

        def long(
            self,
            ids: list[int] = (1, 2),
        ) -> int:
            # a comment
            if ids:

                return 2
            return 3

        async def waits(self):
            await f()

        def load_weights(self, weights):
            self.other = 1

        y = 2

    def free():
        return 1

    EntryClass = [A]
    ''').encode()


def test_bodies_go_and_lines_stay():
    short = without_bodies(_FILE)
    assert short.count(b"\n") == _FILE.count(b"\n")
    kept = ast.unparse(ast.parse(short))
    assert "self.lm_head = config" in kept
    for gone in ("return 2", "return 3", "await", "self.other"):
        assert gone not in kept
    for name in ("short", "long", "waits", "load_weights", "free", "y = 2", "EntryClass"):
        assert name in kept
    assert "return 1" in kept


def test_loading_is_kept_where_it_sets_the_token_map():
    text = _FILE.replace(b"self.other", b"self.hot_token_id")
    assert b"self.hot_token_id = 1" in without_bodies(text)


def test_a_file_that_cannot_be_shortened_is_read_whole(tmp_path):
    text = '''
class A:
    def f(self):
        text = """
no indent
  a little
"""
        return text

    def get_embed_and_head(self): ...

    def __init__(self):
        self.lm_head = 1

EntryClass = A
'''
    tree = write_tree(tmp_path, {"srt/models/a.py": text})
    assert read_model_classes(tree)["A"].offers == {"get_embed_and_head"}
    assert tree.root / "srt/models/a.py" in tree.seen
