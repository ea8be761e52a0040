"""The parts of transformers that are restated by hand: its lazy name spaces, and reading files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from specpreflight.engines.sglang.config_printing import ConfigPrinter
from specpreflight.engines.source.values import Class, External, Opaque, Special, deep_copy, raised
from specpreflight.models.checkpoint import Checkpoint

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator

_AUTO = "transformers.models.auto.configuration_auto"

#: Where a release keeps its `_CONFIG_REGISTRY` (newest first).
_REGISTRY_MODULES = (
    "sglang.srt.utils.hf_transformers.common",
    "sglang.srt.utils.hf_transformers_utils",
    "sglang.srt.hf_transformers_utils",
)

#: Where names of the top-level package live; configuration classes are found by their model type.
_TOP_LEVEL = {
    "AutoConfig": f"{_AUTO}.AutoConfig",
    "CONFIG_MAPPING": f"{_AUTO}.CONFIG_MAPPING",
    "PretrainedConfig": "transformers.configuration_utils.PretrainedConfig",
    "PreTrainedConfig": "transformers.configuration_utils.PreTrainedConfig",
    "GenerationConfig": "transformers.generation.configuration_utils.GenerationConfig",
}


class Registrations(External):
    """The configuration classes that a release brings along: its `_CONFIG_REGISTRY`.

    Harvested per release, so that a check evaluates the one class that it needs.

    Args:
        own: `_CONFIG_REGISTRY`, model type → class name.
        auto: what `AutoConfig` knows besides transformers' own once the engine is imported.
        builtin: transformers' own, `CONFIG_MAPPING_NAMES`, in any order.
        modules: the names of modules that may define such a class.
    """

    def __init__(
        self,
        own: Mapping[str, str],
        auto: Mapping[str, str],
        builtin: Mapping[str, str],
        modules: Callable[[], Iterable[str]],
    ) -> None:
        self.own = own
        self.auto = auto
        self.builtin = builtin
        self._modules = modules

    def contains(self, evaluator: Evaluator, key: Any) -> bool:
        """Return `key in _CONFIG_REGISTRY`."""
        return key in self.own

    def subscript(self, evaluator: Evaluator, key: Any) -> Any:
        """Return `_CONFIG_REGISTRY[key]`."""
        if key not in self.own:
            raise raised("KeyError", repr(key))
        return self.find(evaluator, self.own[key])

    def find(self, evaluator: Evaluator, name: str) -> Any:
        """Return the class with this name, wherever the release defines it."""
        if name.startswith("transformers."):
            return evaluator.find(name)
        for module in _REGISTRY_MODULES:
            if isinstance(found := evaluator.find(f"{module}.{name}"), Class):
                return found
        for module in self._modules():
            known = evaluator.sources.module(module)
            if known is not None and name in known.definitions:
                return evaluator.find(f"{module}.{name}")
        return Opaque(name)


class ConfigMapping(External):
    """`CONFIG_MAPPING`: model type → configuration class, loaded when asked for.

    Restates transformers `models/auto/configuration_auto.py`: `_LazyConfigMapping`, all releases.
    """

    def __init__(self, registered: Registrations | None = None) -> None:
        self.registered: dict[str, Any] = {}
        self._elsewhere = registered
        self._names: dict[str, str] | None = None

    def names(self, evaluator: Evaluator) -> Mapping[str, str]:
        """Return model type → class name, without what the engine registers, in order."""
        if self._names is None:
            found = evaluator.find(f"{_AUTO}.CONFIG_MAPPING_NAMES")
            self._names = dict(found) if isinstance(found, (dict, list)) else {}
        return self._names

    def _unordered(self, evaluator: Evaluator) -> Mapping[str, str]:
        """Return the same where the order is of no account; long to evaluate, so harvested."""
        return self.names(evaluator) if self._elsewhere is None else self._elsewhere.builtin

    def subscript(self, evaluator: Evaluator, key: Any) -> Any:
        """Return `CONFIG_MAPPING[key]`."""
        if key in self.registered:
            return self.registered[key]
        if self._elsewhere is not None and key in self._elsewhere.auto:
            found = self._elsewhere.find(evaluator, self._elsewhere.auto[key])
            if isinstance(found, Class):
                return found
        names = self._unordered(evaluator)
        if key not in names:
            raise raised("KeyError", repr(key))
        module = evaluator.call(evaluator.find(f"{_AUTO}.model_type_to_module_name"), [key], {})
        found = evaluator.find(f"transformers.models.{module}.configuration_{module}.{names[key]}")
        return found if isinstance(found, Class) else self.by_class_name(evaluator, names[key])

    def by_class_name(self, evaluator: Evaluator, name: str) -> Any:
        """Return `transformers.<name>` for a configuration class."""
        for key in self._model_types(evaluator, name):
            module = evaluator.call(evaluator.find(f"{_AUTO}.model_type_to_module_name"), [key], {})
            found = evaluator.find(f"transformers.models.{module}.configuration_{module}.{name}")
            if isinstance(found, Class):
                return found
        return Opaque(f"transformers.{name}")

    def _model_types(self, evaluator: Evaluator, class_name: str) -> list[str]:
        """Return the model types of a class, in the order of the mapping."""
        found = [key for key, name in self._unordered(evaluator).items() if name == class_name]
        if len(found) > 1:
            found = [key for key, name in self.names(evaluator).items() if name == class_name]
        return found

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return a method of the mapping."""
        if name == "register":
            return Special(self._register)
        if name == "keys":
            extra = {} if self._elsewhere is None else self._elsewhere.auto
            names = self.names(evaluator)
            return lambda: [*names, *self.registered, *(key for key in extra if key not in names)]
        return Opaque(f"CONFIG_MAPPING.{name}")

    def contains(self, evaluator: Evaluator, key: Any) -> bool:
        """Return `key in CONFIG_MAPPING`."""
        registered = self._elsewhere is not None and key in self._elsewhere.auto
        return registered or key in self.registered or key in self._unordered(evaluator)

    def _register(self, evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> None:
        key, cls = args
        if key in self._unordered(evaluator) and not kwargs.get("exist_ok"):
            raise raised(
                "ValueError",
                f"'{key}' is already used by a Transformers config, pick another name.",
            )
        self.registered[key] = cls


class ConfigReader:
    """`PretrainedConfig._get_config_dict`: a checkpoint's `config.json` as the engine reads it.

    `checkpoints` maps the model paths of the launch to what was read there, `written` the paths
    of files that the evaluated code wrote to their content.
    """

    def __init__(
        self,
        checkpoints: Mapping[str, Checkpoint] = MappingProxyType({}),
        *,
        v5: bool,
        written: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.checkpoints = checkpoints
        self._v5 = v5
        self._written = written

    def read(self, evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Return `(config_dict, kwargs)`, or raise what a missing or broken file would."""
        path = next((argument for argument in args if isinstance(argument, str)), None)
        if path is None:
            return Opaque("a config whose path is not known")
        for name in _READER_ARGUMENTS:
            kwargs.pop(name, None)
        if path in self._written:
            return deep_copy(self._written[path]), kwargs
        checkpoint = self.checkpoints.get(path.rstrip("/"))
        if checkpoint is None:  # nobody has looked there: a scan's launch file names another place
            return Opaque(f"the config at {path}")
        if checkpoint.problem is not None:
            raise self._unreadable(checkpoint, path)
        config = deep_copy(checkpoint.config.root)
        if not self._v5:
            config["_commit_hash"] = None
        return config, kwargs

    def _unreadable(self, checkpoint: Checkpoint, path: str) -> Exception:
        assert checkpoint.problem is not None
        if checkpoint.problem.kind == "invalid":
            return raised(
                "OSError",
                f"It looks like the config file at '{path.rstrip('/')}/config.json' is not a valid "
                "JSON file.",
            )
        if checkpoint.directory is not None:
            return raised(
                "OSError",
                f"{path} does not appear to have a file named config.json. Checkout "
                f"'https://huggingface.co/{path}/tree/main' for available files.",
            )
        return self._not_found(path)

    def _not_found(self, path: str) -> Exception:
        if path.count("/") > 1 or path.startswith((".", "/")):
            if self._v5:
                return raised(
                    "OSError",
                    "Repo id must be in the form 'repo_name' or 'namespace/repo_name': "
                    f"'{path}'. Use `repo_type` argument if needed.",
                )
            return raised(
                "OSError",
                f"Can't load the configuration of '{path}'. If you were trying to load it from "
                "'https://huggingface.co/models', make sure you don't have a local directory with "
                f"the same name. Otherwise, make sure '{path}' is the correct path to a directory "
                "containing a config.json file",
            )
        return raised(
            "OSError",
            "We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find "
            "them in the cached files.\nCheck your internet connection or see how to run the "
            "library in offline mode at "
            "'https://huggingface.co/docs/transformers/installation#offline-mode'.",
        )


#: Arguments that `_get_config_dict` takes out of its keyword arguments.
_READER_ARGUMENTS = (
    "cache_dir", "force_download", "resume_download", "proxies", "token", "local_files_only",
    "revision", "trust_remote_code", "subfolder", "_from_pipeline", "_from_auto", "_commit_hash",
)  # fmt: skip


def registry_names(registrations: Registrations) -> dict[str, Any]:
    """Return the names under which the evaluated code finds the release's registry."""
    return {f"{module}._CONFIG_REGISTRY": registrations for module in _REGISTRY_MODULES}


def registry_aliases() -> tuple[str, ...]:
    """Return the names of `AutoConfig` beside a registry, whose statements would fill it."""
    return tuple(f"{module}.AutoConfig" for module in _REGISTRY_MODULES)


def transformers_names(
    mapping: ConfigMapping, reader: ConfigReader, printer: ConfigPrinter | None = None
) -> dict[str, Any]:
    """Return what transformers contributes to the surroundings of the evaluated code."""
    read = Special(reader.read)
    printers = (
        {}
        if printer is None
        else {
            "transformers.configuration_utils.PretrainedConfig.__repr__": printer,
            "transformers.configuration_utils.PreTrainedConfig.__repr__": printer,
        }
    )
    return {
        **printers,
        f"{_AUTO}.CONFIG_MAPPING": mapping,
        "transformers.models.auto.CONFIG_MAPPING": mapping,
        "transformers.configuration_utils.PretrainedConfig._get_config_dict": read,
        "transformers.configuration_utils.PreTrainedConfig._get_config_dict": read,
        "transformers.configuration_utils.resolve_revision": lambda *_, **__: None,
        "transformers.configuration_utils.is_torch_available": lambda: True,
        "transformers.configuration_utils.is_timm_config_dict": lambda _: False,
    }


class ModelOfTransformers(External):
    """A model class of transformers, of which only one answer is known."""

    def __init__(self, is_compatible: bool) -> None:
        self._is_compatible = is_compatible

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return `is_backend_compatible`."""
        if name == "is_backend_compatible":
            return lambda: self._is_compatible
        return super().attribute(evaluator, name)


def top_level_name(
    evaluator: Evaluator,
    mapping: ConfigMapping,
    name: str,
    models: Callable[[], Mapping[str, bool]] = dict,
) -> Any:
    """Return `transformers.<name>`; `models` gives the model classes that it exports."""
    if name in _TOP_LEVEL:
        found = evaluator.find(_TOP_LEVEL[name])
        if isinstance(found, Opaque) and name in ("PretrainedConfig", "PreTrainedConfig"):
            other = "PreTrainedConfig" if name == "PretrainedConfig" else "PretrainedConfig"
            return evaluator.find(_TOP_LEVEL[other])
        return found
    if name.endswith("Config"):
        return mapping.by_class_name(evaluator, name)
    known = models()
    if name in known:
        return ModelOfTransformers(known[name])
    return Opaque(f"transformers.{name}")
