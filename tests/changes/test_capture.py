"""A recorded launch: it round-trips, a changed byte is found, no secret is in it."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from launches import LLAMA, LLAMA_EAGLE3, make_launch, write_checkpoint
from make_checkpoints import eagle3_specforge, llama_target

from specpreflight.api import build_launch, check
from specpreflight.changes.capture import capture, hash_facts
from specpreflight.changes.differences import flatten, list_changes
from specpreflight.models.launch import Launch
from specpreflight.models.lock import Lock
from specpreflight.reports.lock import render_lock
from specpreflight.sources.environment import read_environment
from specpreflight.sources.lock_file import read_lock

SMALL_FILES = ("tokenizer.json", "tokenizer_config.json", "generation_config.json", "merges.txt")


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """A target and a draft with weights, tokenizers and an index."""
    llama_target().write(tmp_path / "target")
    eagle3_specforge().write(tmp_path / "draft")
    for role in ("target", "draft"):
        for name in SMALL_FILES:
            (tmp_path / role / name).write_text('{"a": 1, "b": "text"}')
    return tmp_path


def lock_of(folder: Path) -> Lock:
    launch = build_launch(str(folder / "target"), str(folder / "draft"), engine="sglang@0.5.11")
    return capture(launch, check(launch))


def test_it_round_trips(pair: Path) -> None:
    lock = lock_of(pair)
    path = pair / "launch.lock.json"
    path.write_text(render_lock(lock), encoding="utf-8")
    again = read_lock(str(path))
    assert again == lock
    assert render_lock(again) == path.read_text(encoding="utf-8")


def test_the_same_launch_gives_the_same_file(pair: Path) -> None:
    assert render_lock(lock_of(pair)) == render_lock(lock_of(pair))
    assert not list(list_changes(lock_of(pair), lock_of(pair)))


def test_every_byte_of_every_recorded_file_counts(pair: Path) -> None:
    before = lock_of(pair)
    assert before.draft is not None
    assert {"config.json", "model.safetensors", *SMALL_FILES} <= before.draft.files.keys()
    for role, locked in (("target", before.target), ("draft", before.draft)):
        assert locked is not None
        for name, known in locked.files.items():
            path = pair / role / name
            data = path.read_bytes()
            old, new = (b".weight", b"_weight") if name.endswith(".safetensors") else (b" ", b"\t")
            assert 0 <= data.find(old) < known.hashed
            path.write_bytes(data.replace(old, new, 1))
            changes = list(list_changes(before, lock_of(pair)))
            assert [(change.part, change.name) for change in changes] == [(role, name)], name
            path.write_bytes(data)
    assert not list(list_changes(before, lock_of(pair)))


@pytest.mark.parametrize("name", ["added.json", "chat_template.jinja", "more.safetensors"])
def test_a_new_and_a_lost_file_are_found(pair: Path, name: str) -> None:
    before = lock_of(pair)
    header = b'{"__metadata__": {}}'
    (pair / "draft" / name).write_bytes(struct.pack("<Q", len(header)) + header)
    after = lock_of(pair)
    assert name in {change.name for change in list_changes(before, after)}
    assert name in {change.name for change in list_changes(after, before)}


def test_of_weights_only_the_header_is_read(pair: Path) -> None:
    before = lock_of(pair)
    path = pair / "draft" / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 255
    path.write_bytes(data)
    assert not list(list_changes(before, lock_of(pair)))


def test_a_value_of_a_config_is_told_by_its_key(pair: Path) -> None:
    before = lock_of(pair)
    path = pair / "draft" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "rope_scaling": {"factor": 2.0}, "hidden_act": "relu"}))
    changes = {change.name: change.after for change in list_changes(before, lock_of(pair))}
    assert changes["rope_scaling/factor"] == 2.0
    assert changes["hidden_act"] == "relu"
    assert "config.json" not in changes


SECRET = "pLanted-5ecret"


def secret_launch(folder: Path) -> Launch:
    """Return a launch that has a secret in every place where people put them."""
    write_checkpoint(folder / "target", {**LLAMA, "note": f"https://me:{SECRET}1@h/x"})
    write_checkpoint(
        folder / "draft", {**LLAMA_EAGLE3, "eos_token": "</s>", "hub": {"hf_token": f"{SECRET}14"}}
    )
    url = f"s3://k:{SECRET}10@b/x?sig={SECRET}11"
    loader = json.dumps({"url": url, "s3": {"key": f"{SECRET}15"}})
    environment = read_environment(
        {
            "HF_TOKEN": f"hf_{SECRET}2",
            "MY_PASSWORD": f"{SECRET}3",
            "SGLANG_HOST": f"https://me:{SECRET}4@host/",
            "VLLM_URL": f"http://h/?a=1&api_key={SECRET}5&b=2",
            "SGLANG_MY_TOKEN": "77",
            "SGLANG_HEADER": f"Authorization: Bearer {SECRET}6",
            "OPENAI_API_KEY": "short",
        },
        (),
        [f"SGLANG_API_KEY={SECRET}7", f"UNRELATED={SECRET}3"],
    )
    return build_launch(
        str(folder / "target"),
        str(folder / "draft"),
        engine="sglang@0.5.11",
        words=(
            "--api-key", f"{SECRET}8", f"--admin-api-key={SECRET}9",
            "--model-loader-extra-config", loader,
            "--served-model-name", f"{SECRET}3", "--unknown-token", f"{SECRET}12",
            "--speculative-token-map", f"https://me:{SECRET}13@h/map.pt",
            "--chat-template", "short",
        ),
        environment=environment,
    )  # fmt: skip


def test_no_secret_is_in_the_file(tmp_path: Path) -> None:
    launch = secret_launch(tmp_path)
    text = render_lock(capture(launch, check(launch)))
    assert SECRET not in text
    lock = json.loads(text)
    assert lock["report"]["inputs"]["environment"]["HF_TOKEN"] == "<redacted>"
    assert lock["report"]["inputs"]["environment"]["SGLANG_HOST"] == "https://<redacted>@host/"
    assert "UNRELATED" not in lock["report"]["inputs"]["environment"]
    assert lock["argv"][lock["argv"].index("--chat-template") + 1] == "<redacted>"
    assert lock["draft"]["config"]["eos_token"] == "</s>"
    shown = [one["value"] for find in lock["report"]["findings"] for one in find["values"]]
    assert "77" not in shown


def test_variables_of_other_programs_are_left_out(tmp_path: Path) -> None:
    launch = make_launch(tmp_path, environment={"EDITOR": "vi", "NCCL_PROTO": "LL"})
    kept = capture(launch, check(launch)).report.inputs.environment
    assert set(kept) == {"NCCL_PROTO"}


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    launch = make_launch(tmp_path, environment={"NCCL_PROTO": "L\udcffL"})
    lock = capture(launch, check(launch))
    assert lock.report.inputs.environment["NCCL_PROTO"] == "L\\udcffL"
    render_lock(lock).encode()


def test_the_hash_of_a_release_is_of_its_facts() -> None:
    facts = {"flags": {"--a": {"default": 1, "about": "prose"}}}
    other = {"flags": {"--a": {"default": 1, "about": "other prose"}}}
    assert hash_facts(facts) == hash_facts(other)
    assert hash_facts(facts) != hash_facts({"flags": {"--a": {"default": 2}}})


_KEYS = st.text(max_size=6)
_CONFIGS = st.recursive(
    st.dictionaries(_KEYS, st.integers() | st.lists(st.integers(), max_size=2), max_size=4),
    lambda inner: st.dictionaries(_KEYS, inner | st.integers(), max_size=4),
    max_leaves=8,
)


@example({"": {"a": 1}}, {"a": 1})
@example({"a/b": 1}, {"a": {"b": 1}})
@settings(deadline=None)
@given(_CONFIGS, _CONFIGS)
def test_two_configs_flatten_alike_only_where_they_are_equal(one: dict, other: dict) -> None:
    assert (flatten(one) == flatten(other)) == (one == other)
