"""Which keys of a config nothing reads, and that what is said of the engines' texts is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import specpreflight
from specpreflight.engines.mentions import STORED, find_unread

PACKAGE = Path(specpreflight.__file__).parent


@pytest.mark.parametrize(
    "key", ["run_id", "final_loss", "exported_at", "wandb_url", *sorted(STORED)]
)
def test_what_tells_of_a_training_is_not_read(key: str) -> None:
    assert find_unread([key]) == {key}


@pytest.mark.parametrize(
    "key",
    [
        "hidden_size", "rope_theta", "eagle_config", "target_hidden_size", "norm_before_fc",
        "num_nextn_predict_layers", "name_or_path", "target_model_name_or_path",
        "decoder_own_size", "encoderless", "dspark_unheard_of", "my_token_id", "a", "",
    ],
)  # fmt: skip
def test_what_can_be_read(key: str) -> None:
    assert find_unread([key, "run_id"]) == {"run_id"}


def shipped() -> dict[str, set[str]]:
    """Return each line of the shipped definitions, with the definitions that have it."""
    lines: dict[str, set[str]] = {}
    for path in PACKAGE.glob("engines/*/data/source/*.json"):
        table = json.loads(path.read_bytes())
        for name, runs in table.items():
            for *_, text in runs if path.name != "releases.json" else ():
                for line in text.splitlines():
                    lines.setdefault(line.strip(), set()).add(name)
    return lines


LINES = shipped()


def test_nothing_looks_at_a_value_that_is_only_stored() -> None:
    """What mentions those keys sets or drops them, or passes them over.

    A new line here has to be read: if it makes anything depend on the value, the key is no longer
    one of those.
    """
    harmless = re.compile(
        r"self\.transformers_version = kwargs\.pop\('transformers_version', None\)"
        r"|transformers_version: str \| None = None"
        r"|transformers_version = version\.parse\(__version__\)"  # transformers' own
        r"|if version\.parse\(v\) <= transformers_version:"
        r"|if key in (text|vision)_config and value != .* and \(key (!=|not in) .*"  # parts only
        r"|(def |self\.)_verify_transformers_version\(.*"
        r"|for (k|key) in [\[(]'model_type', .*"  # what dbrx and iquest_q1 drop
        r"|self\._name_or_path = str\((kwargs\.pop\('name_or_path', ''\)|value)\)"
        r"|return getattr\(self, '_name_or_path', None\)"  # the property `name_or_path`
        r"|(setattr\(config, '_name_or_path', model\)|config\._name_or_path = model)"
        r"|if 'text_config' in .* and key not in \['_name_or_path', .*"  # which part has it
        r"|if \(text_config := .* and \(?key not in \['_name_or_path', .*"
        r"|_UNMIRRORED_KEYS = \['_name_or_path', .*"
        r"|_conflicting = \{'model_type', '_name_or_path'\}"
    )
    word = re.compile(rf"(?<!\w)_?({'|'.join(STORED)})(?!\w)")
    unknown = [line for line in LINES if word.search(line) and not harmless.fullmatch(line)]
    assert unknown == []


def test_nothing_written_here_asks_for_a_value_that_is_only_stored() -> None:
    asks = re.compile(rf"""["'/]({"|".join(STORED)})["']""")
    found = [path for path in PACKAGE.rglob("*.py") if asks.search(path.read_text())]
    assert [path.name for path in found] == ["mentions.py"]


def test_nothing_reads_the_name_or_path_of_a_config() -> None:
    """`config.name_or_path` is `_name_or_path`; neither engine asks for it."""
    asks = re.compile(r"(\.|attr\(\w+, ')name_or_path\b")
    assert [line for line in LINES if asks.search(line)] == []


def test_keys_that_are_read_by_a_part_of_their_name() -> None:
    """All places that look at a name's beginning or end, and what they look for.

    A new one has to be read: if it is an attribute's name, `mentions.py` must know of it.
    """
    asks = re.compile(r"\b(?:\w*key|\w*name|k|attr|field)\.(?:starts|ends)with\((.*?)\)")
    found = {
        (name.rpartition(".")[2], part)
        for line, names in LINES.items()
        for part in asks.findall(line)
        for name in names
    }
    assert found == {
        ("get_text_config", "prefix_to_keep"),  # encoder or decoder
        ("get_text_config", "prefix_to_discard"),
        ("validate_token_ids", "'_token_id'"),
        ("configure_minimax_m3_dspark", "'dspark_'"),
        ("get_configuration_file", "'config.'"),  # a file's name
        ("get_configuration_file", "'.json'"),
        ("_read_safetensors_metadata_in_repo", "'.safetensors'"),
        ("get_hf_text_config", "'Llava'"),  # a class's
        ("get_hf_text_config", "'ForCausalLM'"),
        ("should_ignore_layer", "'.experts'"),  # a layer's
    }
