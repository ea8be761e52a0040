"""Probes of the context length: `configs/model_config.py` and `get_hf_text_config`."""

from __future__ import annotations

import ast

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.harvest.environment import read_variable
from specpreflight.engines.sglang.harvest.evaluate import Evaluator
from specpreflight.engines.sglang.harvest.probes.shapes import (
    Answer,
    calls,
    function_at,
    ifs,
    mentions,
    raises,
    source,
)
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_MODEL_CONFIG = "srt/configs/model_config.py"
_CONFIG_UTILITIES = (
    "srt/utils/hf_transformers/common.py",
    "srt/utils/hf_transformers_utils.py",
    "srt/hf_transformers_utils.py",
)


def over_length(tree: SourceTree) -> Answer | None:
    """Say what a length above the derived one does when no variable is set.

    `refuses` or `warns`. Up to 0.5.2 the check stands in `ModelConfig.__init__`, from 0.5.3 in
    `_derive_context_length`.
    """
    found = _check(tree)
    if found is None:
        return None
    module, check, where = found
    override = _override(check)
    if override is None:
        return Answer("refuses" if raises(check.body) else "warns", where)
    variable = read_variable(tree, _OVERRIDE, module)
    if variable is None or variable.default is UNKNOWN:
        return None
    taken = override.body if variable.default else override.orelse
    return Answer("refuses" if raises(taken) else "warns", where)


def override_variable(tree: SourceTree) -> Answer | None:
    """Return the variable that turns the refusal into a warning; `None` value if there is none."""
    found = _check(tree)
    if found is None:
        return None
    _, check, where = found
    return Answer(_OVERRIDE if mentions(check, _OVERRIDE) else None, where)


def ci_overrides(tree: SourceTree) -> Answer | None:
    """Say whether `SGLANG_IS_IN_CI` has the effect of the override variable."""
    found = _check(tree)
    if found is None:
        return None
    _, check, where = found
    override = _override(check)
    return Answer(override is not None and any(calls(override.test, "is_in_ci")), where)


def override_rewrites_draft(tree: SourceTree) -> Answer | None:
    """Say whether overriding also raises the draft's `max_position_embeddings` in memory."""
    found = _check(tree)
    if found is None:
        return None
    _, check, where = found
    writes = any(
        isinstance(node, ast.Attribute)
        and node.attr == "max_position_embeddings"
        and isinstance(node.ctx, ast.Store)
        for node in ast.walk(check)
    )
    return Answer(writes, where)


def length_keys(tree: SourceTree) -> Answer | None:
    """Return the config keys that give a length, in the order in which they are tried."""
    for file in _CONFIG_UTILITIES:
        module = tree.at(file)
        if module is not None and "CONTEXT_LENGTH_KEYS" in module.definitions:
            keys = Evaluator(tree).evaluate(ast.Name("CONTEXT_LENGTH_KEYS"), module)
            if keys is not UNKNOWN:
                return Answer(tuple(keys), source(module, "CONTEXT_LENGTH_KEYS"))
    return None


def text_config_order(tree: SourceTree) -> Answer | None:
    """Return the keys that `get_hf_text_config` looks for, the first that exists wins."""
    found = function_at(tree, *((file, ("get_hf_text_config",)) for file in _CONFIG_UTILITIES))
    if found is None:
        return None
    _, function, where = found
    order = []
    for statement in _chain(function.body):
        match statement.test:
            case ast.Call(
                func=ast.Name(id="hasattr"),
                args=[ast.Name(id="config"), ast.Constant(value=str(key))],
            ):
                order.append(key)
    return Answer(tuple(dict.fromkeys(order)), where) if order else None


def reserves_rope_cache(tree: SourceTree) -> Answer | None:
    """Say whether RoPE caches are extended past the config's length for a longer context."""
    runner = tree.at("srt/model_executor/model_runner.py")
    if runner is None:
        return None
    name = "reserve_rope_cache_for_long_sequences"
    users = (runner, tree.at("srt/model_executor/model_runner_components/load_model_utils.py"))
    return Answer(
        any(user is not None and any(calls(user.tree, name)) for user in users),
        source(runner, "ModelRunner.load_model"),
    )


def _check(tree: SourceTree) -> tuple[Module, ast.If, str] | None:
    """Return the `if` that compares the wanted length with the derived one."""
    found = function_at(
        tree,
        (_MODEL_CONFIG, ("ModelConfig", "_derive_context_length")),
        (_MODEL_CONFIG, ("ModelConfig", "__init__")),
    )
    if found is None:
        return None
    module, function, where = found
    for statement in ifs(function):
        match statement.test:
            case ast.Compare(
                left=ast.Name(id="context_length"),
                ops=[ast.Gt()],
                comparators=[ast.Name(id="derived_context_len")],
            ):
                return module, statement, where
    return None


def _override(check: ast.If) -> ast.If | None:
    return next((inner for inner in ifs(check) if mentions(inner.test, _OVERRIDE)), None)


def _chain(body: list[ast.stmt]) -> list[ast.If]:
    """Return the `if`s of a body and of its `elif`s, in order."""
    found = []
    for statement in body:
        if isinstance(statement, ast.If):
            found.append(statement)
            found += _chain(statement.orelse)
    return found
