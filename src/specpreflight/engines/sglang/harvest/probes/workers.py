"""Probes of the model runner, the workers and the EAGLE-3 classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from specpreflight.engines.sglang.harvest.probes.shapes import (
    Answer,
    calls,
    function_at,
    ifs,
    mentions,
    says,
    source,
)
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_RUNNER = "srt/model_executor/model_runner.py"
_AUX = "srt/model_executor/model_runner_components/spec_aux_hidden_state.py"
_EAGLE3 = "srt/models/llama_eagle3.py"
_MLA_EAGLE3 = "srt/models/kimi_k25_eagle3.py"
_NORM_KEYS = (
    "norm_before_residual", "norm_before_fc", "fc_norm", "use_aux_norm", "norm_output",
)  # fmt: skip
_GRAPHS = frozenset({"init_cuda_graphs", "init_device_graphs"})
_ASKED = {
    "is_eagle3": ("EAGLE3",),
    "is_eagle": ("EAGLE", "EAGLE3", "FROZEN_KV_MTP"),
    "is_standalone": ("STANDALONE",),
    "is_dflash": ("DFLASH",),
    "is_dspark": ("DSPARK",),
    "is_dflash_family": ("DFLASH", "DSPARK"),
}


def target_reads_draft(tree: SourceTree) -> Answer | None:
    """Say when the target's model runner reads the draft's config.

    `never`, `after-graphs` (at the end of `initialize`: weights, KV cache and graphs are done) or
    `constructor` (before the target's weights).
    """
    runner = tree.at(_RUNNER)
    if runner is None:
        return None
    if tree.at(_AUX) is not None:
        return Answer("constructor", source(runner, "ModelRunner.__init__"))
    for name in ("__init__", "initialize"):
        function = runner.function("ModelRunner", name)
        if function is None:
            return None
        read = next(_draft_reads(function), None)
        if read is None:
            continue
        graphs = [
            node.lineno
            for node in ast.walk(function)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _GRAPHS
        ]
        when = "after-graphs" if graphs and read.lineno > min(graphs) else "constructor"
        return Answer(when, source(runner, "ModelRunner", name))
    return Answer("never", source(runner, "ModelRunner.initialize"))


def target_reads_draft_for(tree: SourceTree) -> Answer | None:
    """Return the algorithms whose target runner reads the draft's config.

    With `+path` where it does so only for a launch that gives a draft path.
    """
    aux = tree.at(_AUX)
    runner = tree.at(_RUNNER)
    if runner is None:
        return None
    functions: list[tuple[Module, ast.FunctionDef]] = []
    if aux is not None:
        functions += [
            (aux, definition)
            for definition in aux.definitions.values()
            if isinstance(definition, ast.FunctionDef)
        ]
    else:
        for name in ("__init__", "initialize"):
            function = runner.function("ModelRunner", name)
            if function is not None:
                functions.append((runner, function))
    found: dict[str, bool] = {}
    where = source(functions[0][0], "") if functions else ""
    for module, function in functions:
        for read in _draft_reads(function):
            where = source(module, function.name)
            tests = _conditions(function, read)
            needs_path = any(mentions(test, "speculative_draft_model_path") for test in tests)
            for name, algorithms in _ASKED.items():
                if any(True for test in tests for _ in calls(test, name)):
                    for algorithm in algorithms:
                        found[algorithm] = found.get(algorithm, True) and needs_path
    names = (f"{name}+path" if needs_path else name for name, needs_path in sorted(found.items()))
    return Answer(tuple(names), where)


def draft_weights(tree: SourceTree) -> Answer | None:
    """Say whether the draft's weights are loaded before or after the target's graphs.

    `before-graphs` where the scheduler prepares pools and graphs for both workers after it made
    both; `after-graphs` where the target's worker does all of that when it is made.
    """
    found = function_at(
        tree,
        ("srt/managers/scheduler.py", ("Scheduler", "init_model_worker")),
        ("srt/managers/scheduler.py", ("Scheduler", "__init__")),
    )
    if found is None:
        return None
    _, function, where = found
    made = [call.lineno for call in calls(function, "maybe_init_draft_worker")]
    graphs = [call.lineno for call in calls(function, "init_all_cuda_graphs")]
    if graphs and made:
        return Answer("before-graphs" if min(made) < min(graphs) else "after-graphs", where)
    return Answer("after-graphs", where)


def many_layers(tree: SourceTree) -> Answer | None:
    """Say whether a Llama EAGLE-3 draft may have more than one layer."""
    found = function_at(tree, (_EAGLE3, ("LlamaForCausalLMEagle3", "__init__")))
    if found is None:
        return None
    _, function, where = found
    return Answer(not says(function, "currently only supports 1 layer"), where)


def layer_names(tree: SourceTree) -> Answer | None:
    """Return the names under which the decoder of an EAGLE-3 draft is found in a checkpoint."""
    found = function_at(
        tree,
        (_EAGLE3, ("LlamaForCausalLMEagle3", "load_weights")),
        (_EAGLE3, ("LlamaForCausalLMEagle3", "__init__")),
    )
    if found is None:
        return None
    _, function, where = found
    return Answer(("midlayer", "layers.N") if says(function, "layers.0") else ("midlayer",), where)


def norm_keys(tree: SourceTree) -> Answer | None:
    """Return which switches of norms in a draft's config the Llama EAGLE-3 class reads."""
    return _keys_read(tree, _EAGLE3)


def mla_norm_keys(tree: SourceTree) -> Answer | None:
    """Return which switches of norms in a draft's config the MLA EAGLE-3 class reads."""
    return _keys_read(tree, _MLA_EAGLE3)


def _keys_read(tree: SourceTree, file: str) -> Answer | None:
    module = tree.at(file)
    if module is None:
        # A release without the class: nothing is read.
        return Answer((), file) if tree.files("srt/models/*.py") else None
    asked = {
        str(key.value)
        for name in ("getattr", "get", "hasattr")
        for call in calls(module.tree, name)
        for key in call.args
        if isinstance(key, ast.Constant)
    } | {
        node.attr
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and mentions(node.value, "config")
    }
    return Answer(tuple(key for key in _NORM_KEYS if key in asked), module.relative)


def ids_read(tree: SourceTree) -> Answer | None:
    """Say whether the draft's `eagle_aux_hidden_state_layer_ids` are read at all."""
    for file in (_AUX, _RUNNER):
        module = tree.at(file)
        if module is not None:
            return Answer(says(module.tree, "eagle_aux_hidden_state_layer_ids"), module.relative)
    return None


def use_aux_hidden_state_read(tree: SourceTree) -> Answer | None:
    """Say whether `eagle_config.use_aux_hidden_state` is read."""
    for file in (_AUX, _RUNNER):
        module = tree.at(file)
        if module is not None:
            return Answer(says(module.tree, "use_aux_hidden_state"), module.relative)
    return None


def graphs_with_default_layers(tree: SourceTree) -> Answer | None:
    """Say whether graphs are captured with the default layers although the draft names others.

    True where the graph runner calls `set_eagle3_layers_to_capture()` without ids while ids are
    read.
    """
    runner = tree.at(_RUNNER)
    read = ids_read(tree)
    if runner is None or read is None:
        return None
    graphs = tree.at("srt/model_executor/cuda_graph_runner.py")
    bare = graphs is not None and any(
        not call.args and not call.keywords
        for call in calls(graphs.tree, "set_eagle3_layers_to_capture")
    )
    place = graphs or runner
    return Answer(bare and bool(read.value), place.relative)


def deepseek_ids(tree: SourceTree) -> Answer | None:
    """Say what DeepSeek-V2 and its kin make of aux layer ids.

    `no-capture`, `plus-one`, or `plus-one-if-first-is-1` (else as they are).
    """
    return _ids(
        tree,
        ("srt/models/deepseek_v2.py", "DeepseekV2ForCausalLM"),
        ("layer_ids[0] == 1", "plus-one-if-first-is-1"),
    )


def gpt_oss_ids(tree: SourceTree) -> Answer | None:
    """Say what GPT-OSS makes of aux layer ids.

    `no-capture`, `plus-one`, or `plus-one-unless-largest-is-layers` (then as they are).
    """
    return _ids(
        tree,
        ("srt/models/gpt_oss.py", "GptOssForCausalLM"),
        ("max(layer_ids) == num_layers", "plus-one-unless-largest-is-layers"),
    )


def _ids(tree: SourceTree, place: tuple[str, str], special: tuple[str, str]) -> Answer | None:
    file, class_ = place
    condition, name = special
    module = tree.at(file)
    if module is None:
        # A release without the model: nothing to capture.
        return Answer("no-capture", file) if tree.files("srt/models/*.py") else None
    if module.class_(class_) is None:
        return None
    function = module.function(class_, "set_eagle3_layers_to_capture")
    if function is None:
        return Answer("no-capture", source(module, class_))
    text = ast.unparse(function)
    if "val + 1 for val in layer_ids" not in text:
        return None
    where = source(module, class_, function.name)
    if condition in text:
        return Answer(name, where)
    conditions = [
        statement for statement in ifs(function) if "layer_ids[" in ast.unparse(statement.test)
    ]
    return None if conditions else Answer("plus-one", where)


def _draft_reads(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Yield the calls that build a ModelConfig for the draft."""
    for name in ("from_server_args", "_build_model_config"):
        for call in calls(function, name):
            if any(keyword.arg == "is_draft_model" for keyword in call.keywords):
                yield call


def _conditions(function: ast.FunctionDef, call: ast.Call) -> list[ast.expr]:
    """Return the conditions under which `call` is reached: around it, and early returns."""
    around = [
        statement.test
        for statement in ifs(function)
        if any(node is call for part in statement.body for node in ast.walk(part))
    ]
    for statement in function.body:
        match statement:
            case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=[ast.Return()]):
                around.append(test)
    return around
