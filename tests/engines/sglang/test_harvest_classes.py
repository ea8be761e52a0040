"""The model registry of a tree, and what its classes offer."""

from __future__ import annotations

from engine_trees import write_tree

from specpreflight.engines.sglang.facts import ModelClass
from specpreflight.engines.sglang.harvest.model_classes import read_model_classes

_MODELS = {
    "srt/models/llama.py": """
        from torch import nn

        class LlamaForCausalLM(nn.Module):
            def __init__(self):
                if True:
                    self.lm_head = 1

            def get_embed_and_head(self): ...
            def set_eagle3_layers_to_capture(self, ids=None): ...

        class Phi3ForCausalLM(LlamaForCausalLM):
            pass

        EntryClass = [LlamaForCausalLM, Phi3ForCausalLM]
        """,
    "srt/models/llama_eagle3.py": """
        from sglang.srt.models.llama import LlamaForCausalLM

        class LlamaForCausalLMEagle3(LlamaForCausalLM):
            def load_weights(self, weights):
                for name in weights:
                    if "d2t" in name:
                        self.hot_token_id = name

        EntryClass = LlamaForCausalLMEagle3
        """,
    "srt/models/bert.py": """
        class BertModel:
            pass

        class Helper: ...

        EntryClass = [BertModel]
        """,
    "srt/models/deepseek_nextn.py": """
        from .llama import Phi3ForCausalLM

        class DeepseekV3ForCausalLMNextN(Phi3ForCausalLM):
            def set_embed_and_head(self): ...

        EntryClass = [DeepseekV3ForCausalLMNextN]
        """,
    "srt/models/glm_ocr.py": """
        from transformers.models.glm_ocr.configuration_glm_ocr import GlmOcrConfig

        class GlmOcrForConditionalGeneration: ...

        EntryClass = GlmOcrForConditionalGeneration
        """,
    "srt/models/glm_ocr_nextn.py": """
        from sglang.srt.models.glm_ocr import GlmOcrForConditionalGeneration

        class GlmOcrForConditionalGenerationNextN(GlmOcrForConditionalGeneration): ...

        EntryClass = GlmOcrForConditionalGenerationNextN
        """,
    "srt/models/inner/model.py": "class Inner: ...\nEntryClass = Inner\n",
    "srt/models/library.py": "class NotRegistered: ...\n",
}
_LLAMA = frozenset({"eagle3_capture", "get_embed_and_head"})


def test_classes(tmp_path):
    found = read_model_classes(write_tree(tmp_path, _MODELS))
    models = "srt/models"
    assert [*found.values()] == [
        ModelClass("BertModel", f"{models}/bert.py", "other"),
        ModelClass(
            "DeepseekV3ForCausalLMNextN",
            f"{models}/deepseek_nextn.py",
            "draft",
            "mtp",
            _LLAMA | {"set_embed_and_head"},
        ),
        ModelClass("GlmOcrForConditionalGeneration", f"{models}/glm_ocr.py"),
        ModelClass(
            "GlmOcrForConditionalGenerationNextN", f"{models}/glm_ocr_nextn.py", "draft", "mtp"
        ),
        ModelClass("LlamaForCausalLM", f"{models}/llama.py", "target", None, _LLAMA),
        ModelClass(
            "LlamaForCausalLMEagle3",
            f"{models}/llama_eagle3.py",
            "draft",
            "eagle3",
            _LLAMA | {"hot_token_id"},
        ),
        ModelClass("Phi3ForCausalLM", f"{models}/llama.py", "target", None, _LLAMA),
    ]


def test_classes_that_the_installed_transformers_cannot_carry(tmp_path):
    tree = write_tree(tmp_path, _MODELS)
    old = write_tree(tmp_path / "old", {"models/llama/modeling_llama.py": ""}, "transformers")
    wanted = "transformers.models.glm_ocr.configuration_glm_ocr.GlmOcrConfig"
    missing = {name: found.missing for name, found in read_model_classes(tree, old).items()}
    assert {name for name, missed in missing.items() if missed == wanted} == {
        "GlmOcrForConditionalGeneration",
        "GlmOcrForConditionalGenerationNextN",
    }
    new = write_tree(
        tmp_path / "new",
        {"models/glm_ocr/configuration_glm_ocr.py": "class GlmOcrConfig: ..."},
        "transformers",
    )
    assert not any(found.missing for found in read_model_classes(tree, new).values())
