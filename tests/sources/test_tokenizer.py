"""Tokenizers from their files: tokens, added tokens, special ones, and what can't be seen."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specpreflight.models.tokenizer import Tokenizer, first_differences
from specpreflight.sources.tokenizer import read_tokenizer


def write(directory: Path, name: str, content: object) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (directory / name).write_text(text, encoding="utf-8")


def test_a_map_with_added_tokens(tmp_path: Path) -> None:
    added = [{"content": "<s>", "id": 2}, {"content": 3}, "?"]
    write(tmp_path, "tokenizer.json", {"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": added})
    assert read_tokenizer(tmp_path).tokens == {"a": 0, "b": 1, "<s>": 2}


def test_a_list_of_pieces_and_scores(tmp_path: Path) -> None:
    write(tmp_path, "tokenizer.json", {"model": {"vocab": [["<unk>", 0.0], ["a", -1.5]]}})
    assert read_tokenizer(tmp_path).tokens == {"<unk>": 0, "a": 1}


def test_vocab_json_and_the_config_beside_it(tmp_path: Path) -> None:
    write(tmp_path, "vocab.json", {"a": 0})
    write(
        tmp_path,
        "tokenizer_config.json",
        {
            "bos_token": {"content": "<s>"},
            "eos_token": "</s>",
            "pad_token": None,
            "added_tokens_decoder": {"1": {"content": "<s>"}, "x": {"content": "?"}},
        },
    )
    found = read_tokenizer(tmp_path)
    assert found.tokens == {"a": 0, "<s>": 1}
    assert found.special == {"bos_token": "<s>", "eos_token": "</s>"}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("tokenizer.model", "xyz", "sentencepiece"),
        ("tokenizer.json", "{", "not JSON"),
        ("tokenizer.json", {"model": {}}, "holds no vocabulary"),
        ("README.md", "", "no tokenizer"),
    ],
)
def test_what_cannot_be_seen(tmp_path: Path, name: str, content: object, says: str) -> None:
    write(tmp_path, name, content)
    found = read_tokenizer(tmp_path)
    assert found.tokens == {}
    assert says in str(found.unseen)
    assert found.size == (3 if name == "tokenizer.model" else 0)


def test_the_digest_is_that_of_the_map(tmp_path: Path) -> None:
    one = Tokenizer(tokens={"a": 0, "b": 1})
    assert one.digest() == Tokenizer(tokens={"b": 1, "a": 0}).digest()
    assert one.digest() != Tokenizer(tokens={"a": 1, "b": 0}).digest()


def test_first_differences_are_in_the_order_of_ids() -> None:
    one, other = Tokenizer(tokens={"a": 0, "b": 1, "c": 2}), Tokenizer(tokens={"a": 0, "c": 1})
    assert first_differences(one, other, 5) == ((1, "b", "c"), (2, "c", None))
    assert first_differences(one, other, 1) == ((1, "b", "c"),)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["model", "vocab", "added_tokens", "a"]), inner, max_size=3
            )
        ),
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_json_makes_it_fail(tmp_path: Path, root: object) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        write(tmp_path, name, root)
    assert all(type(number) is int for number in read_tokenizer(tmp_path).tokens.values())


WORDS = 'the draft proposes and the target verifies what the draft proposed "vocab": [1] {}'


def trained(kind: str, size: int, *special: str) -> Any:
    """Train a tokenizer of the real library on a few words."""
    library = pytest.importorskip("tokenizers")
    models, trainers = library.models, library.trainers
    made = library.Tokenizer(
        {
            "bpe": models.BPE(unk_token="<unk>"),
            "unigram": models.Unigram(),
            "wordpiece": models.WordPiece(unk_token="<unk>"),
            "wordlevel": models.WordLevel(unk_token="<unk>"),
        }[kind]
    )
    made.pre_tokenizer = library.pre_tokenizers.Whitespace()
    options = {"special_tokens": ["<unk>", *special], "vocab_size": size, "show_progress": False}
    trainer = {
        "bpe": trainers.BpeTrainer,
        "unigram": trainers.UnigramTrainer,
        "wordpiece": trainers.WordPieceTrainer,
        "wordlevel": trainers.WordLevelTrainer,
    }[kind](**options, **({"unk_token": "<unk>"} if kind == "unigram" else {}))
    made.train_from_iterator([WORDS] * 20, trainer)
    made.add_tokens(["<think>", '"vocab": {'])
    return made


@pytest.mark.parametrize("pretty", [True, False])
@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "wordlevel"])
def test_the_real_library_knows_the_same_tokens(tmp_path: Path, kind: str, pretty: bool) -> None:
    made = trained(kind, 60, "<s>", "</s>")
    made.save(str(tmp_path / "tokenizer.json"), pretty=pretty)
    assert read_tokenizer(tmp_path).tokens == made.get_vocab(with_added_tokens=True)


def test_two_real_tokenizers_differ_where_the_library_says(tmp_path: Path) -> None:
    one, other = trained("bpe", 60, "<s>"), trained("bpe", 60, "<bos>")
    for name, made in (("one", one), ("other", other)):
        (tmp_path / name).mkdir()
        made.save(str(tmp_path / name / "tokenizer.json"))
    read = [read_tokenizer(tmp_path / name) for name in ("one", "other")]
    assert first_differences(*read, 5) == ((1, "<s>", "<bos>"),)
    assert (one.id_to_token(1), other.id_to_token(1)) == ("<s>", "<bos>")


def test_merges_are_not_decoded(tmp_path: Path) -> None:
    """Most of a tokenizer.json is merges; they cost memory and say nothing about ids."""
    merges = [[f"a{number}", f"b{number}"] for number in range(200_000)]
    write(tmp_path, "tokenizer.json", {"model": {"merges": merges, "vocab": {"a": 0}}})
    size = (tmp_path / "tokenizer.json").stat().st_size
    tracemalloc.start()
    try:
        assert read_tokenizer(tmp_path).tokens == {"a": 0}
        assert tracemalloc.get_traced_memory()[1] < 3 * size
    finally:
        tracemalloc.stop()
