"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA, change, outcomes

RULE = "remote-code-needed"
OWN_CODE = change(
    LLAMA, model_type="own_model", auto_map={"AutoConfig": "configuration_own.OwnConfig"}
)


@pytest.mark.parametrize("version", ["0.5.2", "0.5.23"])
@pytest.mark.parametrize(
    ("words", "target", "expected"),
    [
        ((), OWN_CODE, ["refuses"]),
        (("--trust-remote-code",), OWN_CODE, []),
        ((), LLAMA, []),
    ],
)
def test_flag(
    tmp_path: Path,
    version: str,
    words: tuple[str, ...],
    target: dict[str, Any],
    expected: list[str],
) -> None:
    assert outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, *words, target=target) == expected
