"""Config classes in both styles of transformers, and what an engine registers itself."""

from __future__ import annotations

import pytest
from engine_trees import write_tree

from specpreflight.engines.sglang.facts import UNKNOWN, ConfigField
from specpreflight.engines.sglang.harvest.config_registry import read_engine_configs
from specpreflight.engines.sglang.harvest.transformers_configs import read_transformers

_PARAMETERS = {
    "configuration_utils.py": """
        ALLOWED_LAYER_TYPES = ("full_attention",)

        class PretrainedConfig:
            model_type: str = ""

            def __init__(self, *, tie_word_embeddings: bool = True, **kwargs):
                self.tie_word_embeddings = tie_word_embeddings
        """,
    "models/auto/configuration_auto.py": """
        CONFIG_MAPPING_NAMES = OrderedDict[str, str](
            [("llama", "LlamaConfig"), ("vit", "ViTConfig")]
        )
        """,
    "models/auto/modeling_auto.py": """
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES = OrderedDict([("llama", "LlamaForCausalLM")])
        """,
    "models/llama/configuration_llama.py": """
        from ...configuration_utils import PretrainedConfig

        class LlamaConfig(PretrainedConfig):
            model_type = "llama"
            attribute_map = {"n_ctx": "max_position_embeddings"}
            base_model_tp_plan = {"x": "colwise"}

            def __init__(
                self, vocab_size=32000, rope_scaling=None, eps: float = 1e-6, odd=f(), **kw
            ):
                self.vocab_size = vocab_size
                self.rope_theta = 1
                rope_config_validation(self)
                super().__init__(**kw)

            @property
            def frozen(self): ...
        """,
    "models/vit/configuration_vit.py": """
        class ViTConfig(PretrainedConfig):
            def __init__(self, image_size=224): ...
        """,
}
_STRICT = {
    "configuration_utils.py": """
        @strict(accept_kwargs=True)
        @dataclass(repr=False)
        class PreTrainedConfig(RotaryEmbeddingConfigMixin):
            base_config_key: ClassVar[str] = ""
            sub_configs: ClassVar[dict] = {}
            architectures: list[str] | None = None

            def __post_init__(self, **kwargs):
                self.num_labels = 2

            def validate_layer_type(self): ...
        """,
    "models/auto/configuration_auto.py": """
        from .auto_mappings import CONFIG_MAPPING_NAMES

        CONFIG_MAPPING_NAMES.update({"late": "LateConfig"})
        CONFIG_MAPPING_NAMES = OrderedDict(**{"gpt-sw3": "GPT2Config"}, **CONFIG_MAPPING_NAMES)
        """,
    "models/auto/auto_mappings.py": """
        CONFIG_MAPPING_NAMES = OrderedDict(
            [("gemma", "GemmaConfig"), ("gemma_text", "GemmaTextConfig")]
        )
        """,
    "models/auto/modeling_auto.py": """
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES = OrderedDict([("gemma", "Gemma")])
        """,
    "models/gemma/configuration_gemma.py": """
        from ...configuration_utils import PreTrainedConfig

        @auto_docstring
        @strict
        class GemmaTextConfig(PreTrainedConfig):
            model_type = "gemma_text"
            base_config_key = "text_config"
            vocab_size: int = 8
            spread: float = interval(min=0.0, max=1.0)(default=0.02)
            ids: list[int] = field(default_factory=list)
            bare: int

            def validate_architecture(self): ...

        @strict
        class GemmaVisionConfig(PreTrainedConfig):
            image_size: int = 4

        @strict
        class GemmaConfig(PreTrainedConfig):
            sub_configs = {"text_config": GemmaTextConfig, "vision_config": AutoConfig}
            text_config: dict | PreTrainedConfig | None = None
        """,
}


def test_parameters_of_a_constructor(tmp_path):
    found = read_transformers(write_tree(tmp_path, _PARAMETERS, "transformers"))
    assert found.model_types == {"llama": "LlamaConfig", "vit": "ViTConfig"}
    assert found.constants == {"ALLOWED_LAYER_TYPES": ("full_attention",)}
    assert [*found.classes] == ["LlamaConfig", "PretrainedConfig"]
    llama = found.classes["LlamaConfig"]
    assert llama.bases == ("PretrainedConfig",)
    assert llama.fields == {
        "vocab_size": ConfigField(True, 32000, None),
        "rope_scaling": ConfigField(True, None, None),
        "eps": ConfigField(True, 1e-6, None),
        "odd": ConfigField(True, UNKNOWN, None),
    }
    assert llama.attributes == {
        "model_type": "llama",
        "attribute_map": {"n_ctx": "max_position_embeddings"},
    }
    assert llama.validators == ("rope_config_validation",)
    assert llama.assigned == ("rope_theta",)
    assert llama.properties == ("frozen",)
    assert not llama.strict


