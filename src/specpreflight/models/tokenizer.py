"""A checkpoint's tokenizer, as far as its files tell it without a tokenizer library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, cast

from specpreflight.models.checkpoint import Checkpoint


class Tokenizer(NamedTuple):
    """Token → id, from `tokenizer.json` or `vocab.json`.

    Attributes:
        file: where the vocabulary was read.
        tokens: every token's id, added ones included.
        special: the roles of `tokenizer_config.json` (`bos_token` …) and their tokens.
        unseen: why `tokens` is empty, or `None`.
        size: bytes of a file that can't be read here (`tokenizer.model`), else 0.
    """

    file: str | None = None
    tokens: Mapping[str, int] = MappingProxyType({})
    special: Mapping[str, str] = MappingProxyType({})
    unseen: str | None = None
    size: int = 0

    def digest(self) -> str:
        """Return the SHA-256 of the id → token map, in the order of the ids."""
        from hashlib import sha256

        hashed = sha256()
        for token, number in sorted(self.tokens.items(), key=lambda item: (item[1], item[0])):
            hashed.update(f"{number}\0{token}\0".encode("utf-8", "surrogatepass"))
        return hashed.hexdigest()


def tokenizer_of(checkpoint: Checkpoint | None) -> Tokenizer | None:
    """Return a checkpoint's tokenizer, `None` where its directory is not at hand."""
    if checkpoint is None or "tokenizer" not in checkpoint.facts:
        return None
    return cast("Callable[[], Tokenizer]", checkpoint.facts["tokenizer"])()


def first_differences(
    one: Tokenizer, other: Tokenizer, count: int
) -> tuple[tuple[int, str | None, str | None], ...]:
    """Return the first `count` ids whose tokens differ: `(id, in one, in the other)`."""
    return tuple(islice(differences(one, other), count))


def differences(one: Tokenizer, other: Tokenizer) -> Iterator[tuple[int, str | None, str | None]]:
    """Yield each id whose tokens differ, in order; `None` is an id that one does not have."""
    ours, theirs = _by_id(one), _by_id(other)
    for number in sorted(ours.keys() | theirs.keys()):
        if ours.get(number) != theirs.get(number):
            yield number, ours.get(number), theirs.get(number)


def _by_id(tokenizer: Tokenizer) -> dict[int, str]:
    return {number: token for token, number in tokenizer.tokens.items()}
