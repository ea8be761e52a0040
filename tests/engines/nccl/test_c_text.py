from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specpreflight.engines.nccl.c_text import Number, atoi, same_word, strtok, strtoll, to_int32

PROBE = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  char line[4096];
  while (fgets(line, sizeof line, stdin)) {
    char text[2048]; size_t n = 0; unsigned byte; char *at = line; int used;
    while (sscanf(at, "%2x%n", &byte, &used) == 1) { text[n++] = (char)byte; at += used; }
    text[n] = 0; errno = 0; char *end;
    long long value = strtoll(text, &end, 0);
    printf("%lld %ld %d %d\n", value, (long)(end - text), errno == ERANGE, atoi(text));
  }
}
"""

#: Characters around which number parsers differ.
ALPHABET = "0123456789" * 3 + "xXabcdefABF+- \t\n\v\f\r.,_eE#\"'$%;KMGB\u00a0\u0663\uff11"


def random_texts(count: int) -> list[str]:
    chance = random.Random(20260101)
    texts = ["".join(chance.choices(ALPHABET, k=chance.randrange(24))) for _ in range(count - 8)]
    edges = [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 2**31, -(2**31) - 1, 0]
    return [*texts, *map(str, edges)]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_ten_thousand_strings_against_the_c_library(tmp_path: Path) -> None:
    (tmp_path / "probe.c").write_text(PROBE)
    probe = tmp_path / "probe"
    subprocess.run(
        ["cc", "-std=c11", "-o", str(probe), str(tmp_path / "probe.c")], check=True, timeout=60
    )
    texts = random_texts(10_000)
    lines = "".join(text.encode().hex() + "\n" for text in texts)
    done = subprocess.run([str(probe)], input=lines, capture_output=True, text=True, check=True)
    for text, line in zip(texts, done.stdout.splitlines(), strict=True):
        value, end, overflow, narrowed = (int(part) for part in line.split())
        rest = text.encode()[end:].decode()
        assert strtoll(text) == Number(value, rest, bool(overflow)), repr(text)
        if not overflow:
            assert atoi(text) == narrowed, repr(text)


@given(st.text())
def test_never_raises_and_keeps_the_end_of_the_text(text: str) -> None:
    number = strtoll(text)
    assert text.endswith(number.rest)
    assert -(2**63) <= number.value < 2**63


@given(st.integers())
def test_reads_what_python_writes(value: int) -> None:
    number = strtoll(str(value))
    assert number.rest == ""
    assert number.overflow is not (-(2**63) <= value < 2**63)
    if not number.overflow:
        assert number.value == value


@given(st.integers(-(2**40), 2**40))
def test_narrowing_is_twos_complement(value: int) -> None:
    assert -(2**31) <= to_int32(value) < 2**31
    assert (to_int32(value) - value) % 2**32 == 0


def test_words_and_pieces() -> None:
    assert same_word("RinG", "ring")
    assert not same_word("\u212aing", "King")
    assert strtok(",a,,b,", ",") == ["a", "b"]