def test_strict_bodies(tmp_path):
    found = read_transformers(write_tree(tmp_path, _STRICT, "transformers"))
    assert found.model_types == {
        "gemma": "GemmaConfig",
        "gemma_text": "GemmaTextConfig",
        "gpt-sw3": "GPT2Config",
        "late": "LateConfig",
    }
    assert [*found.classes] == ["GemmaConfig", "GemmaTextConfig", "PreTrainedConfig"]
    text = found.classes["GemmaTextConfig"]
    assert text.fields == {
        "vocab_size": ConfigField(True, 8, "int"),
        "spread": ConfigField(True, 0.02, "float"),
        "ids": ConfigField(True, [], "list[int]"),
        "bare": ConfigField(False, None, "int"),
    }
    assert text.constraints == {"spread": "interval(min=0.0, max=1.0)"}
    assert text.validators == ("validate_architecture",)
    assert text.attributes == {"model_type": "gemma_text", "base_config_key": "text_config"}
    base = found.classes["PreTrainedConfig"]
    assert (base.strict, base.validators, base.assigned) == (
        True,
        ("validate_layer_type",),
        ("num_labels",),
    )
    assert found.classes["GemmaConfig"].attributes["sub_configs"] == {
        "text_config": "GemmaTextConfig",
        "vision_config": "AutoConfig",
    }


_CLASSES = {
    "srt/configs/__init__.py": "from sglang.srt.configs.kimi import KimiConfig, SubKimiConfig\n",
    "srt/configs/kimi.py": """
        from transformers import DeepseekV3Config, PretrainedConfig

        class KimiConfig(PretrainedConfig):
            model_type = "kimi"
            def __init__(self, text_config=None, **kw): ...

        class SubKimiConfig(KimiConfig):
            pass
        """,
    "srt/configs/lfm.py": """
        class LfmConfig(PretrainedConfig):
            model_type = "lfm"

        CONFIG_MAPPING._extra_content["lfm"] = LfmConfig
        """,
    "srt/configs/ink.py": """
        class InkConfig(PretrainedConfig): ...
        class InkTextConfig(PretrainedConfig): ...

        for _type, _class in {"ink": InkConfig, "ink_text": InkTextConfig}.items():
            try:
                CONFIG_MAPPING.register(_type, _class)
            except Exception:
                CONFIG_MAPPING._extra_content[_type] = _class
        """,
    "srt/configs/zaya.py": """
        class ZayaConfig(PretrainedConfig):
            model_type = "zaya"

        def register():
            AutoConfig.register(ZayaConfig.model_type, ZayaConfig, exist_ok=True)
        """,
}
_LIST = """
    from sglang.srt.configs import KimiConfig

    _CONFIG_REGISTRY = [KimiConfig]
    _CONFIG_REGISTRY = {cls.model_type: cls for cls in _CONFIG_REGISTRY}
    """
_DICTIONARY = """
    from sglang.srt.configs import KimiConfig
    from transformers import Other as _Other

    _CONFIG_REGISTRY = {KimiConfig.model_type: KimiConfig}
    """
_GROWN = """
    import transformers as hf
    from sglang.srt.configs import KimiConfig
    from transformers import DeepseekV3Config as _HFConfig

    MORE = (KimiConfig,)
    _CONFIG_REGISTRY: dict = {cls.model_type: cls for cls in []}
    _CONFIG_REGISTRY.update({cls.model_type: cls for cls in MORE})

    class _KimiK2ConfigAlias(_HFConfig):
        model_type = "kimi_k2"

    _CONFIG_REGISTRY["kimi_k2"] = _KimiK2ConfigAlias
    _Mellum = getattr(hf, "MellumConfig", None)
    if _Mellum is not None:
        _CONFIG_REGISTRY["mellum"] = _Mellum
    else:
        class _MellumAlias(_HFConfig):
            model_type = "mellum"

        _CONFIG_REGISTRY["mellum"] = _MellumAlias
    """


@pytest.mark.parametrize(
    ("file", "text", "registry"),
    [
        ("srt/hf_transformers_utils.py", _LIST, {"kimi": "KimiConfig"}),
        ("srt/utils/hf_transformers_utils.py", _DICTIONARY, {"kimi": "KimiConfig"}),
        (
            "srt/utils/hf_transformers/common.py",
            _GROWN,
            {
                "kimi": "KimiConfig",
                "kimi_k2": "_KimiK2ConfigAlias",
                "mellum": ("transformers.MellumConfig", "_MellumAlias"),
            },
        ),
    ],
)
def test_an_engines_own_registry(tmp_path, file, text, registry):
    found = read_engine_configs(write_tree(tmp_path, {**_CLASSES, file: text}))
    assert found.registry == registry
    assert found.registered == {
        "ink": "InkConfig",
        "ink_text": "InkTextConfig",
        "lfm": "LfmConfig",
        "zaya": "ZayaConfig",
    }
    assert found.overriding == {"ink", "ink_text", "lfm", "zaya"}
    assert found.classes["KimiConfig"].bases == ("transformers.PretrainedConfig",)
    assert found.classes["SubKimiConfig"].bases == ("KimiConfig",)
    if file.endswith("common.py"):
        assert found.classes["_KimiK2ConfigAlias"].bases == ("transformers.DeepseekV3Config",)
