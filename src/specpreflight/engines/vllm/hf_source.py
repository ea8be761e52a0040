"""Evaluates the code of one vLLM release that reads a checkpoint's `config.json`.

vLLM's `transformers_utils/config.py:get_config`, its own configuration classes, the speculators
format and `SpeculativeConfig.hf_config_override` are shipped as text and evaluated together with
the transformers of the release; nothing of them is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specpreflight.engines.sglang.surroundings import Files, surroundings
from specpreflight.engines.sglang.transformers_names import (
    ConfigMapping,
    ConfigReader,
    top_level_name,
    transformers_names,
)
from specpreflight.engines.source.bundle import BundledSources, JoinedSources
from specpreflight.engines.source.evaluator import Evaluator
from specpreflight.engines.source.strict import fields, is_dataclass
from specpreflight.engines.source.values import (
    Class,
    External,
    Instance,
    Opaque,
    Special,
    deep_copy,
    raised,
)
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.models.checkpoint import Checkpoint

CONFIG = "vllm.transformers_utils.config"
_ALGOS = "vllm.transformers_utils.configs.speculators.algos"
SPECULATORS = "vllm.transformers_utils.configs.speculators.base"
_DATA = Path(__file__).parent / "data" / "source"

#: Where the definitions of transformers lie.
_TRANSFORMERS = Path(__file__).parents[1] / "sglang" / "data" / "source"

#: What vLLM tries to import → what it imports from a transformers that lacks it.
_RENAMED = {"ALLOWED_ATTENTION_LAYER_TYPES": "ALLOWED_LAYER_TYPES"}


class VllmSource(Evaluator):
    """The config-reading code of one release, for the checkpoints of one launch.

    Args:
        knowledge: of the release.
        variables: the environment of the launch.
        checkpoints: model path, as vLLM is given it → what was read there.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        variables: Mapping[str, str],
        checkpoints: Mapping[str, Checkpoint],
    ) -> None:
        version = knowledge.transformers_version
        self.mapping = ConfigMapping()
        reader = ConfigReader(checkpoints, v5=int(version.split(".")[0]) >= 5)
        folders = {path: checkpoint.files for path, checkpoint in checkpoints.items()}
        sources = JoinedSources(
            vllm=BundledSources(_DATA, {"vllm": knowledge.version}),
            transformers=BundledSources(_TRANSFORMERS, {"transformers": version}),
        )
        known = {
            **surroundings(variables, Files(folders, {})),
            **transformers_names(self.mapping, reader),
            **_names(knowledge, self.mapping, reader, folders, version),
        }
        super().__init__(sources, known, frozenset({"modelscope"}))

    def find(self, dotted: str) -> Any:
        """Return what a dotted name stands for."""
        module, _, name = dotted.rpartition(".")
        if name in _RENAMED:
            owner = self.sources.module(module)
            if owner is not None and name not in owner.definitions:
                return super().find(f"{module}.{_RENAMED[name]}")
        if dotted.startswith("transformers.") and dotted.count(".") == 1:
            if dotted in self.known:
                return self.known[dotted]
            return top_level_name(self, self.mapping, dotted.rpartition(".")[2])
        return super().find(dotted)

    def get_attribute(self, subject: Any, name: str) -> Any:
        """Return an attribute; `to_dict` of a config is not among what is shipped as text."""
        if name == "to_dict" and isinstance(subject, Instance):
            return lambda: _to_dict(self, subject)
        return super().get_attribute(subject, name)

    def lacks(self, subject: Any, name: str) -> bool:
        """Return whether an object lacks an attribute, other than the one that is made up here."""
        return name != "to_dict" and super().lacks(subject, name)

    def opaque_attribute(self, subject: Opaque, name: str) -> Any:
        """Return an attribute of transformers, which is not at hand as a whole."""
        if subject.name == "transformers":
            return self.find(f"transformers.{name}")
        return super().opaque_attribute(subject, name)


