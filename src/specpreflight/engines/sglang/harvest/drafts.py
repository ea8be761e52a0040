"""How a release picks a draft: default path, architecture rewrites, automatic parameters.

Read from the argument hook (`server_args.py:ServerArgs`, from 0.5.13
`arg_groups/speculative_hook.py`) and `configs/model_config.py:ModelConfig`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.harvest.evaluate import Evaluator
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

#: The files that have held the speculative argument hook, newest first.
HOOK_FILES = ("srt/arg_groups/speculative_hook.py", "srt/server_args.py")

#: The key of `automatic_parameters` for `--speculative-algorithm STANDALONE`, whatever the target.
STANDALONE = "STANDALONE"

#: The key of `automatic_parameters` for every architecture that is not listed.
EVERY_OTHER = "*"


def read_draft_path_targets(tree: SourceTree) -> frozenset[str]:
    """Return the target architectures whose draft path defaults to the model path.

    They are what the `if` compares with whose inner `else` warns "DeepSeek MTP does not require
    setting speculative_draft_model_path."
    """
    for module in _hooks(tree):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.If) and _sets_path_or_warns(node):
                names = compared_names(node.test, module, Evaluator(tree))
                if names:
                    return frozenset(names)
    return frozenset()


def read_draft_rewrites(tree: SourceTree) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return what a draft's `architectures[0]` becomes, and under which condition otherwise.

    The first mapping holds the rewrite that is done unless a condition says otherwise; the second
    gives, by architecture, the other results with the condition's text.
    """
    module = tree.at("srt/configs/model_config.py")
    plain: dict[str, str] = {}
    conditional: dict[str, dict[str, str]] = {}
    if module is None:
        return plain, conditional
    evaluator = Evaluator(tree)
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.If) or "is_draft_model" not in ast.unparse(node.test):
            continue
        results = list(_new_names(node.body, None))
        for architecture in compared_names(node.test, module, evaluator):
            for new, condition in results:
                if condition is None:
                    plain.setdefault(architecture, new)
                else:
                    conditional.setdefault(architecture, {})[new] = condition
    return dict(sorted(plain.items())), dict(sorted(conditional.items()))


def read_automatic_parameters(tree: SourceTree) -> dict[str, tuple[int, int, int]]:
    """Return (steps, top-k, draft tokens) by target architecture, `STANDALONE` and `*`."""
    evaluator = Evaluator(tree)
    for module in _hooks(tree):
        for name in ("_auto_choose_speculative_params", "auto_choose_speculative_params"):
            function = module.function(name)
            if function is not None:
                return dict(sorted(_choices(function.body, module, evaluator)))
    return {}


def compared_names(test: ast.expr, module: Module, evaluator: Evaluator) -> tuple[str, ...]:
    """Return the strings that a condition compares an architecture with (`==`, `in [...]`)."""
    found: list[str] = []
    for node in ast.walk(test):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.In()], comparators=[given]) if (
                "arch" in ast.unparse(left)
            ):
                known = evaluator.evaluate(given, module)
                if isinstance(known, str):
                    found.append(known)
                elif known is not UNKNOWN:
                    found += [name for name in known if isinstance(name, str)]
    return tuple(found)


def _hooks(tree: SourceTree) -> Iterator[Module]:
    for file in HOOK_FILES:
        module = tree.at(file)
        if module is not None:
            yield module


def _sets_path_or_warns(node: ast.If) -> bool:
    for inner in node.body:
        if isinstance(inner, ast.If) and any(
            "MTP does not require setting" in ast.unparse(other) for other in inner.orelse
        ):
            return True
    return False


def _new_names(body: list[ast.stmt], condition: str | None) -> Iterator[tuple[str, str | None]]:
    for statement in body:
        match statement:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Attribute(attr="architectures"))],
                value=ast.Constant(value=str(name)),
            ):
                yield name, condition
            case ast.Assign(
                targets=[ast.Attribute(attr="architectures")],
                value=ast.List(elts=[ast.Constant(value=str(name))]),
            ):
                yield name, condition
            case ast.If(test=test, body=inner, orelse=other):
                yield from _new_names(inner, ast.unparse(test))
                yield from _new_names(other, condition)


def _choices(
    body: list[ast.stmt], module: Module, evaluator: Evaluator
) -> Iterator[tuple[str, tuple[int, int, int]]]:
    for statement in body:
        match statement:
            case ast.If(test=test, body=inner, orelse=other):
                names = compared_names(test, module, evaluator)
                if "speculative_algorithm" in ast.unparse(test):
                    names = (STANDALONE,)
                for name in names:
                    yield from ((name, chosen) for _, chosen in _choices(inner, module, evaluator))
                yield from _choices(other, module, evaluator)
            case ast.Return(value=ast.expr() as value):
                chosen = evaluator.evaluate(value, module)
                if isinstance(chosen, tuple):
                    yield EVERY_OTHER, chosen
