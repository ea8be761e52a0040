"""A launch that keeps its flags in a `--config` file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from launches import LLAMA, LLAMA_EAGLE3, change, write_checkpoint


def test_flags_of_the_file_count(run: Callable[..., Any], tmp_path: Path) -> None:
    target = write_checkpoint(tmp_path / "target", LLAMA)
    draft = write_checkpoint(tmp_path / "draft", change(LLAMA_EAGLE3, max_position_embeddings=2048))
    config = tmp_path / "serve.yaml"
    config.write_text(
        f"model-path: {target}\nspeculative-draft-model-path: {draft}\n"
        "speculative-algorithm: EAGLE3\n"
    )
    ran = run(
        "check", "--no-env", "--engine", "sglang@0.5.11", "--format", "json",
        "--", "python", "-m", "sglang.launch_server", "--config", config,
    )  # fmt: skip
    assert ran.code == 1
    assert ran.data["verdict"]["stage"] == "draft-config"
    assert ran.data["inputs"]["draft"] == str(draft)
