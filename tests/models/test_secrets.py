from __future__ import annotations

import pytest

from specpreflight.models.secrets import redact, redact_words, scrub, secret_texts


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
        ("AWS_ACCESS_KEY_ID", "AKIA", "<redacted>"),
        ("DB_PASSWD", "x", "<redacted>"),
        ("speculative-token-map", "map.pt", "map.pt"),
        ("api-key", ["a", "b"], ["<redacted>", "<redacted>"]),
    ],
)
def test_value(name: str, value: object, shown: object) -> None:
    assert redact(name, value) == shown


def test_words() -> None:
    words = ["--api-key", "sk-1", "--api-key=sk-2", "--tp", "8", "--admin-api-key", "--port", "1"]
    assert redact_words(words) == [
        "--api-key", "<redacted>", "--api-key=<redacted>", "--tp", "8", "--admin-api-key",
        "--port", "1",
    ]  # fmt: skip


def test_all_values_of_a_secret_flag() -> None:
    assert redact_words(["--api-key", "a", "b", "--tp", "8"]) == [
        "--api-key", "<redacted>", "<redacted>", "--tp", "8",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:pw@host/x", "https://<redacted>@host/x"),
        ("https://hf_abcdef@huggingface.co/a/b", "https://<redacted>@huggingface.co/a/b"),
        ("ssh://me@host/models", "ssh://me@host/models"),
        ("s3://key:pw@bucket/x", "s3://<redacted>@bucket/x"),
        ("/x?a=1&X-Amz-Signature=abc&b=2", "/x?a=1&X-Amz-Signature=<redacted>&b=2"),
        ("/x?sv=1&sig=a%2Fb", "/x?sv=1&sig=<redacted>"),
        ("Authorization: Bearer abcdefgh", "Authorization: Bearer <redacted>"),
        ("hf_0123456789", "<redacted>"),
        ("sk-proj-0123456789", "<redacted>"),
        ("task-sk-learn and risk-averse-1", "task-sk-learn and risk-averse-1"),
        ("org/Llama-3.1-8B-Instruct", "org/Llama-3.1-8B-Instruct"),
        ("http://10.0.0.1:8000/v1", "http://10.0.0.1:8000/v1"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "<redacted>"),
    ],
)
def test_what_is_shaped_like_a_secret(text: str, shown: str) -> None:
    assert scrub(text) == shown
    assert scrub({"a": [text]}) == {"a": [shown]}


def test_a_secret_is_left_out_wherever_it_stands() -> None:
    secrets = secret_texts([("HF_TOKEN", "planted-one"), ("API_KEY", ["word", "1234"])])
    assert secrets == ("planted-one", "word")
    data = {"x": "at planted-one", "planted-one": ["a word", "words"], "n": 5}
    assert scrub(data, secrets) == {
        "x": "at <redacted>", "<redacted>": ["a <redacted>", "words"], "n": 5,
    }  # fmt: skip


def test_the_password_of_a_url_is_a_secret_too() -> None:
    assert secret_texts([("ENDPOINT", "https://me:planted-one@host/")]) == ("planted-one",)
    assert secret_texts([("ENDPOINT", "https://host/?token=planted-one&a=1")]) == ("planted-one",)
