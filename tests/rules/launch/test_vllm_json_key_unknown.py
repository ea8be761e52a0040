"""Unknown keys in the JSON of vLLM's flags, held to what the parsers of the releases did."""

from __future__ import annotations

from pathlib import Path

import pytest
from vllm_launches import findings, outcomes

from specpreflight.models.finding import Stage

RULE = "vllm-json-key-unknown"
REFUSED, DROPPED, TAKEN = ["refuses"], ["degrades"], list[str]()
KV = '{"kv_connector": "NixlConnector", "kv_role": "kv_both", %s}'
#: Release → flag, JSON → what the release's own parser made of it.
RECORDED = {
    "0.11.2": [
        ("--compilation-config", '{"cudagraph_modes": "NONE"}', DROPPED),
        ("--compilation-config", '{"pass_config": {"fuse_everything": true}}', DROPPED),
        ("--structured-outputs-config", '{"backends": "auto"}', DROPPED),
        ("--kv-transfer-config", KV % '"kv_rol": 1', DROPPED),
    ],
    "0.13.0": [
        ("--compilation-config", '{"cudagraph_modes": "NONE"}', REFUSED),
        ("--compilation-config", '{"cudagraph_capture_sizes": [1, 2]}', TAKEN),
        ("--compilation-config", '{"pass_config": {"fuse_everything": true}}', REFUSED),
        ("--compilation-config", '{"local_cache_dir": "/x"}', REFUSED),
        ("--structured-outputs-config", '{"backends": "auto"}', DROPPED),
        ("--attention-config", '{"bakend": "FLASH_ATTN"}', DROPPED),
    ],
    "0.15.1": [
        ("--compilation-config", '{"cudagraph_modes": "NONE"}', REFUSED),
        ("--eplb-config", '{"window": 3}', DROPPED),
        ("--kv-transfer-config", KV % '"kv_rol": 1', DROPPED),
        ("--profiler-config", '{"dir": "x"}', DROPPED),
    ],
    "0.16.0": [
        ("--eplb-config", '{"window": 3}', REFUSED),
        ("--kv-transfer-config", KV % '"kv_rol": 1', REFUSED),
        ("--kv-transfer-config", KV % '"kv_connector_extra_config": {"z": 1}', TAKEN),
        ("--profiler-config", '{"dir": "x"}', REFUSED),
        ("--attention-config", '{"bakend": "FLASH_ATTN"}', REFUSED),
    ],
    "0.33.0": [
        ("--compilation-config", '{"cudagraph_capture_sizes": [1, 2]}', TAKEN),
        ("--compilation-config", '{"local_cache_dir": "/x"}', REFUSED),
        ("--structured-outputs-config", '{"backends": "auto"}', REFUSED),
        ("--hf-overrides", '{"unknown_key": 1}', TAKEN),
        ("--limit-mm-per-prompt", '{"imag": 1}', TAKEN),
        ("--mm-processor-kwargs", '{"z": 1}', TAKEN),
        ("--additional-config", '{"z": 1}', TAKEN),
    ],
}


@pytest.mark.parametrize(
    ("release", "flag", "text", "expected"),
    [(release, *case) for release, cases in RECORDED.items() for case in cases],
)
def test_as_recorded(
    tmp_path: Path, release: str, flag: str, text: str, expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, release, flag, text) == expected


def test_a_near_key_is_named_with_its_place(tmp_path: Path) -> None:
    words = ("--compilation-config.cudagraph_modes", "NONE")
    [finding] = findings(tmp_path, RULE, "0.33.0", *words)
    assert finding.message == (
        "`--compilation-config` has no key `cudagraph_modes`; is `cudagraph_mode` meant?"
    )
    assert finding.values[0].origin.pointer == "/cudagraph_modes"
    assert "argument --compilation-config/-cc: 1 validation error for CompilationConfig" in str(
        finding.engine_message
    )


def test_the_place_inside_an_object(tmp_path: Path) -> None:
    words = ("-cc", '{"pass_config": {"fuse_norm_quants": true}}')
    [finding] = findings(tmp_path, RULE, "0.33.0", *words)
    assert finding.values[0].origin.pointer == "/pass_config/fuse_norm_quants"
    assert "pass_config.fuse_norm_quants\n" in str(finding.engine_message)


def test_a_number_is_no_object(tmp_path: Path) -> None:
    assert outcomes(tmp_path, RULE, "0.10.2", "--compilation-config", "3") == []


@pytest.mark.parametrize(
    ("release", "key", "expected"),
    [
        ("0.10.0", "temperature", TAKEN),
        ("0.10.0", "max_tokens", DROPPED),
        ("0.10.0", "do_sample", DROPPED),
        ("0.30.0", "presence_penalty", DROPPED),
        ("0.31.0", "presence_penalty", TAKEN),
    ],
)
def test_sampling_parameters_that_nothing_reads(
    tmp_path: Path, release: str, key: str, expected: list[str]
) -> None:
    words = ("--override-generation-config", f'{{"{key}": 1}}')
    assert outcomes(tmp_path, RULE, release, *words) == expected


@pytest.mark.parametrize(
    ("release", "words", "key", "said"),
    [
        ("0.10.1", (), "num_threads", "Model loader extra config is not supported"),
        ("0.10.2", (), "num_threads", None),
        ("0.10.2", (), "threads", "Unexpected extra config keys for load format auto"),
        ("0.20.2", (), "enable_weights_track", "Unexpected extra config keys"),
        ("0.21.0", (), "enable_weights_track", None),
        ("0.21.0", ("--load-format", "safetensors"), "threads", "load format safetensors"),
        ("0.21.0", ("--load-format", "runai_streamer"), "threads", None),
    ],
)
def test_keys_that_stop_the_loader(
    tmp_path: Path, release: str, words: tuple[str, ...], key: str, said: str | None
) -> None:
    given = ("--model-loader-extra-config", f'{{"{key}": 1}}', *words)
    found = findings(tmp_path, RULE, release, *given)
    assert [finding.outcome.value for finding in found] == ["crashes"] * (said is not None)
    assert all(str(said) in str(finding.engine_message) for finding in found)
    assert all(finding.stage is Stage.WEIGHTS for finding in found)