def _names(
    knowledge: Knowledge,
    mapping: ConfigMapping,
    reader: ConfigReader,
    folders: Mapping[str, tuple[str, ...]],
    version: str,
) -> dict[str, Any]:
    """Return what lies outside the evaluated code, or is filled there by decorators."""
    read = Special(reader.read)

    def exists(path: Any, name: Any = None, revision: Any = None, **given: Any) -> bool:
        wanted = given.get("config_name", name)
        return wanted in folders.get(str(path).rstrip("/"), ())

    return {
        "transformers": Opaque("transformers"),
        "transformers.__version__": version,
        "transformers.utils.CONFIG_NAME": "config.json",
        "transformers.models.auto.CONFIG_MAPPING": mapping,
        "transformers.models.auto.modeling_auto.MODEL_MAPPING_NAMES": BareModels(mapping),
        "transformers.configuration_utils.PretrainedConfig.get_config_dict": read,
        "transformers.configuration_utils.PreTrainedConfig.get_config_dict": read,
        "importlib.metadata.version": lambda name: version,
        "vllm.envs": Switches(),
        f"{CONFIG}._CONFIG_REGISTRY": ConfigRegistry(knowledge.config_classes),
        f"{CONFIG}.file_or_path_exists": exists,
        f"{CONFIG}.with_retry": Special(lambda evaluator, args, _: evaluator.call(args[0], [], {})),
        f"{CONFIG}.check_gguf_file": lambda *_, **__: False,
        f"{CONFIG}.is_gguf": lambda *_, **__: False,
        f"{CONFIG}.is_remote_gguf": lambda *_, **__: False,
        f"{CONFIG}._get_hf_token": lambda: None,
        f"{_ALGOS}.SUPPORTED_SPECULATORS_TYPES": Algorithms(knowledge),
        f"{SPECULATORS}.fields": Special(_fields),
        f"{SPECULATORS}.is_dataclass": Special(_is_dataclass),
    }


class Switches(External):
    """`vllm.envs`: no variable that it holds changes what a config reads as."""

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return a variable, unset."""
        return (lambda _: True) if name == "is_set" else False


class ConfigRegistry(External):
    """`_CONFIG_REGISTRY`: model type → one of vLLM's own configuration classes."""

    def __init__(self, classes: Mapping[str, str]) -> None:
        self._classes = classes

    def contains(self, evaluator: Evaluator, item: Any) -> bool:
        """Return whether vLLM has a class for a model type."""
        return item in self._classes

    def subscript(self, evaluator: Evaluator, key: Any) -> Any:
        """Return the class."""
        if key not in self._classes:
            raise raised("KeyError", repr(key))
        return evaluator.find(self._classes[key])


class BareModels(External):
    """`MODEL_MAPPING_NAMES`: model type → class of the model without a head.

    transformers names that class after the config's, `LlamaConfig` and `LlamaModel`.
    """

    def __init__(self, mapping: ConfigMapping) -> None:
        self._mapping = mapping

    def contains(self, evaluator: Evaluator, item: Any) -> bool:
        """Return whether transformers knows the model type."""
        return item in self._mapping.names(evaluator)

    def subscript(self, evaluator: Evaluator, key: Any) -> str:
        """Return the class's name."""
        return self._mapping.names(evaluator)[key].removesuffix("Config") + "Model"


class Algorithms(External):
    """`SUPPORTED_SPECULATORS_TYPES`, which decorators fill: type → `update_<type>`."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._names = knowledge.constant("speculators_types")

    def __str__(self) -> str:
        functions = (f"'{name}': <function update_{name}>" for name in self._names)
        return f"{{{', '.join(functions)}}}"

    def contains(self, evaluator: Evaluator, item: Any) -> bool:
        """Return whether the release knows a type of speculator."""
        return item in self._names

    def subscript(self, evaluator: Evaluator, key: Any) -> Any:
        """Return the function that fills in what the type needs."""
        return evaluator.find(f"{_ALGOS}.update_{key}")


class _FieldName(External):
    def __init__(self, name: str) -> None:
        self._name = name

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        return self._name if name == "name" else super().attribute(evaluator, name)


def _to_dict(evaluator: Evaluator, config: Instance) -> dict[str, Any]:
    """Restate `PreTrainedConfig.to_dict`: a copy of the attributes, parts as dictionaries."""
    found = {
        name: _to_dict(evaluator, value) if isinstance(value, Instance) else deep_copy(value)
        for name, value in config.attributes.items()
    }
    return {**found, "model_type": evaluator.get_attribute(config, "model_type")}


def _is_dataclass(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Restate `dataclasses.is_dataclass`: transformers' base class is one from 5.0 on."""
    return isinstance(args[0], Class) and is_dataclass(args[0])


def _fields(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Restate `dataclasses.fields` for an evaluated class."""
    if isinstance(args[0], Class):
        return [_FieldName(name) for name in fields(args[0])]
    return Opaque("dataclasses.fields()")
