"""The evaluator computes what Python would, and says unknown where it cannot know."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specpreflight.engines.source.evaluator import Evaluator
from specpreflight.engines.source.modules import Module, build_module, split_module
from specpreflight.engines.source.values import Opaque, Raised, deep_copy


class OneModule:
    """Sources that hold one module called `m`."""

    def __init__(self, text: str) -> None:
        text = textwrap.dedent(text)
        self._module = build_module("m", split_module(text), is_package=False)

    def module(self, name: str) -> Module | None:
        return self._module if name == "m" else None


def call(text: str, *args: Any, known: dict[str, Any] | None = None) -> Any:
    """Return what `f(*args)` gives in a module with this text."""
    evaluator = Evaluator(OneModule(text), known or {}, frozenset({"missing"}))
    return evaluator.call(evaluator.find("m.f"), list(args), {})


PROGRAMS = (
    "def f(a, b=2, *c, d=4, **e):\n    return (a, b, c, d, e)",
    "def f(a):\n    return [x * 2 for x in range(a) if x % 2]",
    "def f(a):\n    return {k: v for k, v in zip('abc', range(a))}",
    "def f(a):\n    total = 0\n    for x in range(a):\n        if x == 3: break\n"
    "        total += x\n    else:\n        total = -1\n    return total",
    "def f(a):\n    try:\n        return 1 // a\n    except ZeroDivisionError:\n"
    "        return 'zero'",
    "def f(a):\n    try:\n        return {}[a]\n    except (KeyError, IndexError) as e:\n"
    "        return 'caught'\n    finally:\n        pass",
    "def f(a):\n    def g(x):\n        return x + a\n    return g(1)",
    "def f(a):\n    return (lambda x: x - a)(10)",
    "def f(a):\n    x, y = [a, 2] if a else (1, 2)\n    return x, y",
    "def f(a):\n    if (n := a + 1) > 2:\n        return n\n    return 'small'",
    "def f(a):\n    d = {'x': 1, **{'y': a}}\n    d.setdefault('z', []).append(a)\n"
    "    d.pop('x')\n    return d",
    "def f(a):\n    return f'{a!r} {a:>3} {a}'",
    "def f(a):\n    return not a or (a and 'b') or a is None",
    "def f(a):\n    return 0 < a < 3, a in (1, 2), a not in [1]",
    "def f(a):\n    return 'abc'[a:], 'abc'[:a], -a, a ** 2, a / 2 if a else 0",
    "def f(a):\n    return any(x > a for x in [1, 2]), all(x > a for x in [1, 2])",
    "def f(a):\n    return [(x, y) for x in range(a) for y in range(x) if y != 1]",
    "def f(a):\n    return {x % 3 for x in range(a)}, sorted(range(a), key=lambda x: -x)",
    "def f(a):\n    return a in {1: 2}, a in {2, 3}, str(a) in '123', a in [None, 1.0, 'x', True]",
    "def f(a):\n    x = [a, None]\n    return a in x, a not in x, 5 in x, [a] in [x], 1 in x[:1]",
    "def f(a):\n    return a is None, a is not None, a == True, a != 'a', [a] == [1], a == 2.0",
    "def f(a):\n    return 1 < a <= 3 != 4, 0 < a < 2 < a, (a < 2) is True, -a <= +a",
    "def f(a):\n    try:\n        if a > 2: return 'body'\n        1 // a\n"
    "    except ZeroDivisionError:\n        return 'caught'\n    else:\n        return 'else'\n"
    "    finally:\n        if a == 4: return 'finally'",
    "def f(a):\n    for x in range(9):\n        try:\n            if x == a: continue\n"
    "            if x > a: break\n        finally:\n            last = x\n    return last",
    "def f(a):\n    seen = []\n    for x in range(a):\n        for y in range(a):\n"
    "            if y == 2: break\n            if x == y: continue\n"
    "            seen.append((x, y))\n"
    "        else:\n            seen.append(x)\n    return seen",
    "def f(a):\n    while a < 10:\n        a += 3\n        if a == 7: break\n"
    "        if a % 2: continue\n        a += 1\n    return a",
    "def f(a):\n    d = {1: [], 2: {}}\n    d[1] += [a]\n    d[2]['k'] = a\n    del d[2]['k']\n"
    "    d[a] = d.get(a, d.keys())\n    return len(d), list(d.items())[0]",
    "def f(a):\n    x = [3, 1]\n    x.extend(range(a))\n    x.sort()\n    y = x.copy()\n"
    "    get = {'k': a}.get\n    return x, y.pop(), get('k'), get('l', 'none')",
    "def f(a):\n    try:\n        return {}.pop(a)\n"
    "    except KeyError as e:\n        return str(e)",
    "def f(a):\n    try:\n        return [].clear(a)\n    except TypeError:\n        return 'bad'",
    "def f(a):\n    try:\n        return {}.nothing\n"
    "    except AttributeError:\n        return 'none'",
    "def f(a):\n    def g(*c, k=a, **e):\n        return c, k, e\n"
    "    return g(), g(1, *[2, a], k=0), g(**{'z': a})",
    "N = 1\nN = N + 1\ndef g(): return N\ndef f(a): return g() + a",
    "T = {}\nT['x'] = 1\nfor k in ('y', 'z'):\n    T[k] = 2\ndef f(a): return T, len(T) + a",
    "class A:\n    def __init__(self, *c, **e): self.c, self.e = c, e\n"
    "class B(A):\n    def __init__(self, *c, **e): super().__init__(*c, k=1, **e)\n"
    "def f(a):\n    b = B(a, z=a)\n    return b.c, b.e, hasattr(b, 'q'), getattr(b, 'q', a)",
    "class A:\n    n = 1\ndef f(a):\n    x = A.n, A().n\n    A.n = a\n"
    "    return A().n, getattr(A, 'n')",
    "import copy\ndef f(a):\n    x = [a]\n    y = copy.deepcopy({'p': x, 'q': x})\n"
    "    y['p'].append(1)\n    return x, y['q'], y['p'] is y['q']",
)


@pytest.mark.parametrize("program", PROGRAMS)
@given(argument=st.integers(min_value=0, max_value=6))
def test_agrees_with_python(program: str, argument: int) -> None:
    names: dict[str, Any] = {}
    exec(program, names)
    known = {"copy.deepcopy": deep_copy}
    assert call(program, argument, known=known) == names["f"](argument)


@pytest.mark.parametrize(
    ("program", "name", "message"),
    [
        ("def f(): return None['a']", "TypeError", "'NoneType' object is not subscriptable"),
        ("def f(): return [][0]", "IndexError", "list index out of range"),
        ("def f(): return {}['a']", "KeyError", "'a'"),
        ("def f(): return 'a' > 1", "TypeError", "'>' not supported between instances of"),
        ("def f(): raise ValueError(f'no {1 + 1}')", "ValueError", "no 2"),
        ("def f(): assert False, 'because'", "AssertionError", "because"),
        ("def f(): assert 1 == 2", "AssertionError", ""),
        ("def f(): f(1)", "TypeError", "f() takes 0 positional arguments but 1 were given"),
        ("def g(a): pass\ndef f(): g()", "TypeError", "g() missing 1 required positional"),
        ("def f(): import missing", "ModuleNotFoundError", "No module named 'missing'"),
    ],
)
def test_raises_as_python_does(program: str, name: str, message: str) -> None:
    with pytest.raises(Raised) as caught:
        call(program)
    assert caught.value.name == name
    assert message in caught.value.message


def test_names_the_functions_that_an_error_came_through() -> None:
    with pytest.raises(Raised) as caught:
        call("def f(): return g()\ndef g(): raise ValueError('x')")
    assert caught.value.frames == ["m:f", "m:g"]


CLASSES = """
    class Base:
        limit = 3
        attribute_map = {"width": "size"}

        def __init__(self, size=1, **kwargs):
            self.size = size
            for key, value in kwargs.items():
                setattr(self, key, value)

        @property
        def double(self):
            return self.size * 2

        @double.setter
        def double(self, value):
            self.size = value // 2

        @classmethod
        def make(cls, **kwargs):
            return cls(**kwargs)

    class Child(Base):
        def __init__(self, extra=None, **kwargs):
            super().__init__(**kwargs)
            self.extra = extra

    class Tens:
        def __init__(self, length):
            self.length = length

        def __len__(self):
            return self.length

        def __getitem__(self, at):
            return at * 10
