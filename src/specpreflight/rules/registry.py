"""Every rule there is: a line a rule, in the order in which `specpreflight rules` lists them."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from types import ModuleType

from specpreflight.errors import UsageError
from specpreflight.rules.rule import Rule

_MODULES = (
    "context.draft_context_shorter",
    "context.target_context_exceeded",
    "context.draft_context_longer",
    "context.vllm_length_refused",
    "context.vllm_length_changed",
    "rope.rope_theta_differs",
    "rope.rope_scaling_differs",
    "rope.partial_rotary_differs",
    "rope.rope_key_layout",
    "architecture.hidden_size_differs",
    "architecture.heads_inconsistent",
    "architecture.aux_layers_out_of_range",
    "architecture.aux_layers_not_used",
    "architecture.algorithm_draft_mismatch",
    "architecture.model_type_unknown",
    "architecture.remote_code_needed",
    "architecture.config_inconsistent",
    "architecture.architecture_unknown",
    "architecture.target_cannot_capture",
    "architecture.dtype_unknown",
    "architecture.quantization_unfit",
    "architecture.vllm_target_unfit_for_drafts",
    "architecture.vllm_aux_layers_ignored",
    "architecture.dflash_layers_guessed",
    "vocabulary.vocab_size_differs",
    "vocabulary.standalone_vocabulary_differs",
    "vocabulary.vllm_vocabulary_differs",
    "weights.config_value_refused",
    "weights.config_from_template",
    "weights.dtype_differs",
    "weights.dtype_misstated",
    "weights.quantization_inherited",
    "weights.quantization_contradicts",
    "weights.tied_head_contradicts",
    "weights.head_without_weights",
    "weights.vocabulary_map_missing",
    "weights.vocabulary_map_broken",
    "weights.mtp_layer_missing",
    "weights.mtp_quantization_differs",
    "weights.loader_refuses",
    "weights.tensors_do_not_fit",
    "weights.tensors_cut_or_padded",
    "weights.parameters_without_weights",
    "weights.tensors_dropped",
    "files.config_unreadable",
    "files.key_repeated",
    "files.number_not_json",
    "files.copies_differ",
    "files.weights_absent",
    "files.weight_shard_missing",
    "files.weight_file_broken",
    "files.weight_index_wrong",
    "files.config_older_than_weights",
    "files.links_broken",
    "files.files_unreadable",
    "files.names_differ_in_case",
    "files.remote_code_missing",
    "launch.arguments_not_understood",
    "launch.algorithm_unknown",
    "launch.step_counts_contradict",
    "launch.topk_needs_other_backend",
    "launch.attention_backend_unfit",
    "launch.parallelism_unfit",
    "launch.cache_setting_unfit",
    "launch.draft_path_missing",
    "launch.speculation_off",
    "launch.checkpoints_swapped",
    "launch.same_checkpoint_twice",
    "launch.vllm_speculative_config_invalid",
    "launch.vllm_method_unfit",
    "launch.vllm_token_count_unfit",
    "launch.vllm_runner_unfit",
    "launch.vllm_async_scheduling_unfit",
    "launch.vllm_batch_budget_small",
    "launch.vllm_features_exclude_drafts",
    "launch.vllm_verification_lossy",
    "nccl.nccl_list_not_understood",
    "nccl.nccl_collective_without_algorithm",
    "nccl.nccl_only_named_collectives",
    "nccl.nccl_ll128_forced",
    "nccl.nccl_level_not_understood",
    "nccl.nccl_word_for_number",
    "nccl.nccl_number_half_read",
    "nccl.nccl_number_out_of_range",
    "nccl.nccl_interface_list",
    "nccl.nccl_variable_unknown",
    "nccl.nccl_variable_of_other_release",
    "nccl.nccl_changed_by_engine",
    "nccl.nccl_conf_overruled",
    "nccl.nccl_ranks_disagree",
    "nccl.nccl_releases_differ",
    "nccl.nccl_p2p_across_host_bridge",
    "nccl.nccl_p2p_settings_contradict",
    "nccl.nccl_no_direct_transport",
    "nccl.nccl_nvls_forced",
    "nccl.nccl_cumem_conflict",
    "nccl.nccl_mnnvl_without_fabric",
    "nccl.nccl_channel_bounds",
    "nccl.nccl_graph_settings",
    "nccl.nccl_debug_setting",
    "nccl.nccl_library_replaced",
    "nccl.engine_variable_unknown",
    "nccl.nccl_setting_explained",
    "launch.engine_refuses",
)


@cache
def load_rules() -> tuple[Rule, ...]:
    """Return all rules, in the order of the registry."""
    return tuple(rule for rule, _ in _loaded())


@cache
def load_area(area: str) -> tuple[Rule, ...]:
    """Return the rules of one folder, without importing the others."""
    names = (name for name in _MODULES if name.startswith(f"{area}."))
    return tuple(import_module(f"specpreflight.rules.{name}").RULE for name in names)


@cache
def _loaded() -> tuple[tuple[Rule, ModuleType], ...]:
    modules = (import_module(f"specpreflight.rules.{name}") for name in _MODULES)
    return tuple((module.RULE, module) for module in modules)


def is_claimed(topic: str, engine: str) -> bool:
    """Return whether some rule explains this engine's events of this topic."""
    return any(rule.holds_for(engine) and rule.claims(topic) for rule in load_rules())


def find_rule(name: str) -> Rule:
    """Return the rule called `name`.

    Raises:
        UsageError: there is none; the hint names the nearest.
    """
    for rule in load_rules():
        if rule.name == name:
            return rule
    from difflib import get_close_matches

    near = get_close_matches(name, [rule.name for rule in load_rules()], 1)
    hint = f"did you mean `{near[0]}`?" if near else "`specpreflight rules` lists them"
    raise UsageError(f"no rule is called `{name}`", hint=hint)


def read_page(name: str) -> str:
    """Return the user's page of a rule: the docstring of its module."""
    rule = find_rule(name)
    module = next(module for known, module in _loaded() if known is rule)
    return inspect.cleandoc(module.__doc__ or "")
