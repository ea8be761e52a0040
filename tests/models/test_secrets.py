from __future__ import annotations

import pytest

from specpreflight.models.secrets import redact, redact_words


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("HF_TOKEN", "hf_abc", "<redacted>"),
        ("api-key", "sk-1", "<redacted>"),
        ("HF_TOKEN", "${HF_TOKEN}", "${HF_TOKEN}"),
        ("HF_TOKEN", "$(cat token)", "$(cat token)"),
        ("HF_TOKEN", "<your token>", "<your token>"),
        ("HF_TOKEN", "", ""),
        ("MAX_NUM_BATCHED_TOKENS", "8192", "8192"),
        ("NCCL_PROTO", "LL", "LL"),
        ("HF_TOKEN", None, None),
    ],
)
def test_value(name: str, value: str | None, shown: str | None) -> None:
    assert redact(name, value) == shown


def test_words() -> None:
    words = ["--api-key", "sk-1", "--api-key=sk-2", "--tp", "8", "--admin-api-key", "--port", "1"]
    assert redact_words(words) == [
        "--api-key", "<redacted>", "--api-key=<redacted>", "--tp", "8", "--admin-api-key",
        "--port", "1",
    ]  # fmt: skip