"""


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("Child(size=4).double", 8),
        ("len(Tens(3))", 3),
        ("[item + 1 for item in Tens(3)]", [1, 11, 21]),
        ("Child(width=4).size", 4),
        ("Child(other=5).other", 5),
        ("Child.limit", 3),
        ("Child.make(extra=2).extra", 2),
        ("hasattr(Child(), 'nothing'), hasattr(Child(), 'double')", (False, True)),
        ("getattr(Child(), 'nothing', 7)", 7),
        ("isinstance(Child(), Base), issubclass(Child, Base)", (True, True)),
        ("sorted(vars(Child(size=2)))", ["extra", "size"]),
    ],
)
def test_classes(expression: str, value: Any) -> None:
    text = textwrap.dedent(CLASSES) + f"\ndef f():\n    return {expression}"
    assert call(text) == value


def test_properties_are_set_through_their_setter_and_the_map_is_followed() -> None:
    text = textwrap.dedent(CLASSES) + textwrap.dedent(
        """
        def f():
            child = Child()
            child.double = 10
            child.width = child.width + 1
            return child.size
        """
    )
    assert call(text) == 6


def test_a_class_may_read_and_set_its_attributes_in_another_object() -> None:
    text = """
        class Inner:
            def __init__(self):
                self.shared = 1

        class Outer:
            def __init__(self):
                self.shared = 2
                self.inner = Inner()
                self.own = 3

            def __setattr__(self, key, value):
                inner = super().__getattribute__("__dict__").get("inner")
                if inner is not None and key in inner.__dict__:
                    setattr(inner, key, value)
                else:
                    super().__setattr__(key, value)

            def __getattribute__(self, key):
                if "inner" in super().__getattribute__("__dict__"):
                    inner = super().__getattribute__("inner")
                    if key in inner.__dict__:
                        return getattr(inner, key)
                return super().__getattribute__(key)

        def f():
            outer = Outer()
            before = outer.shared, outer.own
            outer.shared = 4
            return before, outer.inner.shared, outer.shared, hasattr(outer, "nothing")
    """
    program = textwrap.dedent(text)
    names: dict[str, Any] = {}
    exec(program, names)
    assert call(program) == names["f"]() == ((1, 3), 4, 4, False)


def test_a_missing_attribute_names_the_class() -> None:
    with pytest.raises(Raised, match="'Child' object has no attribute 'nothing'"):
        call(textwrap.dedent(CLASSES) + "\ndef f(): return Child().nothing")


class TestUnknown:
    """What depends on something unknown is unknown, and takes no branch."""

    def test_an_unknown_name_makes_its_results_unknown(self) -> None:
        result = call("import torch\ndef f(): return torch.cuda.device_count() + 1")
        assert isinstance(result, Opaque)

    def test_a_branch_on_it_is_not_taken_and_its_names_are_unknown(self) -> None:
        text = """
            import torch
            def f():
                x = y = 1
                if torch.cuda.is_available():
                    x = 2
                return x, y
        """
        x, y = call(text)
        assert isinstance(x, Opaque)
        assert y == 1

    def test_a_branch_that_may_return_makes_the_result_unknown(self) -> None:
        text = """
            import torch
            def f():
                if torch.x:
                    return 1
                return 2
        """
        assert isinstance(call(text), Opaque)

    def test_what_is_decided_without_it_is_known(self) -> None:
        text = "import torch\ndef f(): return torch.x or True, torch.x and False, any([torch.x, 1])"
        assert call(text) == (True, False, True)

    def test_known_names_answer(self) -> None:
        known = {"torch.cuda.is_available": lambda: True}
        assert call("import torch\ndef f(): return torch.cuda.is_available()", known=known) is True


def test_a_name_that_several_statements_make_is_complete_when_it_is_read() -> None:
    text = """
        TABLE = {"a": 1}
        TABLE.update({"b": 2})
        TABLE["c"] = 3
        if True:
            TABLE["d"] = 4
        def f(): return TABLE
    """
    assert call(text) == {"a": 1, "b": 2, "c": 3, "d": 4}


def test_a_cached_function_gives_the_same_object() -> None:
    text = """
        from functools import lru_cache
        @lru_cache(maxsize=4)
        def make(x): return [x]
        def f():
            make(1).append(2)
            return make(1)
    """
    assert call(text) == [1, 2]


def test_suppressed_errors_end_the_block() -> None:
    text = """
        import contextlib
        def f():
            with contextlib.suppress(KeyError):
                {}["a"]
                return "not reached"
            return "after"
    """
    assert call(text) == "after"


@pytest.mark.parametrize("many", [99_999, 100_000, 100_001, 10**9, 10**30])
def test_a_loop_that_would_take_seconds_is_unknown(many: int) -> None:
    text = "def f(n):\n    found = 0\n    for x in range(n):\n        found = x\n    return found"
    known = many <= 100_000
    assert call(text, many) == many - 1 if known else isinstance(call(text, many), Opaque)


@pytest.mark.parametrize(
    "made", ["[x for x in range(n)]", "{x for x in range(n)}", "{x: 1 for x in range(n)}",
             "[y for x in range(2) for y in range(n)]", "list(range(n))", "len(range(n))"]
)  # fmt: skip
def test_what_is_made_of_too_many_numbers_is_unknown(made: str) -> None:
    assert isinstance(call(f"def f(n):\n    return {made}", 10**9), Opaque)
    assert not isinstance(call(f"def f(n):\n    return {made}", 3), Opaque)


@pytest.mark.parametrize("depth", [59, 60, 61, 1000])
def test_what_nests_too_deep_is_unknown(depth: int) -> None:
    text = "def f(n):\n    if n:\n        return f(n - 1)\n    return 'end'"
    assert call(text, depth) == ("end" if depth <= 60 else Opaque("f() nested too deep"))


def test_blocks_that_nest_deep_in_each_call_are_unknown_too() -> None:
    body = "return [x for x in [f(n - 1)]]"
    for block in ("if True:", "for x in [1]:", "with open(n):", "if n:", "while True:"):
        body = f"{block}\n{textwrap.indent(body, '    ')}"
    found = call(f"def f(n):\n{textwrap.indent(body, '    ')}\n    return 'end'", 1000)
    while isinstance(found, list):
        found = found[0]
    assert found == Opaque("f() nested too deep")


@pytest.mark.parametrize("made", ["[x for x in u]", "{x for x in u}", "{x: 1 for x in u}",
                                  "any(x for x in u)", "[y for x in [1] for y in u]"])  # fmt: skip
def test_what_is_made_of_unknown_items_is_unknown(made: str) -> None:
    assert isinstance(call(f"def f(u): return {made}", Opaque("u")), Opaque)
