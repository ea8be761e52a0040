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


class ConfigReader:
    """Reads config classes of one tree."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.evaluator = Evaluator(tree)

    def classes_of(self, module: Module) -> dict[str, OwnConfigClass]:
        """Return the config classes that a module defines, by name."""
        return {
            name: self.describe(module, node)
            for name, node in module.definitions.items()
            if isinstance(node, ast.ClassDef) and (name.endswith("Config") or "Config" in name)
        }

    def describe(self, module: Module, node: ast.ClassDef) -> OwnConfigClass:
        """Return what `node` declares itself."""
        decorators = " ".join(map(ast.unparse, node.decorator_list))
        strict = "strict" in decorators
        is_dataclass = strict or "dataclass" in decorators
        fields: dict[str, ConfigField] = {}
        attributes: dict[str, Any] = {}
        constraints: dict[str, str] = {}
        properties: set[str] = set()
        validators: list[str] = []
        assigned: set[str] = set()
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=declared, value=value):
                    if not is_dataclass or "ClassVar" in ast.unparse(declared):
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
