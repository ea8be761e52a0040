"""The model registry: `EntryClass` of every module in `srt/models`, and what each class offers.

Restates `srt/models/registry.py:import_model_classes` (all releases): modules of the folder
itself, not of its packages. What a class offers is a static walk over its bases; a class that is
put together at run time is not seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from specpreflight.engines.sglang.facts import ModelClass
from specpreflight.engines.sglang.harvest.outlines import SETTERS, without_bodies
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_OFFERS = {
    "set_eagle3_layers_to_capture": "eagle3_capture",
    "set_dflash_layers_to_capture": "dflash_capture",
    "set_dspark_layers_to_capture": "dspark_capture",
    "get_embed_and_head": "get_embed_and_head",
    "get_embed": "get_embed",
    "set_embed": "set_embed",
    "set_embed_and_head": "set_embed_and_head",
    "hot_token_id": "hot_token_id",
    "load_lm_head_from_target": "load_lm_head_from_target",
}
#: Attributes that only a model which generates text sets.
_GENERATES = frozenset({"logits_processor", "lm_head", "language_model", "llm", "thinker"})
_GENERATIVE = re.compile("For(CausalLM|ConditionalGeneration)")
_FORMS = (
    ("eagle3", re.compile("Eagle3")),
    ("eagle", re.compile("Eagle")),
    ("dspark", re.compile("DSpark")),
    ("dflash", re.compile("DFlash")),
    ("mtp", re.compile("NextN|MTP|AssistantForCausalLM")),
)
_NOT_GENERATIVE = re.compile(
    "Classification|Reward|Embedding|VisionModel|CLIPModel|BertModel|Contriever"
)


def read_model_classes(
    tree: SourceTree, transformers: SourceTree | None = None
) -> dict[str, ModelClass]:
    """Return the registered classes by name.

    With the `transformers` that is installed, classes whose module needs something that it lacks
    are marked: the registry leaves them out with a warning.
    """
    outlines = SourceTree(tree.root, without_bodies)
    walker = _Walker(outlines)
    found = {}
    for module in outlines.modules_in("srt/models"):
        missing = _missing_import(module, outlines, transformers) if transformers else None
        for name in _entries(module):
            found[name] = walker.describe(name, module)._replace(missing=missing)
    tree.seen |= outlines.seen
    return dict(sorted(found.items()))


class _Walker:
    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self._known: dict[tuple[str, str], frozenset[str]] = {}

    def describe(self, name: str, module: Module) -> ModelClass:
        found = self.tree.find(module, name)
        if found is None or not isinstance(found[1], ast.ClassDef):
            return ModelClass(name, module.relative)
        names = self._attributes(found[0], found[1])
        offers = frozenset(offer for method, offer in _OFFERS.items() if method in names)
        form = _form(name, module)
        if form is not None:
            return ModelClass(name, module.relative, "draft", form, offers)
        generates = (_GENERATES & names or _GENERATIVE.search(name)) and not (
            _NOT_GENERATIVE.search(name)
        )
        return ModelClass(name, module.relative, "target" if generates else "other", None, offers)

    def _attributes(self, module: Module, node: ast.ClassDef) -> frozenset[str]:
        """Return the names of methods, class attributes and `self.x` of a class and its bases."""
        key = (module.name, node.name)
        if key not in self._known:
            self._known[key] = frozenset()
            names = set(_own_names(node))
            for base in node.bases:
                if isinstance(base, ast.Name):
                    found = self.tree.find(module, base.id)
                    if found is not None and isinstance(found[1], ast.ClassDef):
                        names |= self._attributes(found[0], found[1])
            self._known[key] = frozenset(names)
        return self._known[key]


def _missing_import(
    module: Module, tree: SourceTree, transformers: SourceTree, seen: frozenset[str] = frozenset()
) -> str | None:
    """Return what a model's module imports, itself or through other models, that does not exist."""
    if module.name in seen:
        return None
    for statement in module.tree.body:
        match statement:
            case ast.ImportFrom(module=str(source), names=names, level=0):
                if source.startswith("transformers.models."):
                    origin = transformers.module(source)
                    for alias in names:
                        if origin is None or not _has(origin, alias.name):
                            return f"{source}.{alias.name}"
                elif source.startswith(f"{tree.package}.srt.models."):
                    other = tree.module(source)
                    if other is not None:
                        found = _missing_import(other, tree, transformers, seen | {module.name})
                        if found is not None:
                            return found
    return None


def _has(module: Module, name: str) -> bool:
    # A package of transformers finds its names when they are asked for.
    return module.is_package or name in module.definitions or module.imported(name) is not None


def _entries(module: Module) -> Iterator[str]:
    """Yield the names in `EntryClass`."""
    node = module.definitions.get("EntryClass")
    match node:
        case ast.Name(id=name):
            yield name
        case ast.expr():
            for part in ast.walk(node):
                if isinstance(part, ast.Name):
                    yield part.id


def _form(name: str, module: Module) -> str | None:
    for form, pattern in _FORMS:
        if pattern.search(name):
            return form
    if module.relative.endswith("/dflash.py") or name.endswith("DraftModel"):
        return "dflash"
    return None


def _own_names(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        match statement:
            case ast.FunctionDef(name=name):
                yield name
                if name in SETTERS:
                    yield from _set_on_self(statement.body)
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                yield name


def _set_on_self(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the attributes that statements set on `self`, through branches and loops too."""
    for statement in body:
        for target in getattr(statement, "targets", ()):
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                yield target.attr
        for part in ("body", "orelse"):
            yield from _set_on_self(getattr(statement, part, []))
