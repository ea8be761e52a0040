"""Draft path list, architecture rewrites and automatic parameters, in the shapes they have had."""

from __future__ import annotations

from engine_trees import write_tree

from specpreflight.engines.sglang.harvest.drafts import (
    read_automatic_parameters,
    read_draft_path_targets,
    read_draft_rewrites,
)

#: As in 0.4.6.post5: one method does everything.
_EARLY = {
    "srt/server_args.py": """
        class ServerArgs:
            def __post_init__(self):
                if self.speculative_algorithm == "EAGLE":
                    model_arch = get_model_arch(self)
                    if model_arch == "DeepseekV3ForCausalLM":
                        if self.speculative_draft_model_path is None:
                            self.speculative_draft_model_path = self.model_path
                        else:
                            logger.warning(
                                "DeepSeek MTP does not require setting speculative_draft_path."
                            )

        def auto_choose_speculative_params(arch):
            if arch in ["LlamaForCausalLM"]:
                return (5, 4, 8)
            else:
                return (5, 4, 8)
        """,
    "srt/configs/model_config.py": """
        class ModelConfig:
            def __init__(self):
                if (
                    is_draft_model
                    and self.hf_config.architectures[0] == "DeepseekV3ForCausalLM"
                ):
                    self.hf_config.architectures[0] = "DeepseekV3ForCausalLMNextN"
        """,
}
#: As in 0.5.23: a hook of its own, conditions inside a rewrite, whole lists replaced.
_LATE = {
    "srt/arg_groups/speculative_hook.py": """
        EXTRA = ["Qwen4ExpForConditionalGeneration"]

        def _handle_eagle_family(server_args):
            model_arch = model_config_of(server_args).hf_config.architectures[0]
            if model_arch in ["DeepseekV32ForCausalLM", *EXTRA]:
                if cfg.speculative_draft_model_path is None:
                    declare_resolution(server_args, speculative_draft_model_path=cfg.model_path)
                else:
                    if model_arch not in ["PixtralForConditionalGeneration"]:
                        logger.warning(
                            "DeepSeek MTP does not require setting speculative_draft_model_path."
                        )

        def _auto_choose_speculative_params(server_args, model_arch):
            cfg = view(server_args)
            if cfg.speculative_algorithm == "STANDALONE":
                return (3, 1, 4)
            if model_arch in ["LlamaForCausalLM"]:
                return (5, 4, 8)
            elif model_arch in ["A", "B"]:
                return (2, 1, 3)
            else:
                return (3, 1, 4)
        """,
    "srt/server_args.py": "class ServerArgs: ...\n",
    "srt/configs/model_config.py": """
        MIMO = ["MiMoV2ForCausalLM"]

        class ModelConfig:
            def _config_draft_model(self):
                if is_draft_model and self.hf_config.architectures[0] in MIMO:
                    self.hf_config.architectures[0] = "MiMoV2MTP"
                if is_draft_model and self.hf_config.architectures[0] == "DeepseekV4ForCausalLM":
                    if bundles(self.hf_config) and self.speculative_algorithm == "DSPARK":
                        self.hf_config.architectures[0] = "DeepseekV4ForCausalLMDSpark"
                    else:
                        self.hf_config.architectures[0] = "DeepseekV4ForCausalLMNextN"
                if is_draft_model and self.hf_config.architectures[0] == "Step3p7":
                    self.hf_config = self.hf_text_config
                    self.hf_config.architectures = ["Step3p5MTP"]

            def other(self):
                if self.hf_config.architectures[0] == "Unrelated":
                    self.hf_config.architectures[0] = "X"
        """,
}


def test_early_shape(tmp_path):
    tree = write_tree(tmp_path, _EARLY)
    assert read_draft_path_targets(tree) == {"DeepseekV3ForCausalLM"}
    assert read_draft_rewrites(tree) == (
        {"DeepseekV3ForCausalLM": "DeepseekV3ForCausalLMNextN"},
        {},
    )
    assert read_automatic_parameters(tree) == {"*": (5, 4, 8), "LlamaForCausalLM": (5, 4, 8)}


def test_late_shape(tmp_path):
    tree = write_tree(tmp_path, _LATE)
    assert read_draft_path_targets(tree) == {
        "DeepseekV32ForCausalLM",
        "Qwen4ExpForConditionalGeneration",
    }
    assert read_draft_rewrites(tree) == (
        {
            "DeepseekV4ForCausalLM": "DeepseekV4ForCausalLMNextN",
            "MiMoV2ForCausalLM": "MiMoV2MTP",
            "Step3p7": "Step3p5MTP",
        },
        {
            "DeepseekV4ForCausalLM": {
                "DeepseekV4ForCausalLMDSpark": (
                    "bundles(self.hf_config) and self.speculative_algorithm == 'DSPARK'"
                )
            }
        },
    )
    assert read_automatic_parameters(tree) == {
        "*": (3, 1, 4),
        "A": (2, 1, 3),
        "B": (2, 1, 3),
        "LlamaForCausalLM": (5, 4, 8),
        "STANDALONE": (3, 1, 4),
    }


def test_an_empty_tree_says_nothing(tmp_path):
    tree = write_tree(tmp_path, {"srt/server_args.py": ""})
    assert read_draft_path_targets(tree) == frozenset()
    assert read_draft_rewrites(tree) == ({}, {})
    assert read_automatic_parameters(tree) == {}
