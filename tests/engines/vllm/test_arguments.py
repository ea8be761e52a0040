"""vLLM's own forms of arguments, beside what argparse does with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specpreflight.engines.vllm.arguments import parse
from specpreflight.engines.vllm.config_file import ConfigFileError, config_words, merge_config
from specpreflight.engines.vllm.knowledge import Knowledge

EAGLE3 = {"method": "eagle3", "num_speculative_tokens": 3}
WORD = json.dumps(EAGLE3)


def values(version: str, *words: str) -> dict[str, Any]:
    parsed = parse(words, Knowledge(version))
    assert parsed.problems == ()
    return dict(parsed.values)


def problems(version: str, *words: str) -> list[str]:
    return [problem.message for problem in parse(words, Knowledge(version)).problems]


@pytest.mark.parametrize(
    "words",
    [
        ("--speculative-config", WORD),
        (f"--speculative-config={WORD}",),
        ("--speculative_config", WORD),
        ("--speculative-config.method", "eagle3", "--speculative-config.num_speculative_tokens=3"),
        ("--speculative_config.method=eagle3", "--speculative-config.num_speculative_tokens", "3"),
        ("--speculative-con", WORD),
    ],
)
@pytest.mark.parametrize("version", ["0.10.2", "0.20.2", "0.33.0"])
def test_forms_of_the_speculative_config(version: str, words: tuple[str, ...]) -> None:
    assert values(version, *words)["speculative_config"] == EAGLE3


def test_the_short_forms_came_later() -> None:
    assert values("0.20.2", "-sc", WORD)["speculative_config"] == EAGLE3
    assert problems("0.10.2", "-sc", WORD)
    assert values("0.22.0", "--spec-tokens", "4")["spec_tokens"] == 4
    assert problems("0.20.2", "--spec-tokens", "4") == ["unrecognized arguments: --spec-tokens 4"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--speculative-config.a.b", "1"), {"a": {"b": 1}}),
        (("--speculative-config.a", "[1, 2]"), {"a": [1, 2]}),
        (("--speculative-config.a+", "x,y"), {"a": ["x", "y"]}),
        (("--speculative-config.a", "text"), {"a": "text"}),
        (("--speculative-config.a", "true"), {"a": True}),
        (
            ("--speculative-config.a", "1", "--speculative-config.b", "2"),
            {"a": 1, "b": 2},
        ),
        (("--speculative-config.a", "1", "--speculative-config.a", "2"), {"a": 2}),
    ],
)
def test_dotted_keys(words: tuple[str, ...], expected: dict[str, Any]) -> None:
    assert values("0.20.2", *words)["speculative_config"] == expected


def test_sizes_inside_dotted_keys_are_numbers_from_0_20() -> None:
    words = ("--speculative-config.a", "4k")
    assert values("0.19.1", *words)["speculative_config"] == {"a": "4k"}
    assert values("0.20.0", *words)["speculative_config"] == {"a": 4000}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4096", 4096),
        ("4k", 4000),
        ("4K", 4096),
        ("25.6k", 25600),
        ("1m", 1000000),
        ("1M", 1048576),
    ],
)
def test_lengths_that_people_write(text: str, expected: int) -> None:
    assert values("0.20.2", "--max-model-len", text)["max_model_len"] == expected


def test_a_decimal_number_with_a_binary_suffix_is_refused() -> None:
    [message] = problems("0.20.2", "--max-model-len", "1.5K")
    assert "Decimals are not allowed with binary suffixes like K" in message


@pytest.mark.parametrize(
    "text", ["{'method': 'eagle3'}", '{"enforce_eager": True}', "{method: eagle3}"]
)
def test_what_is_no_json(text: str) -> None:
    [message] = problems("0.20.2", "--speculative-config", text)
    assert f"Value {text} cannot be converted to <function loads>." in message


def test_the_model_stands_first_or_after_its_flag() -> None:
    assert values("0.20.2", "serve", "T", "-tp", "2")["model"] == "T"
    assert values("0.20.2", "T", "-tp", "2")["tensor_parallel_size"] == 2
    assert values("0.20.2", "--model", "T")["model"] == "T"


def test_the_first_release_hands_the_text_to_json_itself() -> None:
    assert values("0.10.0", "--speculative-config", WORD)["speculative_config"] == EAGLE3
    [message] = problems("0.10.0", "--speculative-config", "{a: 1}")
    assert message == "argument --speculative-config: invalid loads value: '{a: 1}'"


def test_an_old_flag_is_not_known_any_more() -> None:
    assert problems("0.20.2", "--num-lookahead-slots", "4")


def test_the_optimisation_level_is_a_word_of_its_own() -> None:
    assert (
        values("0.12.0", "-O2")["optimization_level"]
        == values("0.12.0", "-O=2")["optimization_level"]
    )


@pytest.mark.parametrize(
    ("version", "config", "words"),
    [
        ("0.20.2", {"port": 1, "enforce-eager": True}, ["--port", "1", "--enforce-eager"]),
        ("0.20.2", {"speculative-config": EAGLE3}, ["--speculative-config", WORD]),
        ("0.15.1", {"speculative-config": EAGLE3}, ["--speculative-config", str(EAGLE3)]),
        ("0.27.1", {"async-scheduling": False}, []),
        ("0.28.0", {"async-scheduling": False}, ["--no-async-scheduling"]),
        ("0.28.0", {"unknown": False}, []),
        ("0.20.2", {"names": ["a", 1]}, ["--names", "a", "1"]),
        ("0.20.2", {"names": []}, []),
        ("0.20.2", {"seed": None}, ["--seed", "None"]),
    ],
)
def test_words_of_a_config_file(version: str, config: dict[str, Any], words: list[str]) -> None:
    assert list(config_words(config, Knowledge(version))) == words


@pytest.mark.parametrize(
    ("argv", "merged"),
    [
        (("--config", "c.yaml", "-tp", "2"), ["--port", "1", "-tp", "2"]),
        (("T", "--config", "c.yaml"), ["T", "--port", "1"]),
        (("T", "-tp", "2", "--config", "c.yml"), ["T", "--port", "1", "-tp", "2"]),
        (("T", "-tp", "2"), ["T", "-tp", "2"]),
    ],
)
def test_the_command_line_wins_over_the_file(argv: tuple[str, ...], merged: list[str]) -> None:
    assert merge_config(argv, {"port": 1}, Knowledge("0.20.2")) == merged


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--config",), "No config file specified!"),
        (("--config", "a.yaml", "--config", "b.yaml"), "More than one config file specified!"),
        (("--config", "a.json"), "Config file must be of a yaml/yml type. json supplied"),
    ],
)
def test_a_config_file_that_vllm_refuses(argv: tuple[str, ...], says: str) -> None:
    with pytest.raises(ConfigFileError, match=says):
        merge_config(argv, {}, Knowledge("0.20.2"))
