"""Probes of the speculative argument hook and of the final check of the arguments.

The hook stands in `server_args.py:ServerArgs` up to 0.5.12 and in
`arg_groups/speculative_hook.py` from 0.5.13.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.harvest.drafts import HOOK_FILES
from specpreflight.engines.sglang.harvest.environment import read_variable
from specpreflight.engines.sglang.harvest.evaluate import Evaluator
from specpreflight.engines.sglang.harvest.flags import read_flags
from specpreflight.engines.sglang.harvest.probes.shapes import (
    Answer,
    calls,
    function_at,
    ifs,
    mentions,
    raises,
    says,
    source,
)
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree


def algorithms(tree: SourceTree) -> Answer | None:
    """Return the names that `--speculative-algorithm` accepts.

    argparse's choices up to 0.5.12, then the members of `SpeculativeAlgorithm` and the alias
    NEXTN; plugins may register more.
    """
    flag = read_flags(tree).get("--speculative-algorithm")
    if flag is None:
        return None
    if isinstance(flag.choices, tuple):
        return Answer(flag.choices, "srt/server_args.py:ServerArgs.add_cli_args")
    module = tree.at("srt/speculative/spec_info.py")
    node = module.class_("SpeculativeAlgorithm") if module else None
    if module is None or node is None:
        return None
    members = [
        statement.targets[0].id
        for statement in node.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    ]
    names = [name for name in members if name != "NONE"]
    return Answer((*names, "NEXTN"), source(module, "SpeculativeAlgorithm"))


def algorithms_any_case(tree: SourceTree) -> Answer | None:
    """Say whether the algorithm's name is upper-cased before it is looked up."""
    for module, function in _hook_functions(tree):
        for call in calls(function, "upper"):
            if mentions(call, "speculative_algorithm"):
                return Answer(True, source(module, function.name))
    found = next(iter(_hook_functions(tree)), None)
    return None if found is None else Answer(False, source(found[0], found[1].name))


def hook_reads_draft(tree: SourceTree) -> Answer | None:
    """Say whether the hook already loads the draft's config, to resolve the algorithm's alias."""
    for file in HOOK_FILES:
        module = tree.at(file)
        if module is None:
            continue
        function = module.function("_resolve_speculative_algorithm_alias")
        if function is not None:
            return Answer(any(calls(function, "get_config")), source(module, function.name))
    module = tree.at("srt/server_args.py")
    return None if module is None else Answer(False, source(module, "ServerArgs"))


def draft_revision_default(tree: SourceTree) -> Answer | None:
    """Return the draft's revision where only its path is given; `None`: the target's."""
    for module, function in _hook_functions(tree):
        for statement in ifs(function):
            if not mentions(statement.test, "speculative_draft_model_revision"):
                continue
            for node in ast.walk(statement):
                match node:
                    case (
                        ast.Assign(
                            targets=[ast.Attribute(attr="speculative_draft_model_revision")],
                            value=ast.Constant(value=str(revision)),
                        )
                        | ast.keyword(
                            arg="speculative_draft_model_revision",
                            value=ast.Constant(value=str(revision)),
                        )
                    ):
                        return Answer(revision, source(module, function.name))
    found = next(iter(_hook_functions(tree)), None)
    return None if found is None else Answer(None, source(found[0], found[1].name))


def topk_with_pages(tree: SourceTree) -> Answer | None:
    """Return the attention backends that allow top-k > 1 with pages larger than 1 (EAGLE).

    A tuple; `adjusts` where top-k is set to 1 instead, `unchecked` where nobody looks.
    """
    return _pages(tree, ngram=False)


def ngram_topk_with_pages(tree: SourceTree) -> Answer | None:
    """Return the attention backends that allow NGRAM with pages larger than 1."""
    return _pages(tree, ngram=True)


