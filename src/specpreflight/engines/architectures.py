"""Which releases of each engine have a model class, and what else a draft's class is called.

vLLM puts `Eagle3` before a model's name, SGLang behind it: `Eagle3LlamaForCausalLM` and
`LlamaForCausalLMEagle3` are the same draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from specpreflight.models.pair_fate import Span

#: What the engines put before or behind the name of the model that a draft is like.
_MARKS = ("Eagle3", "Eagle")


def spans_of(engine: str, architecture: str) -> tuple[Span, ...] | None:
    """Return the releases that register a class, `None` for an engine without such a table."""
    read = _READERS.get(engine)
    return None if read is None else tuple(read(architecture))


def other_names(architecture: str) -> tuple[str, ...]:
    """Return the name itself and the other engine's way of writing it."""
    names = [architecture]
    for mark in _MARKS:
        if architecture.startswith(mark):
            names.append(architecture.removeprefix(mark) + mark)
            break
        if architecture.endswith(mark):
            names.append(mark + architecture.removesuffix(mark))
            break
    return tuple(names)


def _of_sglang(architecture: str) -> Iterator[Span]:
    from specpreflight.engines.sglang.knowledge import releases
    from specpreflight.engines.sglang.tables import Table

    for entry, key, (since, before, _) in Table("classes", releases()).runs():
        if entry == architecture and key == "kind":
            yield Span(since, before)


def _of_vllm(architecture: str) -> Iterator[Span]:
    from specpreflight.engines.vllm.data_files import read_data

    since: str | None = None
    for release, facts in read_data("architectures").get(architecture, ()):
        if facts is not None and since is None:
            since = release
        elif facts is None and since is not None:
            yield Span(since, release)
            since = None
    if since is not None:
        yield Span(since, None)


_READERS: dict[str, Callable[[str], Iterator[Span]]] = {"sglang": _of_sglang, "vllm": _of_vllm}
