"""How an engine's server is started: the entry points of SGLang and vLLM, and what follows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_MODULES = {
    "sglang.launch_server": "sglang",
    "sglang.srt.entrypoints.http_server": "sglang",
    "sglang_router.launch_server": "sglang",
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
}
_DYNAMO = re.compile(r"dynamo\.(sglang|vllm)(\.\w+)*")
_COMMAND_LINES = {"sglang.cli.main": "sglang", "vllm.entrypoints.cli.main": "vllm"}
_PYTHON = re.compile(r"(python|pypy)[\d.]*(\.exe)?|uv")
_VALUE_OPTIONS = frozenset({"-X", "-W", "--check-hash-based-pycs"})
_SCRIPT = re.compile(r"(?:^|/)(sglang/launch_server|vllm/entrypoints/openai/api_server)\.py$")

# Flags that only one of the two engines has, for images whose name does not say which it is.
_SGLANG_FLAG = re.compile(
    r"--(model-path|speculative-(algo|draft|num|eagle|ngram|dflash|dspark)|mem-frac|context-length"
    r"|tp-size|tp$|dp-size|ep-size|chunked-prefill-size|cuda-graph|attention-backend$|nnodes"
    r"|mamba-|disable-radix)"
)
_VLLM_FLAG = re.compile(
    r"--(speculative[-_](config|model)|max[-_]model[-_]len|gpu[-_]memory[-_]util|max[-_]num[-_]"
    r"|hf[-_]overrides|enforce[-_]eager|compilation[-_]config|model$|num[-_]speculative)"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry point: the engine (if it says which), its name, and the arguments after it.

    `interpreter` is the program that runs it, as written.
    """

    engine: str | None
    name: str
    argv: tuple[str, ...]
    interpreter: str | None = None


def find_entry(words: Sequence[str]) -> Entry | None:
    """Return the entry point that these words begin with."""
    if not words:
        return None
    words = list(words)
    program = words[0].rsplit("/", 1)[-1].removesuffix(".exe")
    if program in ("sglang", "vllm") and words[1:2] == ["serve"]:
        return Entry(program, f"{program} serve", tuple(words[2:]), words[0])
    if program in ("sglang.launch_server", "launch_server"):
        return Entry("sglang", "sglang.launch_server", tuple(words[1:]), None)
    unknown = words[0].startswith("${")
    if not (_PYTHON.fullmatch(program) or unknown):
        return None
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        at += 2 if words[at] in _VALUE_OPTIONS else 1
    if words[at : at + 1] == ["-m"] and at + 1 < len(words):
        return find_module(words[at + 1 :], words[0])
    script = _SCRIPT.search(words[at]) if at < len(words) else None
    if script:
        return find_module([script.group(1).replace("/", "."), *words[at + 1 :]], words[0])
    return None


def find_module(words: Sequence[str], interpreter: str | None) -> Entry | None:
    """Return the entry point of `python -m` and these words."""
    module, rest = words[0], tuple(words[1:])
    if module in _MODULES:
        return Entry(_MODULES[module], module, rest, interpreter)
    if module in _COMMAND_LINES and rest[:1] == ("serve",):
        engine = _COMMAND_LINES[module]
        return Entry(engine, f"{engine} serve", rest[1:], interpreter)
    dynamo = _DYNAMO.fullmatch(module)
    return Entry(dynamo.group(1), module, rest, interpreter) if dynamo else None


def image_entry(image: str | None, words: Sequence[str]) -> Entry | None:
    """Return what an image's own entry point makes of the words given to it.

    The server images of vLLM start `vllm serve` (before 0.10 its API server) with them, those of
    other projects the same or the program alone, so that `serve` comes first.
    """
    if not words:
        return None
    engine = image_engine(image) or engine_of_flags(words)
    if words[0] == "serve":
        engine = engine or "vllm"
        return Entry(engine, f"image entrypoint {engine} + serve", tuple(words[1:]))
    if words[0].startswith("--") or (words[0].startswith("-") and engine):
        return Entry(engine, "image entrypoint", tuple(words)) if engine else None
    positional = image is not None and "vllm-openai" in image and len(words) > 1
    if positional and words[1].startswith("-") and "/" in words[0]:
        return Entry("vllm", "image entrypoint", tuple(words))
    return None


def image_engine(image: str | None) -> str | None:
    """Return the engine that an image's name names."""
    found = [engine for engine in ("sglang", "vllm") if image and engine in image.lower()]
    return found[0] if len(found) == 1 else None


def engine_of_flags(words: Sequence[str]) -> str | None:
    """Return the engine that has these flags, `None` if neither is likelier."""
    names = [word.partition("=")[0] for word in words]
    sglang = sum(bool(_SGLANG_FLAG.match(name)) for name in names)
    vllm = sum(bool(_VLLM_FLAG.match(name)) for name in names)
    return None if sglang == vllm else "sglang" if sglang > vllm else "vllm"


def image_tag(image: str | None) -> str | None:
    """Return the tag of an image name, `None` where it has none or is known by its digest."""
    if image is None:
        return None
    name = image.partition("@")[0].rsplit("/", 1)[-1]
    return name.partition(":")[2] or None
