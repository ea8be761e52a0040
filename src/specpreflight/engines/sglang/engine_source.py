"""Evaluates a release's own configuration code for one launch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from specpreflight.engines.sglang.config_printing import ConfigPrinter
from specpreflight.engines.sglang.facts import EnvironmentVariable
from specpreflight.engines.sglang.remote_code import remote_config_class
from specpreflight.engines.sglang.surroundings import Files, Settings, surroundings
from specpreflight.engines.sglang.transformers_names import (
    ConfigMapping,
    ConfigReader,
    Registrations,
    registry_aliases,
    registry_names,
    top_level_name,
    transformers_names,
)
from specpreflight.engines.source.evaluator import Evaluator
from specpreflight.engines.source.modules import Sources
from specpreflight.engines.source.natives import is_plain
from specpreflight.engines.source.values import (
    Class,
    External,
    Function,
    Instance,
    Method,
    Opaque,
    Special,
    deep_copy,
    raised,
)
from specpreflight.models.checkpoint import Checkpoint

#: Where SGLang mends transformers when it is imported, and the functions that change what a
#: configuration class accepts (`utils/hf_transformers_patches.py`, 0.5.10 on).
_PATCH_MODULES = (
    "sglang.srt.utils.hf_transformers_patches",
    "sglang.srt.utils.transformers_v54_compat",
)
_PATCHES = ("_patch_rope_parameters_validation", "_patch_layer_types_validation")

#: Its `__getattribute__` (transformers 5.19) looks at every attribute that is read.
_HETEROGENEITY = "transformers.integrations.heterogeneity.configuration_utils"

#: Turns the context check into a warning.
OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"

#: Packages that a plain installation of SGLang lacks.
_NOT_INSTALLED = frozenset({"vllm", "modelscope", "deep_ep", "mooncake", "aiter"})

_AUTO_CONFIG = "transformers.models.auto.configuration_auto.AutoConfig"

_UTILITIES = ("sglang.srt.utils", "sglang.srt.utils.common")
_PLATFORMS = ("is_cuda", "is_hip", "is_cpu", "is_npu", "is_xpu", "is_hpu", "is_musa", "is_mps")


class RegisteredClass(External):
    """A model class, of which only the name is known."""

    def __init__(self, name: str) -> None:
        self.name = name


class ModelRegistry(External):
    """The release's registry object; its methods are evaluated, its classes are names.

    Restates what `models/registry.py:import_model_classes` finds by importing every model.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._instance: Instance | None = None

    def forget(self) -> None:
        """Make the object anew when it is next asked for."""
        self._instance = None

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return a method of the registry."""
        if self._instance is None:
            cls = evaluator.find("sglang.srt.models.registry._ModelRegistry")
            if not isinstance(cls, Class):
                return Opaque(f"ModelRegistry.{name}")
            models = {name: RegisteredClass(name) for name in sorted(self._names)}
            self._instance = Instance(cls, {"models": models})
        return evaluator.get_attribute(self._instance, name)


class EngineSource(Evaluator):
    """The configuration code of one SGLang release with the transformers that it pins.

    Args:
        sources: the modules of both.
        transformers: the version of transformers.
        variables: the environment of the launch.
        model_classes: the names in the release's model registry.
        transformers_models: gives the model classes that transformers exports, and whether they
            say that another engine may use them; nothing where that is not known.
        settings: the variables that the release declares (`environ.py`).
        registrations: the release's registry of configuration classes; evaluated where not given.
        platform: `cuda`, `hip`, … as in `sglang.srt.utils.is_cuda`.
        capability: CUDA's, where it is known.

    Attributes:
        asked_capability: whether the code evaluated so far has looked at the capability.
        answers: model path → the contents of a checkpoint there, and what the code made of them.
    """

    unshipped = frozenset({"to_dict", "to_diff_dict", "to_json_string", "update"})

    def __init__(
        self,
        sources: Sources,
        transformers: str,
        variables: Mapping[str, str],
        model_classes: Collection[str],
        transformers_models: Callable[[], Mapping[str, bool]] = dict,
        *,
        settings: Mapping[str, EnvironmentVariable] | None = None,
        registrations: Registrations | None = None,
        platform: str = "cuda",
        capability: tuple[int, int] | None = None,
    ) -> None:
        self.answers: dict[str, tuple[Any, dict[str, Any]]] = {}
        self.altered = False
        self.asked_capability = False
        self._configs: dict[str, tuple[Any, list[tuple[str, str]]]] = {}
        self.mapping = ConfigMapping(registrations)
        self.variables = dict(variables)
        self.transformers_major = int(transformers.split(".")[0])
        self._transformers_models = transformers_models
        v5 = self.transformers_major >= 5
        self._folders: Mapping[str, tuple[str, ...]] = {}
        self._files = files = Files()
        self._registry = ModelRegistry(model_classes)
        self._reader = ConfigReader(v5=v5, written=files.contents)
        known = {
            **surroundings(self.variables, files),
            **transformers_names(self.mapping, self._reader, ConfigPrinter(transformers)),
            **_engine_names(platform),
            **self._capability_names(capability),
            "sglang.srt.models.registry.ModelRegistry": self._registry,
            "transformers.dynamic_module_utils.get_class_from_dynamic_module": Special(
                self._remote_class
            ),
            "transformers": Opaque("transformers"),
            f"{_AUTO_CONFIG}.from_pretrained": Special(self._read_config),
            "transformers.utils.cached_file": files.find,
            "transformers.__version__": transformers,
        }
        if settings is not None:
            known["sglang.srt.environ.envs"] = Settings(settings, self.variables)
        if registrations is not None:
            known |= registry_names(registrations)
        super().__init__(sources, known, _NOT_INSTALLED)
        if registrations is not None:
            found = self.find("transformers.AutoConfig")
            known |= dict.fromkeys(registry_aliases(), found)
        if v5:
            self._patch_transformers()
        self._extents: Mapping[int, int] = {}
        self.altered = False

    def begin(self, checkpoints: Mapping[str, Checkpoint], contents: Mapping[str, Any]) -> None:
        """Take the checkpoints of a launch; what the code made of those before is forgotten.

        What modules define stays evaluated: that does not depend on a launch. `altered` tells
        whether the code has changed it nevertheless, so that another launch needs another source.

        Args:
            checkpoints: by the model paths of the launch, as the engine sees them.
            contents: parsed JSON of other files, by path.
        """
        self._folders = {
            path: checkpoint.files
            for path, checkpoint in checkpoints.items()
            if checkpoint.problem is None or checkpoint.directory is not None
        }
        configs = {
            f"{path.rstrip('/')}/config.json": checkpoint.config.root
            for path, checkpoint in checkpoints.items()
            if checkpoint.problem is None
        }
        self._files.replace(self._folders, {**configs, **contents})
        self._reader.checkpoints = checkpoints
        self._registry.forget()
        self._configs.clear()
        self.forget_calls()
        self.log.clear()
        self.doubts.clear()
        extents = self.extents()
        if any(extents.get(value, size) != size for value, size in self._extents.items()):
            self.altered = True
        self._extents = extents

    def set_attribute(self, subject: Any, name: str, value: Any) -> None:
        """Do `subject.name = value`; what is set in a class stays there for the next launch."""
        if isinstance(subject, Class):
            self.altered = True
        super().set_attribute(subject, name, value)

    def reads_itself(self, subject: Instance, reader: Function) -> bool:
        """Return whether a `__getattribute__` has to be asked.

        Restates `HeterogeneousConfigMixin.__getattribute__` for configurations whose layers are
        all alike, which is most of them: the attribute as it is stored.
        """
        return (
            reader.module.name != _HETEROGENEITY
            or subject.attributes.get("_heterogeneity_spec") is not None
        )

    @cached_property
    def models(self) -> Mapping[str, bool]:
        """The model classes that transformers exports."""
        return self._transformers_models()

    @contextmanager
    def allowing_longer_context(self) -> Iterator[None]:
        """Evaluate with the override of the context check switched on."""
        before = self.variables.get(OVERRIDE)
        self.variables[OVERRIDE] = "1"
        try:
            yield
        finally:
            if before is None:
                del self.variables[OVERRIDE]
            else:
                self.variables[OVERRIDE] = before

    def find(self, dotted: str) -> Any:
        """Return what a dotted name stands for."""
        if dotted == "transformers.models.auto.AutoConfig":
            dotted = "transformers.AutoConfig"
        if dotted.startswith("transformers.") and dotted.count(".") == 1:
            if dotted in self.known:
                return self.known[dotted]
            name = dotted.rpartition(".")[2]
            return top_level_name(self, self.mapping, name, lambda: self.models)
        return super().find(dotted)

    def opaque_attribute(self, subject: Opaque, name: str) -> Any:
        """Return an attribute of a module that is not at hand as a whole."""
        dotted = f"{subject.name}.{name}"
        if subject.name == "transformers" and self.models:
            found = self.find(dotted)
            if isinstance(found, Opaque):
                raise raised("AttributeError", f"module transformers has no attribute {name}")
            return found
        return (
            self.find(dotted)
            if subject.name == "transformers"
            else super().opaque_attribute(subject, name)
        )

    def _read_config(self, _: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Return what `AutoConfig.from_pretrained` gives: a new object each time, made once.

        The engine reads a config for each of its questions, at one revision or another; a launch
        has one checkpoint for a path.
        """
        cls = self.find("transformers.AutoConfig")
        read = Method(self.own_method(cls, "from_pretrained"), cls)
        given = {name: value for name, value in kwargs.items() if name != "revision"}
        if not all(is_plain(value) for value in (*args, *given.values())):
            return self.call(read, args, kwargs)
        key = repr((args, sorted(given.items())))
        if key not in self._configs:
            said = len(self.log)
            config = self.call(read, args, kwargs)
            self._configs[key] = deep_copy(config), self.log[said:]
            return config
        config, log = self._configs[key]
        self.log += log
        return deep_copy(config)

    def _remote_class(self, _: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Return a stand-in for a class that only remote code defines: it keeps every key.

        What such a class adds is unknown; that is how its missing attributes answer. A model's
        class, unlike a configuration's, is looked for in the checkpoint.

        Raises:
            Raised: the checkpoint has no file for a model's class.
        """
        reference, path = str(args[0]), str(args[1]) if len(args) > 1 else ""
        file = reference.rpartition("--")[2].partition(".")[0] + ".py"
        if not reference.endswith("Config") and file not in self._folders.get(path, (file,)):
            raise raised(
                "OSError",
                f"{path} does not appear to have a file named {file}. Checkout "
                f"'https://huggingface.co/{path}/tree/main' for available files.",
            )
        base = self.find("transformers.PretrainedConfig")
        return remote_config_class(base) if isinstance(base, Class) else Opaque("remote code")

    def _capability_names(self, capability: tuple[int, int] | None) -> dict[str, Any]:
        """Return the engine's questions about the GPU; asking one is noted."""

        def ask(*_: Any) -> Any:
            self.asked_capability = True
            return capability or (Opaque("major"), Opaque("minor"))

        def is_sm100(*_: Any) -> Any:
            return Opaque("is_sm100_supported") if capability is None else ask()[0] == 10

        return {
            f"{module}.{name}": answer
            for module in _UTILITIES
            for name, answer in (("get_device_capability", ask), ("is_sm100_supported", is_sm100))
        }

    def _patch_transformers(self) -> None:
        for module in _PATCH_MODULES:
            for name in _PATCHES:
                patch = self.find(f"{module}.{name}")
                if isinstance(patch, Function):
                    self.call(patch, [], {})


def _engine_names(platform: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for module in _UTILITIES:
        for name in _PLATFORMS:
            answer = name == f"is_{platform}"
            names[f"{module}.{name}"] = lambda answer=answer: answer
        names[f"{module}.is_remote_url"] = _is_remote_url
    for module in (
        "sglang.srt.hf_transformers_utils",
        "sglang.srt.utils.hf_transformers_utils",
        "sglang.srt.utils.hf_transformers.common",
    ):
        names[f"{module}.get_generation_config"] = lambda *_, **__: None
        names[f"{module}.check_gguf_file"] = lambda path: str(path).endswith(".gguf")
    registry = "sglang.srt.configs.model_config_parser_registry"
    names[f"{registry}.get_model_config_parser"] = Special(_config_parser)
    names["sglang.srt.utils.runai_utils.is_runai_obj_uri"] = lambda _: False
    names["sglang.srt.arg_groups.overrides.resolving_view"] = lambda arguments: arguments
    return names


def _config_parser(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Restate `configs/model_config_parser_registry.py:get_model_config_parser` (0.5.12 on)."""
    module = "sglang.srt.utils.hf_transformers.config"
    found = evaluator.find(f"{module}.{str(args[0]).capitalize()}ModelConfigParser")
    if not isinstance(found, Class):
        raise raised(
            "ValueError",
            f"Unknown model-config parser {args[0]!r}. Registered: ['hf', 'mistral']",
        )
    return evaluator.call(found, [], {})


def _is_remote_url(path: Any) -> bool:
    return isinstance(path, str) and path.split("://")[0] in ("s3", "redis", "http", "https", "gs")
