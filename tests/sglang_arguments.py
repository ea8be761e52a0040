"""SGLang's argument handling on targets and drafts that are plain dictionaries."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from specpreflight.engines.sglang.arguments import parse
from specpreflight.engines.sglang.command_line import flag_origins
from specpreflight.engines.sglang.knowledge import load
from specpreflight.engines.sglang.model_facts import ConfigObject, ModelFacts
from specpreflight.engines.sglang.server_args.machine import TYPICAL, Machine
from specpreflight.engines.sglang.server_args.resolution import resolve_server_args
from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.models.finding import STOPPING, Outcome, Stage
from specpreflight.models.resolved import Event

HOPPER, SM100, SM120, AMPERE = TYPICAL

#: What a `ModelConfig` needs to be an ordinary dense model.
LLAMA: Mapping[str, Any] = {"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 32}
DEEPSEEK: Mapping[str, Any] = {"architectures": ["DeepseekV3ForCausalLM"], "kv_lora_rank": 512}
QWEN_NEXT: Mapping[str, Any] = {"architectures": ["Qwen3NextForCausalLM"]}


class PlainCheckpoints:
    """Answers what the engine reads of two checkpoints from dictionaries.

    `None` is a checkpoint that is not at hand, an `Event` one that stops the launch.
    """

    def __init__(
        self, target: Mapping[str, Any] | Event | None, draft: Mapping[str, Any] | Event | None
    ) -> None:
        self.target, self.draft = target, draft

    def target_model(self, args: ServerArgs) -> ModelFacts | Event | None:
        """Return a model with latent attention where the config has a latent rank."""
        if not isinstance(self.target, Mapping):
            return self.target
        config = ConfigObject(None, dict(self.target))
        quantization = self.target.get("quantization_config", {}).get("quant_method")
        return ModelFacts(
            "target",
            "target",
            config,
            config,
            architectures=tuple(self.target.get("architectures", ())),
            attention="MLA" if "kv_lora_rank" in self.target else "MHA",
            quantization=args.quantization or quantization,
            is_multimodal=False,
        )

    def target_config(self, args: ServerArgs) -> ConfigObject | Event | None:
        """Return the target's config as it is."""
        known = isinstance(self.target, Mapping)
        return ConfigObject(None, dict(self.target)) if known else self.target  # type: ignore

    def draft_config(self, args: ServerArgs, revision: str | None) -> ConfigObject | Event | None:
        """Return the draft's config, or the target's where the draft path is the target's."""
        asked = self.draft
        if args.speculative_draft_model_path == args.model_path:
            asked = self.target
        return ConfigObject(None, dict(asked)) if isinstance(asked, Mapping) else asked


def arguments(
    release: str,
    flags: str | Sequence[str],
    *,
    target: Mapping[str, Any] | Event | None = LLAMA,
    draft: Mapping[str, Any] | Event | None = None,
    machine: Machine = HOPPER,
    environment: Mapping[str, str] | None = None,
) -> ServerArgs:
    """Resolve the arguments of a launch; a draft that is given has the path `draft`."""
    words = shlex.split(flags) if isinstance(flags, str) else list(flags)
    words = ["--model-path", "target", *words]
    if draft is not None and not any("draft-model-path" in word for word in words):
        words += ["--speculative-draft-model-path", "draft"]
    knowledge = load(release)
    parsed = parse(words, knowledge)
    assert not parsed.problems, parsed.problems
    args = ServerArgs(
        parsed.values,
        flag_origins(parsed),
        release=knowledge,
        machine=machine,
        environment=environment or {},
        checkpoints=PlainCheckpoints(target, draft),
    )
    resolve_server_args(args)
    return args


def first_stop(args: ServerArgs) -> Event | None:
    """Return the event that ends the launch, `None` where it goes on."""
    return next((event for event in args.events if event.outcome in STOPPING), None)


def stops(args: ServerArgs) -> list[str]:
    """Return the topics of everything that would end the launch."""
    return [event.topic for event in args.events if event.outcome in STOPPING]


def unreadable(stage: Stage = Stage.TARGET_CONFIG) -> Event:
    """Return the event of a config that the engine cannot read."""
    return Event(
        "config.unreadable",
        Outcome.REFUSES,
        stage,
        "config.json is no valid JSON",
        engine_message="It looks like the config file is not a valid JSON file.",
        exception="OSError",
    )
