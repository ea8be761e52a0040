"""Splitting a command string into words where no shell does it: Compose, Docker, Kubernetes."""

from __future__ import annotations

import shlex

from specpreflight.errors import InputError


def split_shell_words(text: str) -> list[str]:
    """Split by blanks, quotes and backslashes; variables and comments are characters.

    Raises:
        InputError: a quote that is not closed.
    """
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError as error:
        raise InputError(f"the command {text[:60]!r} cannot be split: {error}") from None
