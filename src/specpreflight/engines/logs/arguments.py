"""The line on which an engine prints its launch, read back.

SGLang prints `server_args=ServerArgs(model_path='…', …)` to 0.5.18 and a dictionary later
(`entrypoints/engine.py`), after its own adjustments; vLLM prints what differs from its defaults
(`non-default args: {…}`), and the resolved engine config (`LLM engine (v…) with config: …`).
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from typing import Any, Final

_ALIASES: Final = {
    "tp": "tp-size",
    "tensor-parallel-size": "tp-size",
    "model": "model-path",
    "speculative-draft-model": "speculative-draft-model-path",
}
_SECRET: Final = re.compile(r"(?:^|_)(?:api_keys?|hf_token|password|secret\w*|watermark_key\w*)$")
_NAMED: Final = re.compile(r"\s*(?:'(\w+)'\s*:|(\w+)=)\s*(.*)", re.S)
_TOKEN: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[()\[\]{},<>]""", re.S)
_CLOSING: Final = {")", "]", "}"}


def read_arguments(text: str) -> tuple[dict[str, Any], bool]:
    """Return the arguments in `text`, which begins with the opening bracket, and whether it closes.

    A value that is no Python literal (`<ModelDType.auto>`) stays text; secrets are replaced.
    """
    pieces, complete = _split(text)
    found: dict[str, Any] = {}
    for piece in pieces:
        if match := _NAMED.fullmatch(piece):
            name = match[1] or match[2]
            found[name] = "***" if _is_secret(name, match[3]) else _value(match[3])
    return found, complete


def read_command(command: str) -> dict[str, Any]:
    """Return the flags of a traced command, under the names that the arguments line has.

    The aliases are SGLang's and vLLM's own; a bare flag is `True`.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    found: dict[str, Any] = {}
    name = "model-path" if "serve" in words[:3] else ""
    for word in words[words.index("serve") + 1 :] if name else words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = _ALIASES.get(name, name).replace("-", "_")
            found[name] = _value(value) if equals else True
            name = "" if equals else name
        elif name and not word.startswith("-"):
            found[name.replace("-", "_")], name = _value(word), ""
    return found


def _is_secret(name: str, value: str) -> bool:
    return bool(_SECRET.search(name)) and value != "None"


def _value(text: str) -> Any:
    if text.startswith("SpeculativeConfig("):
        return read_arguments(text.removeprefix("SpeculativeConfig"))[0]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _split(text: str) -> tuple[list[str], bool]:
    pieces, depth, start = [], 1, 1
    for token, position in _tokens(text):
        if token in "([{":
            depth += 1
        elif token in _CLOSING:
            depth -= 1
            if depth == 0:
                pieces.append(text[start:position])
                return pieces, True
        elif token == "," and depth == 1:
            pieces.append(text[start:position])
            start = position + 1
    return pieces, False


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    for match in _TOKEN.finditer(text, 1):
        if len(match[0]) == 1:
            yield match[0], match.start()
