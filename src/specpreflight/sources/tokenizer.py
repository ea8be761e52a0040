"""Read a tokenizer's vocabulary from its JSON files; a sentencepiece model is only measured.

Of a `tokenizer.json` only the vocabulary and the added tokens are decoded: the merges beside them
are most of the file, and ten times as much in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from specpreflight.models.tokenizer import Tokenizer

#: Bytes; the largest public tokenizer.json (Gemma 3, 262,144 tokens) has 33 MB.
SIZE_LIMIT: Final = 128_000_000
#: Where the two parts begin. Inside a JSON string the quotes would be escaped, and a token called
#: `vocab` is followed by a number.
_VOCABULARY: Final = re.compile(r'"vocab"\s*:\s*(?=[{\[])')
_ADDED_TOKENS: Final = re.compile(r'"added_tokens"\s*:\s*(?=\[)')
_ROLES: Final = ("bos_token", "eos_token", "pad_token", "unk_token")


def read_tokenizer(directory: Path) -> Tokenizer:
    """Return the tokenizer of a checkpoint; what can't be seen is its `unseen`."""
    config, _ = _read(directory / "tokenizer_config.json", json.loads)
    special = _special(config)
    for name, decode in (("tokenizer.json", _fast_tokens), ("vocab.json", _plain_tokens)):
        path = directory / name
        if not path.is_file():
            continue
        tokens, problem = _read(path, decode)
        if problem is None and not tokens:
            problem = f"`{name}` holds no vocabulary"
        if problem is not None:
            return Tokenizer(name, special=special, unseen=problem)
        return Tokenizer(name, {**tokens, **_added(config)}, special)
    model = directory / "tokenizer.model"
    if model.is_file():
        why = "`tokenizer.model` is a sentencepiece model, of which only the size is known"
        return Tokenizer(model.name, special=special, unseen=why, size=model.stat().st_size)
    return Tokenizer(special=special, unseen="the directory holds no tokenizer")


def _read(path: Path, decode: Callable[[str], Any]) -> tuple[Any, str | None]:
    """Return `(what was decoded, what is wrong)`."""
    try:
        if path.is_fifo():
            return None, f"`{path.name}` is a named pipe"
        if path.stat().st_size > SIZE_LIMIT:
            return None, f"`{path.name}` is larger than {SIZE_LIMIT} bytes, not read"
        return decode(path.read_bytes().decode("utf-8")), None
    except OSError as error:
        return None, f"`{path.name}` can't be read: {(error.strerror or str(error)).lower()}"
    except (ValueError, RecursionError):
        return None, f"`{path.name}` is not JSON"


def _fast_tokens(text: str) -> dict[str, int]:
    """Return the tokens of a `tokenizer.json`: a map, or a list of `[token, score]`.

    Raises:
        ValueError: one of the parts is no JSON.
    """
    if not text.strip().startswith("{") or not text.rstrip().endswith("}"):
        raise ValueError
    vocabulary = _part(text, _VOCABULARY)
    if isinstance(vocabulary, dict):
        tokens = _whole_numbers(vocabulary)
    elif isinstance(vocabulary, list):
        tokens = {
            each[0]: number
            for number, each in enumerate(vocabulary)
            if isinstance(each, list) and each and isinstance(each[0], str)
        }
    else:
        return {}
    for added in _part(text, _ADDED_TOKENS) or ():
        if isinstance(added, dict) and isinstance(added.get("content"), str):
            number = added.get("id")
            if type(number) is int:
                tokens[added["content"]] = number
    return tokens


def _part(text: str, start: re.Pattern[str]) -> Any:
    found = start.search(text)
    return None if found is None else json.JSONDecoder().raw_decode(text, found.end())[0]


def _plain_tokens(text: str) -> dict[str, int]:
    root = json.loads(text)
    return _whole_numbers(root) if isinstance(root, dict) else {}


def _whole_numbers(root: dict[str, Any]) -> dict[str, int]:
    return {token: number for token, number in root.items() if type(number) is int}


def _added(config: Any) -> dict[str, int]:
    """Return the tokens that `tokenizer_config.json` adds (`added_tokens_decoder`)."""
    found = config.get("added_tokens_decoder") if isinstance(config, dict) else None
    if not isinstance(found, dict):
        return {}
    return {
        each["content"]: int(number)
        for number, each in found.items()
        if isinstance(each, dict) and isinstance(each.get("content"), str) and number.isdecimal()
    }


def _special(config: Any) -> dict[str, str]:
    if not isinstance(config, dict):
        return {}
    found = {}
    for role in _ROLES:
        stated = config.get(role)
        text = stated.get("content") if isinstance(stated, dict) else stated
        if isinstance(text, str):
            found[role] = text
    return found
