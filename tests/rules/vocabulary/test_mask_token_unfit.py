"""The mask token of DFLASH and DSPARK drafts, by release and by the target's tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, change, found, make_launch, write_checkpoint

from specpreflight.api import check
from specpreflight.models.finding import Confidence, Finding

ROWS = 16
TARGET = change(LLAMA, vocab_size=ROWS)
LAYERS = {"target_layer_ids": [1, 9, 17, 25, 29]}
DFLASH = change(
    TARGET, architectures=["DFlashDraftModel"], num_hidden_layers=5, dflash_config=LAYERS
)
DSPARK = change(
    DFLASH,
    architectures=["DSparkDraftModel"],
    block_size=7,
    markov_rank=32,
    markov_head_type="vanilla",
)


def tokens(count: int, **added: int) -> dict[str, Any]:
    """Return a tokenizer.json of `count` plain tokens and some added ones."""
    extra = [{"content": name, "id": number} for name, number in added.items()]
    return {"model": {"vocab": {f"t{n}": n for n in range(count)}}, "added_tokens": extra}


def findings(
    folder: Path,
    version: str,
    algorithm: str,
    draft: dict[str, Any],
    *words: str,
    target: dict[str, Any] = TARGET,
    tokenizer: dict[str, Any] | None = None,
) -> list[Finding]:
    write_checkpoint(folder / "target", target)
    if tokenizer is not None:
        (folder / "target" / "tokenizer.json").write_text(json.dumps(tokenizer))
    flags = ("--speculative-algorithm", algorithm, *words)
    launch = make_launch(folder, target, draft, *flags, engine=f"sglang@{version}")
    return found(check(launch), "mask-token-unfit")


def dflash(**keys: Any) -> dict[str, Any]:
    return change(DFLASH, dflash_config={**LAYERS, **keys})


@pytest.mark.parametrize(("number", "count"), [(ROWS - 1, 0), (ROWS, 1)])
@pytest.mark.parametrize("version", ["0.5.11", "0.5.23"])
def test_an_id_has_a_row(tmp_path: Path, version: str, number: int, count: int) -> None:
    got = findings(tmp_path, version, "DFLASH", dflash(mask_token_id=number))
    assert len(got) == count
    for finding in got:
        assert finding.message == f"`mask_token_id` {ROWS} is outside the target's vocabulary of 16"
        assert f"mask_token_id={ROWS}, vocab_size=16. This likely" in str(finding.engine_message)


@pytest.mark.parametrize(("version", "count"), [("0.5.17", 0), ("0.5.18", 1)])
def test_beside_its_section_an_id_is_read_from_0_5_18(
    tmp_path: Path, version: str, count: int
) -> None:
    assert len(findings(tmp_path, version, "DFLASH", change(DFLASH, mask_token_id=99))) == count


@pytest.mark.parametrize(
    ("keys", "known", "said"),
    [
        ({"mask_token_id": 9}, {"<|MASK|>": 9}, None),
        ({"mask_token_id": 8}, {"<|MASK|>": 9}, "is 8, and the target's tokenizer has '<|MASK|>'"),
        ({"mask_token_id": 8}, {}, None),
        ({"mask_token_id": 8, "mask_token": "t3"}, {}, "is 8, and the target's tokenizer has 't3'"),
        ({"mask_token_id": 3, "mask_token": "t3"}, {}, None),
    ],
)
def test_the_tokenizer_has_the_same_id(
    tmp_path: Path, keys: dict[str, Any], known: dict[str, int], said: str | None
) -> None:
    tokenizer = tokens(9, **known)
    got = findings(tmp_path, "0.5.12", "DFLASH", dflash(**keys), tokenizer=tokenizer)
    assert [said in finding.message for finding in got if said] == [True] * (said is not None)
    assert bool(got) is (said is not None)


@pytest.mark.parametrize(
    ("count", "known", "stops"),
    [(ROWS - 1, {}, False), (ROWS, {}, True), (ROWS - 1, {"<|MASK|>": ROWS - 1}, False)],
)
def test_a_new_token_needs_a_free_row(
    tmp_path: Path, count: int, known: dict[str, int], stops: bool
) -> None:
    got = findings(tmp_path, "0.5.12", "DFLASH", DFLASH, tokenizer=tokens(count, **known))
    assert [finding.confidence for finding in got] == [Confidence.INFERRED] * stops
    assert all("a new token gets 16 of 16 rows" in finding.message for finding in got)


def test_without_a_tokenizer_nothing_is_said(tmp_path: Path) -> None:
    assert findings(tmp_path, "0.5.12", "DFLASH", DFLASH) == []
    other = ("--tokenizer-path", "/elsewhere")
    draft = dflash(mask_token_id=8, mask_token="t3")
    assert findings(tmp_path, "0.5.12", "DFLASH", draft, *other, tokenizer=tokens(9)) == []


@pytest.mark.parametrize(("keys", "count"), [({}, 1), ({"mask_token_id": 3}, 0)])
def test_nobody_is_asked_without_a_tokenizer(
    tmp_path: Path, keys: dict[str, Any], count: int
) -> None:
    got = findings(tmp_path, "0.5.12", "DFLASH", dflash(**keys), "--skip-tokenizer-init")
    assert len(got) == count
    assert all("DFLASH requires tokenizer initialization" in str(one.engine_message) for one in got)


@pytest.mark.parametrize(
    ("version", "keys", "said"),
    [
        ("0.5.16", {"mask_token_id": ROWS - 1}, None),
        ("0.5.16", {"mask_token_id": ROWS}, "outside the target vocab size 16"),
        ("0.5.16", {}, "requires mask_token_id to be set"),
        ("0.5.16", {"dspark_noise_token_id": 1, "dspark_config": {"mask_token_id": 99}}, None),
        ("0.5.16", {"dspark_config": {"mask_token_id": 99}, "mask_token_id": 1}, "=99 is outside"),
        ("0.5.16", {"dflash_config": {**LAYERS, "mask_token_id": 99}}, "=99 is outside"),
        ("0.5.23", {"mask_token_id": ROWS}, "outside the target vocab size 16"),
    ],
)
def test_dspark_asks_the_config_alone(
    tmp_path: Path, version: str, keys: dict[str, Any], said: str | None
) -> None:
    got = findings(tmp_path, version, "DSPARK", change(DSPARK, **keys))
    assert [said in str(finding.engine_message) for finding in got if said] == [True] * bool(said)
    assert bool(got) is (said is not None)


@pytest.mark.parametrize(("version", "count"), [("0.5.17", 1), ("0.5.18", 0)])
def test_dspark_counts_padded_rows_from_0_5_18(tmp_path: Path, version: str, count: int) -> None:
    padded = change(TARGET, padded_vocab_size=ROWS + 8)
    draft = change(DSPARK, mask_token_id=ROWS)
    assert len(findings(tmp_path, version, "DSPARK", draft, target=padded)) == count
