"""What the evaluated code finds around it: variables, files, torch, loggers, the hub."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from specpreflight.engines.sglang.facts import UNKNOWN, EnvironmentVariable
from specpreflight.engines.source.builtin_functions import signature
from specpreflight.engines.source.values import (
    Dtype,
    External,
    FieldSpec,
    Opaque,
    Special,
    deep_copy,
    raised,
)

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator

#: Names of `torch.dtype` objects and their second names (torch 2.6 to 2.13).
_DTYPES = {
    "float16": "float16", "half": "float16", "bfloat16": "bfloat16", "float32": "float32",
    "float": "float32", "float64": "float64", "double": "float64", "uint8": "uint8",
    "int8": "int8", "int16": "int16", "short": "int16", "int32": "int32", "int": "int32",
    "int64": "int64", "long": "int64", "bool": "bool", "complex64": "complex64",
    "cfloat": "complex64", "complex128": "complex128", "cdouble": "complex128",
    "chalf": "complex32", "complex32": "complex32", "uint16": "uint16", "uint32": "uint32",
    "uint64": "uint64", "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2",
    "float8_e4m3fnuz": "float8_e4m3fnuz", "float8_e5m2fnuz": "float8_e5m2fnuz",
    "float8_e8m0fnu": "float8_e8m0fnu", "float4_e2m1fn_x2": "float4_e2m1fn_x2",
    "quint8": "quint8", "qint8": "qint8", "qint32": "qint32",
}  # fmt: skip

#: Other attributes of torch that configuration code touches.
_TORCH_PARTS = frozenset(
    {"cuda", "version", "nn", "Tensor", "device", "distributed", "backends", "xpu", "hip", "_C"}
)


class Torch(External):
    """The module `torch`, as far as configuration code looks at it."""

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return `torch.name`; a name that torch lacks raises as it would."""
        if name in _DTYPES:
            return Dtype(_DTYPES[name])
        if name == "dtype":
            return Dtype
        if name in _TORCH_PARTS:
            return Opaque(f"torch.{name}")
        raise raised("AttributeError", f"module 'torch' has no attribute '{name}'")


class Logger(External):
    """A logger; what it is told at warning level or above is kept."""

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return a method that records its message."""
        level = name.removesuffix("_once").removesuffix("_advice")

        def record(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> None:
            if level in ("warning", "error", "critical", "exception") and args:
                text = str(args[0])
                if len(args) > 1 and not any(isinstance(a, Opaque) for a in args):
                    text = text % tuple(args[1:])
                evaluator.log.append((level, text))

        return Special(record)


class Environment(External):
    """`os.environ`."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def contains(self, evaluator: Evaluator, name: Any) -> bool:
        """Return whether a variable is set."""
        return name in self._variables

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return the methods that only read; writing is not followed."""
        return self._variables.get if name == "get" else Opaque(f"os.environ.{name}")


class Settings(External):
    """`sglang.srt.environ.envs`: the release's declared variables."""

    def __init__(
        self, declared: Mapping[str, EnvironmentVariable], variables: Mapping[str, str]
    ) -> None:
        self._declared = declared
        self._variables = variables

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return a declared variable."""
        if name in self._declared:
            return Setting(self._declared[name], self._variables)
        return super().attribute(evaluator, name)


class Setting(External):
    """One `EnvField`; texts that do not parse give the default, as the engine warns."""

    def __init__(self, declared: EnvironmentVariable, variables: Mapping[str, str]) -> None:
        self._declared = declared
        self._variables = variables

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return the methods that read it."""
        text = self._variables.get(self._declared.name)
        if name == "is_set":
            return lambda: text is not None
        if name == "get_set_value_or":
            return lambda other: other if text is None else self._read(text)
        return (lambda: self._read(text)) if name == "get" else super().attribute(evaluator, name)

    def _read(self, text: str | None) -> Any:
        value = self._declared.parse(text)
        return Opaque(self._declared.name) if value is UNKNOWN else value


class Tokens(External):
    """A name space of things that are only compared by identity (`sgl_kernel.scalar_types`)."""

    def __init__(self) -> None:
        self._tokens: dict[str, object] = {}

    def attribute(self, evaluator: Evaluator, name: str) -> object:
        """Return the one object with this name."""
        return self._tokens.setdefault(name, object())


class FilePath(External):
    """A `pathlib.Path`."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self.path = path

    def __str__(self) -> str:
        return self.path

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return the methods that look at the file, and its parts."""
        if name in ("is_file", "exists", "is_dir"):
            look = {"is_file": "is_file", "exists": "exists", "is_dir": "is_directory"}[name]
            return lambda: getattr(self._files, look)(self.path)
        if name == "parent":
            return FilePath(self._files, self.path.rpartition("/")[0])
        return (
            self.path.rpartition("/")[2] if name == "name" else super().attribute(evaluator, name)
        )


