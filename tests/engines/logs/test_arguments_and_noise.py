"""Argument parsers, what only looks like an error, and secrets."""

from __future__ import annotations

from typing import Any

import pytest

from specpreflight.engines.logs.causes import CAUSES
from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.rules.registry import find_rule
from specpreflight.sources.log_reader import unwrap


@pytest.mark.parametrize(
    ("error", "cause", "values"),
    [
        (
            "unrecognized arguments: --speculative-num-step 3",
            "L-ARG-UNREC",
            {"arguments": "--speculative-num-step 3"},
        ),
        (
            "argument --dtype: invalid choice: 'fp8' (choose from 'auto', 'half')",
            "L-ARG-CHOICE",
            {"flag": "--dtype", "value": "fp8", "choices": ["auto", "half"]},
        ),
        (
            "argument --dtype: invalid choice: 'fp8' (choose from auto, half)",
            "L-ARG-CHOICE",
            {"flag": "--dtype", "value": "fp8", "choices": ["auto", "half"]},
        ),
        (
            "argument --tp-size: invalid int value: 'eight'",
            "L-ARG-TYPE",
            {"flag": "--tp-size", "value": "eight"},
        ),
        ("argument --tp-size: expected one argument", "L-ARG-TYPE", {"flag": "--tp-size"}),
        ("ambiguous option: --spec could match --speculative-a, --speculative-b", "L-ARG-TYPE", {}),
        (
            "argument --speculative-config/-sc: Value {x cannot be converted to <function loads>.",
            "L-ARG-VLJSON",
            {"flag": "--speculative-config/-sc", "value": "{x"},
        ),
    ],
)
@pytest.mark.parametrize("program", ["launch_server.py", "sglang serve", "api_server.py"])
def test_the_argument_parser(error: str, cause: str, values: dict[str, Any], program: str) -> None:
    log = f"usage: {program} [-h]\n{program}: error: {error}\n"
    found = diagnose([log.encode()], unwrap)
    assert (found.cause, found.stage, found.healthy) == (cause, "ARG", False)
    assert values.items() <= found.values.items()


@pytest.mark.parametrize(
    "line",
    [
        "Ignore import error when loading sglang.srt.models.x: No module named 'y'",
        "Using default MoE kernel config. Config file not found at /x.json",
        'INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 503 Service Unavailable',
        "KV cache pool is full. Retract requests. #retracted_reqs: 1",
        "Watchdog scheduler initialized.",
    ],
)
def test_what_looks_like_an_error_and_is_none(line: str) -> None:
    log = f"[2026-01-01 10:00:00] {line}\n[2026-01-01 10:00:01] The server is fired up and ready"
    found = diagnose([log.encode()], unwrap)
    assert (found.cause, found.healthy) == (None, True)


def test_every_rule_that_is_named_exists() -> None:
    for cause in CAUSES:
        if cause.rule:
            assert find_rule(cause.rule).name == cause.rule


STARTED = (
    "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='m', tokenizer_path='m')\n"
    "[2026-01-01 10:00:03 TP0] Init torch distributed begin.\n"
)
READY = "[2026-01-01 10:01:00] The server is fired up and ready to roll!\n"
SERVED = READY + 20 * (
    "[2026-01-01 10:02:00 TP0] Decode batch, #running-req: 3, accept len: 2.00, accept rate: 0.33\n"
)
REFUSED_REQUEST = (
    "[2026-01-01 10:03:00] ERROR:    Exception in ASGI application\n"
    'Traceback (most recent call last):\n  File "/x/a.py", line 1, in f\n    r\nValueError: bad\n'
)


def test_a_request_that_was_refused_is_no_death() -> None:
    found = diagnose([(STARTED + SERVED + REFUSED_REQUEST).encode()], unwrap)
    assert (found.cause, found.stage, found.healthy) == (None, "READY", True)


def test_secrets_in_an_error_are_not_repeated() -> None:
    log = "launch_server.py: error: unrecognized arguments: --api-keys sk-planted --hf-token=sk-b\n"
    found = diagnose([log.encode()], unwrap)
    assert "sk-" not in str(found.as_data())
    assert found.cause == "L-ARG-UNREC"


def test_a_draft_that_is_never_accepted() -> None:
    log = (
        STARTED.replace("model_path='m'", "model_path='m', speculative_algorithm='EAGLE'")
        + "[2026-01-01 10:00:20 TP0] Load weight begin.\n"
        + "[2026-01-01 10:00:30 TP0] Load weight end. type=Qwen3ForCausalLM, dtype=x\n"
        + "[2026-01-01 10:00:31 TP0] Load weight begin.\n"
        + "[2026-01-01 10:00:32 TP0] Load weight end. type=LlamaForCausalLMEagle3, dtype=x\n"
        + SERVED.replace("accept len: 2.00", "accept len: 1.00")
    )
    found = diagnose([log.encode()], unwrap)
    assert (found.healthy, found.cause, found.silent_fault) == (True, None, "no-acceptance")
    assert found.rule == "algorithm-draft-mismatch"
