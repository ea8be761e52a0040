"""All facts of one tree, in the form in which the data tables hold them for one release."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from specpreflight.engines.sglang.facts import Flag
from specpreflight.engines.sglang.harvest.config_classes import OwnConfigClass
from specpreflight.engines.sglang.harvest.config_registry import read_engine_configs
from specpreflight.engines.sglang.harvest.drafts import (
    read_automatic_parameters,
    read_draft_path_targets,
    read_draft_rewrites,
)
from specpreflight.engines.sglang.harvest.environment import REGISTRY, read_environment
from specpreflight.engines.sglang.harvest.flags import read_flags
from specpreflight.engines.sglang.harvest.model_classes import read_model_classes
from specpreflight.engines.sglang.harvest.probes import read_probes
from specpreflight.engines.sglang.harvest.restated import read_digests
from specpreflight.engines.sglang.harvest.source_tree import SourceTree
from specpreflight.engines.sglang.harvest.transformers_configs import TransformersFacts
from specpreflight.engines.sglang.tables import to_json

#: Table name -> entry -> key -> value (JSON data); one release of `tables.Table`.
Facts = dict[str, dict[str, dict[str, Any]]]

#: The tables that `transformers_facts` fills; their releases are those of transformers.
TRANSFORMERS_TABLES = ("transformers", "model_types")

_FLAG_DEFAULTS: dict[str, Any] = {**Flag._field_defaults, "type": None}


#: Where the variables are read that decide about launch arguments and configs.
LAUNCH_FILES = ("*.py", "srt/*.py", "srt/configs/*.py", "srt/utils/*.py", "srt/speculative/*.py")
EVERY_FILE = ("*.py", "srt/**/*.py")


def read_engine(
    tree: SourceTree,
    transformers: SourceTree | None = None,
    environment_files: Sequence[str] = EVERY_FILE,
) -> Facts:
    """Return the facts of an engine's tree (`…/sglang`).

    Args:
        tree: the engine.
        transformers: what it runs with, to see which model classes it cannot import.
        environment_files: patterns of the files that are searched for direct reads of variables.
    """
    # A syntax tree is millions of objects that live until the end: collecting only costs time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _read_engine(tree, transformers, environment_files)
    finally:
        if collecting:
            gc.enable()


def _read_engine(
    tree: SourceTree, transformers: SourceTree | None, environment_files: Sequence[str]
) -> Facts:
    return {
        "flags": _flags(tree),
        "environment": _environment(tree, environment_files),
        "classes": _classes(tree, transformers),
        "drafts": _drafts(tree),
        "probes": read_probes(tree),
        "files": {name: {"digest": digest} for name, digest in read_digests(tree).items()},
        **_configs(tree),
    }


def transformers_facts(found: TransformersFacts) -> Facts:
    """Return the facts of one transformers release."""
    classes = {name: class_entry(class_) for name, class_ in found.classes.items()}
    if found.constants:
        classes["@constants"] = {name: to_json(value) for name, value in found.constants.items()}
    types = {model_type: {"class": name} for model_type, name in found.model_types.items()}
    return {"transformers": classes, "model_types": types}


def class_entry(class_: OwnConfigClass) -> dict[str, Any]:
    """Return a config class as table keys: `@…` for the class, the rest its fields in order.

    A field is `[default, type]`, `[default]` where no type is declared, and `{"type": type}` where
    there is no default.
    """
    about = {
        "@bases": list(class_.bases),
        "@attributes": to_json(class_.attributes),
        "@strict": class_.strict,
        "@validators": list(class_.validators),
        "@constraints": class_.constraints,
        "@assigned": list(class_.assigned),
        "@properties": list(class_.properties),
    }
    entry = {key: value for key, value in about.items() if value or key == "@bases"}
    for name, field in class_.fields.items():
        if not field.has_default:
            entry[name] = {"type": field.type}
        else:
            declared = [] if field.type is None else [field.type]
            entry[name] = [to_json(field.default), *declared]
    return entry


def _flags(tree: SourceTree) -> dict[str, dict[str, Any]]:
    found = {}
    before = None
    for name, flag in read_flags(tree).items():
        values = flag._asdict()
        del values["name"]
        if flag.dest == name.lstrip("-").replace("-", "_"):
            del values["dest"]
        found[name] = {
            key: to_json(value)
            for key, value in values.items()
            if key == "type" or (value is not _FLAG_DEFAULTS[key] and value != ())
        }
        if before is not None:
            found[name]["after"] = before
        before = name
    return found


def _environment(tree: SourceTree, patterns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the variables; what they share with others of their file and kind is said once."""
    found: dict[str, dict[str, Any]] = {}
    for name, variable in read_environment(tree, patterns).items():
        values = {key: to_json(value) for key, value in variable._asdict().items()}
        truth = {key: values[key] for key in ("truthy", "falsy", "on_other")}
        shared = f"@{variable.kind}" + ("" if variable.source == REGISTRY else " read directly")
        if found.setdefault(shared, truth) == truth:
            truth = {}
        about = {"kind": variable.kind, "default": values["default"], **truth}
        if variable.source != REGISTRY:
            about["source"] = variable.source
        if variable.deprecated_name:
            about["deprecated_name"] = variable.deprecated_name
        found[name] = about
    return found


def _classes(tree: SourceTree, transformers: SourceTree | None) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, class_ in read_model_classes(tree, transformers).items():
        found[name] = {"kind": class_.kind, "module": class_.module}
        if class_.form:
            found[name]["form"] = class_.form
        if class_.offers:
            found[name]["offers"] = to_json(class_.offers)
        if class_.missing:
            found[name]["missing"] = class_.missing
    return found


def _drafts(tree: SourceTree) -> dict[str, dict[str, Any]]:
    rewrites, conditional = read_draft_rewrites(tree)
    return {
        "automatic_parameters": to_json(read_automatic_parameters(tree)),
        "conditional_rewrites": to_json(conditional),
        "path_targets": dict.fromkeys(sorted(read_draft_path_targets(tree)), True),
        "rewrites": to_json(rewrites),
    }


def _configs(tree: SourceTree) -> Facts:
    found = read_engine_configs(tree)
    registry: dict[str, dict[str, Any]] = {}
    for model_type, name in found.registry.items():
        registry.setdefault(model_type, {})["registry"] = to_json(name)
    for model_type, class_ in found.registered.items():
        registry.setdefault(model_type, {})["registered"] = class_
        if model_type in found.overriding:
            registry[model_type]["overrides"] = True
    return {
        "configs": {name: class_entry(class_) for name, class_ in found.classes.items()},
        "registry": dict(sorted(registry.items())),
    }
