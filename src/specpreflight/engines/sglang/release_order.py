"""The order of SGLang's releases, without a version library: a check compares versions often."""

from __future__ import annotations

import re
from functools import lru_cache

#: `0.5.9`, `0.4.6.post5`, `0.5.10rc1`, `0.5.12.dev30`; a local part (`+cu130`) follows no order.
VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:(rc|\.post|\.dev)(\d+))?(?:\+[\w.]+)?")

_STEP = {".dev": -2, "rc": -1, "": 0, ".post": 1}


@lru_cache(maxsize=256)
def release_key(version: str) -> tuple[tuple[int, ...], int, int]:
    """Return what orders versions as packaging does, for the forms that SGLang publishes.

    Raises:
        ValueError: not such a form.
    """
    match = VERSION.fullmatch(version)
    if match is None:
        raise ValueError(f"`{version}` is no version")
    numbers = [int(part) for part in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), _STEP[match[2] or ""], int(match[3] or 0)
