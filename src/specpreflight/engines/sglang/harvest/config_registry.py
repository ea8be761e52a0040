"""The config classes that the engine brings, and the model types it registers them for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from specpreflight.engines.sglang.harvest.config_classes import ConfigReader, OwnConfigClass
from specpreflight.engines.sglang.harvest.evaluate import Evaluator
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree


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
    configs, reader = ConfigReader(tree), _RegistryReader(tree)
    home = tree.first_at(
        "srt/utils/hf_transformers/common.py",
        "srt/utils/hf_transformers_utils.py",
        "srt/hf_transformers_utils.py",
    )
    modules = [*tree.modules_in("srt/configs"), *([home] if home else [])]
    classes: dict[str, OwnConfigClass] = {}
    registered: dict[str, str] = {}
    overriding: set[str] = set()
    for module in modules:
        classes.update(configs.classes_of(module))
        for model_type, name, replaces in reader.registrations(module):
            registered[model_type] = name
            if replaces:
                overriding.add(model_type)
    return EngineConfigs(
        dict(sorted(reader.registry(home).items())) if home else {},
        dict(sorted(registered.items())),
        frozenset(overriding),
        dict(sorted(classes.items())),
    )


class _RegistryReader:
    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.evaluator = Evaluator(tree)

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
        """Yield `(model_type, class, replaces)` for what the module tells AutoConfig.

        It says `register(type, Class)`, or writes the table behind it, which replaces
        transformers' own class; either may stand in a loop over classes.
        """
        if b".register(" not in module.source and b"_extra_content" not in module.source:
            return
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
                case ast.Assign(
                    targets=[
                        ast.Subscript(value=ast.Attribute(attr="_extra_content"), slice=given)
                    ],
                    value=ast.Name(id=name),
                ):
                    replaces = True
                case _:
                    continue
            for bound in _iterations(module, name):
                class_ = _bound_name(name, bound)
                written = bound.get(given.id, given) if isinstance(given, ast.Name) else given
                model_type = self.evaluator.evaluate(written, module)
                if not isinstance(model_type, str):
                    model_type = self.model_type(class_, module)
                if isinstance(model_type, str):
                    yield model_type, self._class_name(class_, module), replaces

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


def _iterations(module: Module, name: str) -> list[dict[str, ast.expr]]:
    """Return what the variables of the loop over `name` are bound to, round by round."""
    for node in ast.walk(module.tree):
        match node:
            case ast.For(
                target=ast.Name(id=one), iter=ast.Tuple(elts=parts) | ast.List(elts=parts)
            ) if one == name:
                return [{one: part} for part in parts]
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=one), ast.Name(id=other)]),
                iter=ast.Call(
                    func=ast.Attribute(value=ast.Dict(keys=keys, values=values), attr="items")
                ),
            ) if other == name:
                return [
                    {one: key, other: value}
                    for key, value in zip(keys, values, strict=True)
                    if key is not None
                ]
    return [{}]


def _bound_name(name: str, bound: Mapping[str, ast.expr]) -> str:
    value = bound.get(name)
    return value.id if isinstance(value, ast.Name) else name
