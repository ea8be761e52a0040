"""Config classes of transformers and of the engine, as their source declares them.

Two styles: up to transformers 5.3 the parameters of `__init__`, from 5.6 the annotated body of a
`@strict` dataclass. What a class inherits is not merged here (`knowledge.ConfigClasses` does it),
so that a change of one base is one line of the tables.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from specpreflight.engines.sglang.facts import UNKNOWN, ConfigField
from specpreflight.engines.sglang.harvest.evaluate import Evaluator
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_BASES = frozenset({"PretrainedConfig", "PreTrainedConfig"})
#: Class attributes that only parallelise or document.
_DULL = frozenset(
    {
        "base_model_ep_plan",
        "base_model_fsdp_plan",
        "base_model_pp_plan",
        "base_model_tp_plan",
        "keys_to_ignore_at_inference",
        "pretrained_config_archive_map",
    }
)
_VALIDATIONS = ("validate", "rope_config_validation", "layer_type_validation")
#: Fields that only a config of a language model, or of one that holds one, has.
_SPEAKS = frozenset(
    {"vocab_size", "text_config", "llm_config", "language_config", "thinker_config"}
)
#: The tables of `modeling_auto.py` whose models generate text.
_GENERATING = (
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",
)


class OwnConfigClass(NamedTuple):
    """What one class declares itself; see `facts.ConfigClass` for the meaning of each part.

    `bases` are the direct ones; one that comes from transformers into an engine's class is
    written `transformers.LlamaConfig`.
    """

    bases: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = MappingProxyType({})
    fields: Mapping[str, ConfigField] = MappingProxyType({})
    strict: bool = False
    validators: tuple[str, ...] = ()
    constraints: Mapping[str, str] = MappingProxyType({})
    assigned: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()


class TransformersFacts(NamedTuple):
    """The config side of one transformers release.

    `model_types` maps a `model_type` to the name of its config class; `constants` holds the
    tables that validation compares with (`ALLOWED_LAYER_TYPES`, …).
    """

    version: str
    model_types: dict[str, str]
    classes: dict[str, OwnConfigClass]
    constants: dict[str, Any]


def read_transformers(tree: SourceTree) -> TransformersFacts:
    """Return the config classes of a `transformers` package that a language model may use."""
    reader = ConfigReader(tree)
    root = tree.at("__init__.py")
    auto = tree.at("models/auto/configuration_auto.py")
    model_types = reader.mapping(auto, "CONFIG_MAPPING_NAMES") if auto else {}
    classes: dict[str, OwnConfigClass] = {}
    base = tree.at("configuration_utils.py")
    if base is not None:
        classes.update(reader.classes_of(base))
    homes: dict[str, str] = {}
    for folder in sorted(tree.root.joinpath("models").iterdir()):
        for path in sorted(folder.glob("configuration_*.py")):
            module = tree.at(path.relative_to(tree.root).as_posix())
            if module is not None and folder.name != "auto":
                for name, found in reader.classes_of(module).items():
                    classes.setdefault(name, found)
                    homes.setdefault(name, folder.name)
    kept = _of_language(classes, homes, reader.spoken(model_types))
    constants: dict[str, Any] = {
        name: known
        for name in (
            "ALLOWED_LAYER_TYPES",
            "ALLOWED_ATTN_LAYER_TYPES",
            "ALLOWED_MLP_LAYER_TYPES",
            "_LEGACY_LAYER_TYPE_REMAP",
        )
        if base is not None
        and name in base.definitions
        and (known := reader.evaluator.evaluate(ast.Name(name), base)) is not UNKNOWN
    }
    known_version = (
        reader.evaluator.evaluate(ast.Name("__version__"), root) if root is not None else None
    )
    return TransformersFacts(str(known_version), dict(sorted(model_types.items())), kept, constants)


class EngineConfigs(NamedTuple):
    """The config side of one engine release.

    Attributes:
        registry: `_CONFIG_REGISTRY`: the engine's own class by `model_type`. The engine loads the
            config again with that class, whatever AutoConfig made of it.
        registered: what it registers with AutoConfig: the class by `model_type`; a type that
            transformers already knows keeps transformers' class.
        overriding: the `registered` types that replace transformers' own (`exist_ok=True`).
        classes: the engine's own classes. A class that comes from transformers is not among them;
            it is written `transformers.X`. A tuple of names means: the first that exists.
    """

    registry: dict[str, str | tuple[str, ...]]
    registered: dict[str, str]
    overriding: frozenset[str]
    classes: dict[str, OwnConfigClass]


def read_engine_configs(tree: SourceTree) -> EngineConfigs:
    """Return the config classes that the engine brings, and what it registers them for."""
    reader = ConfigReader(tree)
    classes: dict[str, OwnConfigClass] = {}
    registered: dict[str, str] = {}
    overriding: set[str] = set()
    for module in tree.modules_in("srt/configs"):
        classes.update(reader.classes_of(module))
        for model_type, name, replaces in reader.registrations(module):
            registered[model_type] = name
            if replaces:
                overriding.add(model_type)
    home = tree.first_at(
        "srt/utils/hf_transformers/common.py",
        "srt/utils/hf_transformers_utils.py",
        "srt/hf_transformers_utils.py",
    )
    registry: dict[str, str | tuple[str, ...]] = {}
    if home is not None:
        classes.update(reader.classes_of(home))
        registry = reader.registry(home)
        for model_type, name, replaces in reader.registrations(home):
            registered[model_type] = name
            if replaces:
                overriding.add(model_type)
    return EngineConfigs(
        dict(sorted(registry.items())),
        dict(sorted(registered.items())),
        frozenset(overriding),
        dict(sorted(classes.items())),
    )


class ConfigReader:
    """Reads config classes of one tree."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.evaluator = Evaluator(tree)

    def mapping(self, module: Module, name: str) -> dict[str, str]:
        """Return a top-level table of pairs, with the `.update(...)` calls that follow it."""
        known = self.evaluator.evaluate(ast.Name(name), module)
        if known is UNKNOWN:
            imported = self.tree.at("models/auto/auto_mappings.py")
            known = self.evaluator.evaluate(ast.Name(name), imported) if imported else {}
        found = dict(known)
        for statement in module.tree.body:
            match statement:
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id=owner), attr="update"), args=[given]
                    )
                ) if owner == name:
                    found.update(self.evaluator.evaluate(given, module))
                case ast.Assign(
                    targets=[ast.Name(id=owner)], value=ast.Call(keywords=keywords)
                ) if owner == name:
                    for keyword in keywords:
                        if keyword.arg is None and isinstance(keyword.value, ast.Dict):
                            found.update(self.evaluator.evaluate(keyword.value, module))
        return {str(key): str(value) for key, value in found.items()}

    def spoken(self, model_types: dict[str, str]) -> frozenset[str]:
        """Return the config classes of the model types that generate text."""
        module = self.tree.at("models/auto/modeling_auto.py")
        found: set[str] = set()
        for name in _GENERATING:
            if module is not None and name in module.definitions:
                found |= self.mapping(module, name).keys()
        return frozenset(model_types[known] for known in found if known in model_types)

    def classes_of(self, module: Module) -> dict[str, OwnConfigClass]:
        """Return the config classes that a module defines, by name."""
        return {
            name: self.describe(module, node)
            for name, node in module.definitions.items()
            if isinstance(node, ast.ClassDef) and (name.endswith("Config") or "Config" in name)
        }

    def describe(self, module: Module, node: ast.ClassDef) -> OwnConfigClass:
        """Return what `node` declares itself."""
        fields: dict[str, ConfigField] = {}
        attributes: dict[str, Any] = {}
        constraints: dict[str, str] = {}
        properties: set[str] = set()
        validators: list[str] = []
        assigned: set[str] = set()
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=declared, value=value):
                    if "ClassVar" in ast.unparse(declared):
                        if value is not None and name not in _DULL:
                            attributes[name] = self._constant(value, module)
                        continue
                    default, constraint = self._body_default(value, module)
                    fields[name] = ConfigField(value is not None, default, ast.unparse(declared))
                    if constraint:
                        constraints[name] = constraint
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in _DULL:
                    attributes[name] = self._constant(value, module)
                case ast.FunctionDef(name="__init__"):
                    fields.update(self._parameters(statement, module))
                    validators += _called_validations(statement)
                    assigned |= _assigned(statement)
                case ast.FunctionDef(name="__post_init__"):
                    assigned |= _assigned(statement)
                    validators += _called_validations(statement)
                case ast.FunctionDef(name=name):
                    kinds = {ast.unparse(decorator) for decorator in statement.decorator_list}
                    if "property" in kinds:
                        properties.add(name)
                    elif f"{name}.setter" in kinds:
                        properties.discard(name)
                    elif name.startswith("validate"):
                        validators.append(name)
        strict = any("strict" in ast.unparse(part) for part in node.decorator_list)
        if not strict:
            # Nobody checks the annotations of `__init__` (transformers 5.0 to 5.3, the engine's).
            fields = {name: field._replace(type=None) for name, field in fields.items()}
        return OwnConfigClass(
            bases=tuple(self._base(base, module) for base in node.bases),
            attributes=attributes,
            fields=fields,
            strict=strict,
            validators=tuple(dict.fromkeys(validators)),
            constraints=constraints,
            assigned=tuple(sorted(assigned - fields.keys())),
            properties=tuple(sorted(properties)),
        )

    def registry(self, module: Module) -> dict[str, str | tuple[str, ...]]:
        """Return `_CONFIG_REGISTRY` of a module: class name(s) by `model_type`.

        It has been a list, then a dictionary, with later entries one by one.
        """
        found: dict[str, str | tuple[str, ...]] = {}
        for node in ast.walk(module.tree):
            match node:
                case ast.Assign(targets=[ast.Name(id="_CONFIG_REGISTRY")], value=value) | (
                    ast.AnnAssign(target=ast.Name(id="_CONFIG_REGISTRY"), value=value)
                ):
                    found.update(self._registry_entries(value, module))
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="_CONFIG_REGISTRY"), attr="update"),
                    args=[value],
                ):
                    found.update(self._registry_entries(value, module))
                case ast.Assign(
                    targets=[
                        ast.Subscript(
                            value=ast.Name(id="_CONFIG_REGISTRY"),
                            slice=ast.Constant(value=str(model_type)),
                        )
                    ],
                    value=ast.Name(id=name),
                ):
                    class_ = self._class_name(name, module)
                    known = found.get(model_type)
                    found[model_type] = class_ if known is None else (str(known), class_)
        return found

    def registrations(self, module: Module) -> Iterator[tuple[str, str, bool]]:
        """Yield `(model_type, class, replaces)` for the module's `register(...)` calls."""
        for node in ast.walk(module.tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Name(id="AutoConfig" | "CONFIG_MAPPING"), attr="register"
                    ),
                    args=[given, ast.Name(id=name)],
                    keywords=keywords,
                ):
                    replaces = any(keyword.arg == "exist_ok" for keyword in keywords)
                    names = self._looped(name, module)
                    for class_ in names or (name,):
                        model_type = self.evaluator.evaluate(given, module)
                        if not isinstance(model_type, str):
                            model_type = self.model_type(class_, module)
                        if isinstance(model_type, str):
                            yield model_type, self._class_name(class_, module), replaces
                case ast.Assign(
                    targets=[
                        ast.Subscript(
                            value=ast.Attribute(attr="_extra_content"),
                            slice=ast.Constant(value=str(model_type)),
                        )
                    ],
                    value=ast.Name(id=name),
                ):
                    yield model_type, self._class_name(name, module), True

    def model_type(self, name: str, module: Module) -> str | None:
        """Return the `model_type` of a class, through its bases in this tree."""
        found = self.tree.find(module, name)
        if found is None or not isinstance(found[1], ast.ClassDef):
            return None
        known = self.evaluator.class_value(found[0], found[1].name, "model_type")
        if isinstance(known, str):
            return known
        for base in found[1].bases:
            if isinstance(base, ast.Name):
                inherited = self.model_type(base.id, found[0])
                if inherited is not None:
                    return inherited
        return None

    def _registry_entries(
        self, value: ast.expr | None, module: Module
    ) -> Iterator[tuple[str, str]]:
        match value:
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                for part in parts:
                    if isinstance(part, ast.Name):
                        model_type = self.model_type(part.id, module)
                        if model_type is not None:
                            yield model_type, self._class_name(part.id, module)
            case ast.DictComp(generators=[ast.comprehension(iter=inner)]):
                yield from self._registry_entries(inner, module)
            case ast.Name(id=name) if name != "_CONFIG_REGISTRY":
                found = self.tree.find(module, name)
                if found is not None and isinstance(found[1], ast.expr):
                    yield from self._registry_entries(found[1], found[0])
            case ast.Dict(keys=keys, values=values):
                for key, part in zip(keys, values, strict=True):
                    model_type = self.evaluator.evaluate(key, module) if key else None
                    if isinstance(key, ast.Attribute) and isinstance(key.value, ast.Name):
                        model_type = self.model_type(key.value.id, module)
                    if isinstance(part, ast.Name) and isinstance(model_type, str):
                        yield model_type, self._class_name(part.id, module)

    def _looped(self, name: str, module: Module) -> tuple[str, ...]:
        """Return the classes that a loop variable stands for."""
        for node in ast.walk(module.tree):
            match node:
                case ast.For(target=target, iter=ast.Tuple(elts=parts) | ast.List(elts=parts)):
                    if name in {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}:
                        return tuple(
                            inner.id
                            for part in parts
                            for inner in ast.walk(part)
                            if isinstance(inner, ast.Name)
                        )
        return ()

    def _class_name(self, name: str, module: Module) -> str:
        """Return a class's real name, `transformers.X` for one of transformers'."""
        definition = module.definitions.get(name)
        match definition:
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(real)), *_]):
                return f"transformers.{real}"
        found = self.tree.find(module, name)
        if found is not None and isinstance(found[1], ast.ClassDef):
            return found[1].name
        imported = module.imported(name)
        if imported is not None and imported.module.split(".")[0] == "transformers":
            return f"transformers.{imported.attribute}"
        return name

    def _parameters(self, function: ast.FunctionDef, module: Module) -> dict[str, ConfigField]:
        arguments = function.args
        positional = [*arguments.posonlyargs, *arguments.args]
        missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
        pairs = [
            *zip(positional, [*missing, *arguments.defaults], strict=True),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        return {
            argument.arg: ConfigField(
                default is not None,
                None if default is None else self._constant(default, module),
                None if argument.annotation is None else ast.unparse(argument.annotation),
            )
            for argument, default in pairs
            if argument.arg != "self"
        }

    def _body_default(self, value: ast.expr | None, module: Module) -> tuple[Any, str | None]:
        """Return the default of a dataclass field and the validator it is wrapped in."""
        match value:
            case None:
                return None, None
            case ast.Call(func=ast.Call() as validator, keywords=keywords):
                given = {keyword.arg: keyword.value for keyword in keywords}
                default = given.get("default")
                known = UNKNOWN if default is None else self._constant(default, module)
                return known, ast.unparse(validator)
            case ast.Call(func=ast.Name(id="field")):
                return self.evaluator.field_default(value, module), None
        return self._constant(value, module), None

    def _constant(self, node: ast.expr, module: Module) -> Any:
        known = self.evaluator.evaluate(node, module)
        if known is UNKNOWN and isinstance(node, ast.Name):
            return _ClassName(node.id)
        if isinstance(node, ast.Dict) and isinstance(known, dict) and UNKNOWN in known.values():
            return {
                key: _ClassName(ast.unparse(value)) if known[key] is UNKNOWN else known[key]
                for key, value in zip(known, node.values, strict=True)
            }
        return known

    def _base(self, node: ast.expr, module: Module) -> str:
        name = ast.unparse(node)
        imported = module.imported(name)
        if imported is None or imported.module.startswith(self.tree.package + "."):
            return name
        if imported.module.split(".")[0] == "transformers" and self.tree.package != "transformers":
            return f"transformers.{imported.attribute}"
        return name


class _ClassName(str):
    """The name of a class, where a class body names one (`sub_configs`)."""


def _called_validations(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).removeprefix("self.").lstrip("_")
            if name.startswith(_VALIDATIONS) or name.endswith("_validation"):
                yield name


def _assigned(function: ast.FunctionDef) -> set[str]:
    return {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def _of_language(
    classes: dict[str, OwnConfigClass], homes: dict[str, str], spoken: frozenset[str]
) -> dict[str, OwnConfigClass]:
    """Keep the classes of models that generate text, their text sub-configs, and all bases.

    `homes` gives the folder of each class: what stands beside a kept class and has a vocabulary
    is a sub-config of it.
    """
    folders = {homes[name] for name in spoken if name in homes}
    kept = {
        name
        for name, found in classes.items()
        if name in _BASES
        or name in spoken
        or (homes.get(name) in folders and _SPEAKS & found.fields.keys())
    }
    pending = list(kept)
    while pending:
        for base in classes[pending.pop()].bases:
            if base in classes and base not in kept:
                kept.add(base)
                pending.append(base)
    return {name: classes[name] for name in sorted(kept)}