class OpenFile(External):
    """A file that the evaluated code opened; what it writes is only remembered.

    `_load_deepseek_v32_model` and its kin write a changed config to a temporary file and read it.
    """

    def __init__(self, files: Files, path: str) -> None:
        self.files = files
        self.path = path

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return its name, and methods without effect."""
        return self.path if name == "name" else lambda *_: None


class Files:
    """The files of the launch's checkpoints: what lies in them, and what is known of it."""

    def __init__(
        self,
        folders: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        contents: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._folders: dict[str, tuple[str, ...]] = {}
        self.contents: dict[str, Any] = {}
        self.replace(folders, contents)

    def replace(self, folders: Mapping[str, tuple[str, ...]], contents: Mapping[str, Any]) -> None:
        """Take the files of another launch; those that evaluated code wrote are gone.

        Args:
            folders: a model path, as the engine sees it → the names in it.
            contents: a file's path → its parsed JSON.
        """
        self._folders = {path.rstrip("/"): names for path, names in folders.items()}
        self.contents.clear()
        self.contents.update(contents)

    def exists(self, path: Any) -> Any:
        """Return `os.path.exists(path)`, unknown for paths outside the launch."""
        if not isinstance(path, str):
            return Opaque("os.path.exists()")
        path = path.rstrip("/")
        if path in self._folders or path in self.contents:
            return True
        folder, _, name = path.rpartition("/")
        if folder in self._folders:
            return name in self._folders[folder]
        return Opaque("os.path.exists()")

    def is_file(self, path: Any) -> Any:
        """Return `os.path.isfile(path)`."""
        if isinstance(path, str) and path.rstrip("/") in self._folders:
            return False
        return self.exists(path)

    def is_directory(self, path: Any) -> Any:
        """Return `os.path.isdir(path)`."""
        return isinstance(path, str) and path.rstrip("/") in self._folders

    def find(self, folder: Any, name: Any, **_: Any) -> str | None:
        """Return the path of a file in a checkpoint, `None` where it is not there."""
        path = f"{str(folder).rstrip('/')}/{name}"
        return path if self.exists(path) is True else None

    def open(self, path: Any, mode: Any = "r", **_: Any) -> Any:
        """Return the file for `json.load` and `json.dump`."""
        if isinstance(path, str) and (path in self.contents or "w" in str(mode)):
            return OpenFile(self, path)
        return Opaque("open()")

    def temporary(self, **_: Any) -> OpenFile:
        """Return a temporary file."""
        return OpenFile(self, f"/tmp/{len(self.contents)}")


def _load_json(file: Any) -> Any:
    if isinstance(file, OpenFile) and file.path in file.files.contents:
        return deep_copy(file.files.contents[file.path])
    return Opaque("json.load()")


def _dump_json(value: Any, file: Any, **_: Any) -> None:
    if isinstance(file, OpenFile):
        file.files.contents[file.path] = deep_copy(value)


def _field(**kwargs: Any) -> FieldSpec:
    metadata = kwargs.get("metadata") or {}
    validator = kwargs.get("validator", metadata.get("validator", []))
    validators = validator if isinstance(validator, list) else [validator]
    return FieldSpec(kwargs.get("default"), kwargs.get("default_factory"), validators)


def _as_validated_field(validator: Any) -> Callable[..., FieldSpec]:
    return lambda **kwargs: _field(validator=validator, **kwargs)


def _warn(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> None:
    evaluator.log.append(("warning", str(args[0])))


def parse_version(text: Any) -> Any:
    """Do what `packaging.version.Version` does; most launches never compare versions."""
    from packaging.version import Version

    return Version(text)


def _join(*parts: Any) -> Any:
    if not all(isinstance(part, str) for part in parts):
        return Opaque("os.path.join()")
    return "/".join(part.rstrip("/") for part in parts[:-1]) + "/" + parts[-1]


def surroundings(variables: Mapping[str, str], files: Files) -> dict[str, Any]:
    """Return what lies outside of the engine's own source."""
    environment = Environment(variables)
    logger = Logger()
    scalar_types = Tokens()
    return {
        "torch": Torch(),
        "logging.getLogger": Special(lambda evaluator, args, kwargs: logger),
        "transformers.utils.logging.get_logger": lambda *_: logger,
        "sglang.srt.utils.logger": logger,
        "sglang.srt.utils.common.logger": logger,
        "warnings.warn": Special(_warn),
        "os.getenv": lambda name, default=None: variables.get(name, default),
        "os.environ": environment,
        "os.environ.get": lambda name, default=None: variables.get(name, default),
        "os.path.exists": files.exists,
        "os.path.isdir": files.is_directory,
        "os.path.isfile": files.is_file,
        "os.path.join": _join,
        "os.path.abspath": lambda path: path,
        "inspect.signature": Special(signature),
        "pathlib.Path": lambda *parts: FilePath(files, "/".join(str(part) for part in parts)),
        "packaging.version.parse": parse_version,
        "packaging.version.Version": parse_version,
        "numbers.Integral": int,
        "numbers.Real": (int, float),
        "os.PathLike": type("PathLike", (), {}),
        "copy.deepcopy": deep_copy,
        "copy.copy": lambda value: value,
        "json.loads": json.loads,
        "json.load": _load_json,
        "json.dump": _dump_json,
        "os.makedirs": lambda *_, **__: None,
        "os.getpid": lambda: 1,
        "tempfile.gettempdir": lambda: "/tmp",
        "tempfile.NamedTemporaryFile": files.temporary,
        "math.sqrt": lambda value: value**0.5,
        "math.log": __import__("math").log,
        "typing.TYPE_CHECKING": False,
        "enum.auto": lambda: object(),
        "enum.Enum": object,
        "enum.IntEnum": object,
        "collections.OrderedDict": dict,
        "dataclasses.field": _field,
        "dataclasses.dataclass": Opaque("dataclass"),
        "huggingface_hub.dataclasses.validated_field": _field,
        "huggingface_hub.dataclasses.as_validated_field": _as_validated_field,
        "sgl_kernel.scalar_type.scalar_types": scalar_types,
        "sglang.srt.layers.quantization.scalar_type.scalar_types": scalar_types,
        "builtins.open": files.open,
    }
