"""Small checkpoints and launches for tests; every number can be set by the test that needs it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from specpreflight.api import build_launch, check
from specpreflight.models.finding import Finding, Origin
from specpreflight.models.launch import EngineVersion, Launch, Variable
from specpreflight.models.report import Report
from specpreflight.models.resolved import Resolved
from specpreflight.sources.checkpoint import read_checkpoint
from specpreflight.sources.hardware import read_hardware

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
}

#: A target with latent attention (MLA) and an MTP layer.
DEEPSEEK: dict[str, Any] = {
    **{key: value for key, value in LLAMA.items() if key != "head_dim"},
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "num_key_value_heads": 32,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_nextn_predict_layers": 1,
}

LLAMA_EAGLE3: dict[str, Any] = {
    **LLAMA,
    "architectures": ["LlamaForCausalLMEagle3"],
    "num_hidden_layers": 1,
    "draft_vocab_size": 32000,
}

LLAMA_EAGLE: dict[str, Any] = {
    **LLAMA,
    "architectures": ["LlamaForCausalLMEagle"],
    "num_hidden_layers": 1,
}

EAGLE3_FLAGS = (
    "--speculative-algorithm",
    "EAGLE3",
    "--speculative-num-steps",
    "3",
    "--speculative-eagle-topk",
    "1",
    "--speculative-num-draft-tokens",
    "4",
)


def change(config: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the config with keys changed; `...` removes a key."""
    merged = {**config, **changes}
    return {key: value for key, value in merged.items() if value is not ...}


def write_checkpoint(directory: Path, config: dict[str, Any]) -> Path:
    """Write a directory with a config.json and return it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    return directory


def make_launch(
    directory: Path,
    target: dict[str, Any] | None = None,
    draft: dict[str, Any] | None = None,
    *words: str,
    engine: str = "sglang@0.5.11",
    environment: dict[str, str] | None = None,
) -> Launch:
    """Write the checkpoints and build a launch; flags are EAGLE-3 with three steps if not given."""
    target_path = write_checkpoint(directory / "target", LLAMA if target is None else target)
    draft_path = write_checkpoint(directory / "draft", LLAMA_EAGLE3 if draft is None else draft)
    variables = {
        name: Variable(name, value, Origin("flag", name="--env"))
        for name, value in (environment or {}).items()
    }
    return build_launch(
        str(target_path),
        str(draft_path),
        engine=engine,
        words=words or EAGLE3_FLAGS,
        environment=variables,
    )


def bare_launch(
    directory: Path,
    target: dict[str, Any] | None = None,
    draft: dict[str, Any] | None = None,
    flags: dict[str, Any] | None = None,
) -> Launch:
    """Return a launch that no engine has looked at, for rules that read configs alone."""
    return Launch(
        engine=EngineVersion("sglang", "0.5.11", "--engine"),
        target=read_checkpoint(
            "target", str(write_checkpoint(directory / "target", target or LLAMA))
        ),
        draft=read_checkpoint(
            "draft", str(write_checkpoint(directory / "draft", draft or LLAMA_EAGLE3))
        ),
        flags=flags or {},
        target_path=str(directory / "target"),
        draft_path=str(directory / "draft"),
    )


def resolved_with(**facts: Any) -> Resolved:
    """Return a resolved launch that knows only these facts."""
    return Resolved({}, (), facts=facts)


def found(report: Report, rule: str) -> list[Finding]:
    """Return the findings of one rule."""
    return [finding for finding in report.findings if finding.rule == rule]


def outcomes(
    directory: Path,
    rule: str,
    version: str,
    *words: str,
    target: dict[str, Any] | None = None,
    draft: dict[str, Any] | None = None,
    hardware: str | None = None,
    environment: dict[str, str] | None = None,
) -> list[str]:
    """Return the outcomes of a rule's findings on a launch with these flags, by SGLang `version`.

    The draft is an EAGLE-3 head for the target; `words` are all flags but the two paths.
    """
    launch = make_launch(
        directory, target, draft, *words, engine=f"sglang@{version}", environment=environment
    )
    if hardware is not None:
        launch = replace(launch, hardware=read_hardware(hardware))
    return [finding.outcome.value for finding in found(check(launch), rule)]