def mixed_chunk(tree: SourceTree) -> Answer | None:
    """Return the algorithms that keep `--enable-mixed-chunk`; `untouched` where none is asked."""
    found = function_at(
        tree,
        ("srt/speculative/spec_info.py", ("SpeculativeAlgorithm", "supports_mixed_chunk")),
    )
    if found is not None:
        _, function, where = found
        names = [
            node.attr
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "SpeculativeAlgorithm"
        ]
        return Answer(tuple(names), where)
    first = None
    for module, function in _hook_functions(tree):
        first = first or Answer("untouched", source(module, function.name))
        for statement in ifs(function):
            if mentions(statement.test, "enable_mixed_chunk") and says(
                statement, "Mixed chunked prefill is disabled"
            ):
                return Answer((), source(module, function.name))
    return first


def spec_v2(tree: SourceTree) -> Answer | None:
    """Return what the variable SGLANG_ENABLE_SPEC_V2 defaults to.

    `None` where the release does not know the variable (`workers`: no V2 before 0.5.5; from 0.5.14
    only V2 exists and the flag `--disable-overlap-schedule` decides).
    """
    module = tree.at("srt/server_args.py")
    if module is None:
        return None
    variable = read_variable(tree, "SGLANG_ENABLE_SPEC_V2", module)
    if variable is None:
        return Answer(None, "srt/environ.py:Envs")
    return None if variable.default is UNKNOWN else Answer(variable.default, variable.source)


def pipeline_parallel(tree: SourceTree) -> Answer | None:
    """Return the algorithms that pipeline parallelism does not refuse outright (conditions apply).

    Read from the assertions below `if pp_size > 1` in the final check; an empty tuple: every one
    is refused.
    """
    for file, path in (
        ("srt/arg_groups/validation_hook.py", ("check_pipeline_parallel_compat",)),
        ("srt/arg_groups/validation_hook.py", ("check_server_args",)),
        ("srt/server_args.py", ("ServerArgs", "check_server_args")),
    ):
        found = function_at(tree, (file, path))
        if found is None:
            continue
        _, function, where = found
        if not says(function, "Pipeline parallelism"):
            continue
        named = {
            node.comparators[0].value
            for node in ast.walk(function)
            if isinstance(node, ast.Compare)
            and mentions(node.left, "speculative_algorithm")
            and isinstance(node.ops[0], ast.Eq)
            and isinstance(node.comparators[0], ast.Constant)
        }
        return Answer(tuple(sorted(map(str, named))), where)
    return None


def _pages(tree: SourceTree, *, ngram: bool) -> Answer | None:
    first = None
    evaluator = Evaluator(tree)
    for module, function in _hook_functions(tree):
        first = first or Answer("unchecked", source(module, function.name))
        local = {
            node.targets[0].id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for statement in ifs(function):
            if not (
                mentions(statement.test, "speculative_eagle_topk", "page_size")
                and not mentions(statement.test, "speculative_algorithm")
            ):
                continue
            if says(statement, "speculative_eagle_topk(") != ngram:
                continue
            where = source(module, function.name)
            if not raises(statement.body):
                return Answer("adjusts", where)
            for node in ast.walk(statement.test):
                match node:
                    case ast.Compare(
                        left=left, ops=[ast.NotEq() | ast.NotIn()], comparators=[given]
                    ) if mentions(left, "attention_backend"):
                        known = evaluator.evaluate(given, module, local)
                        if known is UNKNOWN:
                            return None
                        return Answer((known,) if isinstance(known, str) else tuple(known), where)
    return first


def _hook_functions(tree: SourceTree) -> Iterator[tuple[Module, ast.FunctionDef]]:
    """Yield the functions that handle speculative arguments, the hook's own first."""
    module = tree.at("srt/arg_groups/speculative_hook.py")
    if module is not None:
        for definition in module.definitions.values():
            if isinstance(definition, ast.FunctionDef):
                yield module, definition
        return
    module = tree.at("srt/server_args.py")
    if module is not None:
        for name in ("_handle_speculative_decoding", "__post_init__"):
            function = module.function("ServerArgs", name)
            if function is not None:
                yield module, function
                return
