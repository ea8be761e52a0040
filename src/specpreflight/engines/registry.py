"""The engines by name; only the one that is asked for is imported."""

from __future__ import annotations

from importlib import import_module

from specpreflight.engines.base import Engine
from specpreflight.errors import UsageError

_MODULES = {"sglang": "specpreflight.engines.sglang", "vllm": "specpreflight.engines.vllm"}

#: Engines that people ask for and that nothing is known of yet.
_NOT_YET = frozenset({"llamacpp", "llama.cpp", "tensorrt-llm", "trtllm", "tokenspeed"})


def engine_names() -> tuple[str, ...]:
    """Return the names that `--engine` takes."""
    return tuple(_MODULES)


def find_engine(name: str) -> Engine:
    """Return the engine called `name`.

    Raises:
        UsageError: no such engine, or one that is not known yet.
    """
    if name in _MODULES:
        engine: Engine = import_module(_MODULES[name]).ENGINE
        return engine
    known = ", ".join(_MODULES)
    if name in _NOT_YET:
        raise UsageError(f"engine `{name}` is not known yet", hint=f"known engines: {known}")
    raise UsageError(f"unknown engine `{name}`", hint=f"known engines: {known}")


def expect_many(name: str) -> None:
    """Say that many launches of an engine follow, each of which is done with before the next.

    What does not depend on a launch is kept between them, where the engine has such things.
    """
    if name == "sglang":
        from specpreflight.engines.sglang.launch_source import keep_sources

        keep_sources()
