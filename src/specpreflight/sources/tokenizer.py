"""Read a tokenizer's vocabulary from its JSON files; a sentencepiece model is only measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from specpreflight.models.tokenizer import Tokenizer

#: Bytes; the largest public tokenizer.json (Gemma 3, 262,144 tokens) has 33 MB.
SIZE_LIMIT: Final = 128_000_000
_ROLES: Final = ("bos_token", "eos_token", "pad_token", "unk_token")


def read_tokenizer(directory: Path) -> Tokenizer:
    """Return the tokenizer of a checkpoint; what can't be seen is its `unseen`."""
    config, _ = _read_json(directory / "tokenizer_config.json")
    special = _special(config)
    for name, read in (("tokenizer.json", _fast_tokens), ("vocab.json", _plain_tokens)):
        path = directory / name
        if not path.is_file():
            continue
        root, problem = _read_json(path)
        if problem is None:
            tokens = read(root)
            problem = None if tokens else f"`{name}` holds no vocabulary"
            if tokens:
                return Tokenizer(name, {**tokens, **_added(config)}, special)
        return Tokenizer(name, special=special, unseen=problem)
    model = directory / "tokenizer.model"
    if model.is_file():
        why = "`tokenizer.model` is a sentencepiece model, of which only the size is known"
        return Tokenizer(model.name, special=special, unseen=why, size=model.stat().st_size)
    return Tokenizer(special=special, unseen="the directory holds no tokenizer")


def _read_json(path: Path) -> tuple[Any, str | None]:
    """Return `(root, what is wrong)`."""
    try:
        if path.stat().st_size > SIZE_LIMIT:
            return None, f"`{path.name}` is larger than {SIZE_LIMIT} bytes, not read"
        return json.loads(path.read_bytes().decode("utf-8")), None
    except OSError as error:
        return None, f"`{path.name}` can't be read: {(error.strerror or str(error)).lower()}"
    except (ValueError, RecursionError):
        return None, f"`{path.name}` is not JSON"


def _fast_tokens(root: Any) -> dict[str, int]:
    """Return the tokens of a `tokenizer.json`: a map, or a list of `[token, score]`."""
    model = root.get("model") if isinstance(root, dict) else None
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocabulary, dict):
        tokens = _plain_tokens(vocabulary)
    elif isinstance(vocabulary, list):
        tokens = {
            each[0]: number
            for number, each in enumerate(vocabulary)
            if isinstance(each, list) and each and isinstance(each[0], str)
        }
    else:
        return {}
    for added in root.get("added_tokens") or ():
        if isinstance(added, dict) and isinstance(added.get("content"), str):
            number = added.get("id")
            if type(number) is int:
                tokens[added["content"]] = number
    return tokens


def _plain_tokens(root: Any) -> dict[str, int]:
    if not isinstance(root, dict):
        return {}
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
