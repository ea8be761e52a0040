"""Every rule there is: a line a rule, in the order in which `specpreflight rules` lists them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import NamedTuple

from specpreflight.errors import UsageError
from specpreflight.models.finding import Skipped
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule, claims_topic


class When(NamedTuple):
    """When a rule is worth importing: `topics` of events that it explains, a `fact` that it reads.

    A rule with neither is `always` asked, and one that reads configs beside its events. Most rules
    have nothing to say of most launches, and a check imports only those that may.
    """

    topics: tuple[str, ...] = ()
    fact: str | None = None
    always: bool = False

    def claims(self, topic: str) -> bool:
        """Return whether the rule explains events of that topic."""
        return claims_topic(self.topics, topic)

    def may_report(self, launch: Launch) -> bool:
        """Return whether the rule may have something to say of a launch without its events."""
        if self.fact is not None:
            return launch.facts.get(self.fact) is not None
        return self.always or not self.topics


ALWAYS = When()


def on(*topics: str) -> When:
    """Import the rule where the engine has an event of one of these topics."""
    return When(topics=topics)


def always_and_on(*topics: str) -> When:
    """Import the rule always; it explains events of these topics, and looks for more."""
    return When(topics=topics, always=True)


def fact(name: str) -> When:
    """Import the rule where the launch has this fact."""
    return When(fact=name)


_RULES: Mapping[str, When] = {
    "context.draft_context_shorter": on(
        "context.draft-shorter", "context.draft-overridden", "context.draft-let-through"
    ),
    "context.rotary_table_short": on("serving.rotary-table-short"),
    "context.no_room_for_drafts": on("serving.rows-too-short"),
    "context.target_context_exceeded": on("context.target-exceeded"),
    "context.draft_context_longer": ALWAYS,
    "context.vllm_length_refused": on(
        "context.target-length-exceeded",
        "context.draft-length-exceeded",
        "context.speculative-length-exceeded",
        "arguments.length-invalid",
    ),
    "context.vllm_length_changed": on(
        "context.draft-positions-raised",
        "context.draft-length-lowered",
        "context.target-length-lowered",
        "context.draft-length-given",
        "context.overrides-not-inherited",
    ),
    "rope.rope_theta_differs": ALWAYS,
    "rope.rope_scaling_differs": ALWAYS,
    "rope.partial_rotary_differs": ALWAYS,
    "rope.rope_key_layout": ALWAYS,
    "architecture.hidden_size_differs": ALWAYS,
    "architecture.standalone_widths_differ": on("serving.standalone-widths"),
    "architecture.heads_inconsistent": ALWAYS,
    "architecture.aux_layers_out_of_range": ALWAYS,
    "architecture.aux_layers_not_used": on("eagle3.graphs-default-layers", "eagle3.ids-shifted"),
    "architecture.algorithm_draft_mismatch": on(
        "eagle3.algorithm-eagle",
        "eagle3.draft-not-eagle3",
        "eagle3.draft-not-eagle",
        "draft.standalone-rewritten",
    ),
    "architecture.training_switch_unread": on("eagle3.key-unread"),
    "architecture.model_type_unknown": on("config.unknown-model-type", "config.missing-model-type"),
    "architecture.remote_code_needed": on("config.remote-code"),
    "architecture.config_inconsistent": on(
        "config.inconsistent",
        "config.markov-head",
        "config.mtp-layers",
        "config.rejected",
        "rope.missing-keys",
        "eagle3.config-null",
        "eagle3.config-unfit",
    ),
    "architecture.architecture_unknown": on(
        "architecture.draft-unregistered",
        "architecture.target-unregistered",
        "config.missing-architectures",
        "target.no-architecture",
    ),
    "architecture.target_cannot_capture": on(
        "architecture.target-cannot-capture", "architecture.target-cannot-share"
    ),
    "architecture.dtype_unknown": on("dtype."),
    "architecture.quantization_unfit": on("quantization."),
    "architecture.vllm_target_unfit_for_drafts": on(
        "architecture.target-unsupported", "architecture.target-lacks-eagle3"
    ),
    "architecture.vllm_aux_layers_ignored": on("architecture.aux-layers-ignored"),
    "architecture.vllm_aux_layers_missing": on("architecture.aux-layers-missing"),
    "architecture.vllm_cache_pages_differ": on("architecture.cache-pages-differ"),
    "architecture.vllm_draft_overflows_half": on("architecture.draft-overflows"),
    "architecture.dflash_layers_guessed": ALWAYS,
    "vocabulary.vocab_size_differs": ALWAYS,
    "vocabulary.standalone_vocabulary_differs": ALWAYS,
    "vocabulary.mask_token_unfit": on(
        "config.mask-token-conflict", "config.mask-token-outside", "config.mask-token-unknown"
    ),
    "vocabulary.token_map_unfit": fact("token_map"),
    "vocabulary.vllm_vocabulary_differs": on(
        "vocabulary.draft-differs", "vocabulary.head-not-shared"
    ),
    "weights.config_value_refused": on("config.wrong-type"),
    "weights.config_from_template": ALWAYS,
    "weights.dtype_differs": ALWAYS,
    "weights.dtype_misstated": ALWAYS,
    "weights.quantization_inherited": ALWAYS,
    "weights.quantization_contradicts": ALWAYS,
    "weights.tied_head_contradicts": ALWAYS,
    "weights.head_without_weights": ALWAYS,
    "weights.vocabulary_map_missing": ALWAYS,
    "weights.vocabulary_map_broken": ALWAYS,
    "weights.confidence_head_missing": on("config.confidence-head"),
    "weights.mtp_layer_missing": ALWAYS,
    "weights.mtp_quantization_differs": ALWAYS,
    "weights.loader_refuses": ALWAYS,
    "weights.tensors_do_not_fit": ALWAYS,
    "weights.tensors_cut_or_padded": ALWAYS,
    "weights.parameters_without_weights": ALWAYS,
    "weights.tensors_dropped": ALWAYS,
    "files.config_unreadable": on("config.unreadable", "config.missing"),
    "files.key_repeated": ALWAYS,
    "files.number_not_json": ALWAYS,
    "files.generation_config_broken": ALWAYS,
    "files.copies_differ": ALWAYS,
    "files.weights_absent": ALWAYS,
    "files.checkpoint_nested": ALWAYS,
    "files.weight_shard_missing": ALWAYS,
    "files.weight_file_broken": ALWAYS,
    "files.weight_index_wrong": ALWAYS,
    "files.config_older_than_weights": ALWAYS,
    "files.links_broken": ALWAYS,
    "files.files_unreadable": ALWAYS,
    "files.names_differ_in_case": ALWAYS,
    "files.remote_code_missing": ALWAYS,
    "launch.words_lost": fact("command"),
    "launch.variable_not_exported": fact("command"),
    "launch.arguments_not_understood": on("arguments.not-parsed", "arguments.parse"),
    "launch.algorithm_unknown": on("arguments.unknown-algorithm", "arguments.algorithm-device"),
    "launch.step_counts_contradict": always_and_on(
        "arguments.parameters-without-steps",
        "arguments.steps-without-topk",
        "arguments.draft-tokens-adjusted",
        "arguments.block-draft-steps",
        "arguments.topk-paged",
        "arguments.multi-layer-tokens",
        "arguments.tree-without-tokens",
    ),
    "launch.topk_needs_other_backend": on(
        "cache.topk-paged",
        "cache.paged-flashinfer",
        "attention.trtllm-mha-topk",
        "arguments.spec-v2-topk",
        "arguments.mtp-topk",
        "arguments.ngram-topk",
    ),
    "launch.attention_backend_unfit": on("attention."),
    "launch.draft_attention_backend_unfit": on(
        "draft.attention-kind", "draft.attention-unsupported"
    ),
    "launch.algorithm_settings_unfit": on(
        "arguments.block-size",
        "arguments.draft-window",
        "arguments.draft-window-small",
        "arguments.ragged-verify-mode",
        "arguments.ngram-corpus",
        "arguments.uno",
        "arguments.algorithm-target",
        "arguments.frozen-kv-eagle3",
        "arguments.token-map-mtp",
    ),
    "launch.feature_excludes_drafts": on(
        "arguments.lora",
        "arguments.lora-speculative",
        "arguments.mixed-chunk",
        "arguments.priority-scheduling",
        "arguments.pd-multiplexing",
        "arguments.compile-without-padding",
        "arguments.rejection-sampling",
        "arguments.rejection-sampling-vocabulary",
        "arguments.block-verification",
        "arguments.adaptive-steps",
        "arguments.skip-dp-mlp-sync",
        "arguments.draft-moe-runner",
    ),
    "launch.parallelism_unfit": on("parallelism."),
    "launch.cache_setting_unfit": on("cache.", "memory."),
    "launch.draft_path_missing": on(
        "arguments.draft-path-missing", "draft.is-target", "draft.path-not-defaulted"
    ),
    "launch.speculation_off": ALWAYS,
    "launch.checkpoints_swapped": ALWAYS,
    "launch.same_checkpoint_twice": ALWAYS,
    "launch.vllm_json_key_unknown": on("arguments.json-key-unknown", "arguments.json-key-ignored"),
    "launch.vllm_speculative_config_invalid": on(
        "arguments.speculative-key-unknown",
        "arguments.speculative-key-ignored",
        "arguments.speculative-value-invalid",
        "arguments.speculative-not-an-object",
        "arguments.given-twice",
    ),
    "launch.vllm_method_unfit": on(
        "architecture.method-unsupported",
        "arguments.method-overridden",
        "arguments.draft-missing",
        "arguments.suffix-package-missing",
        "launch.draft-taken-for-model",
    ),
    "launch.vllm_token_count_unfit": on(
        "arguments.tokens-missing", "arguments.tokens-not-divisible", "launch.mtp-layer-reused"
    ),
    "launch.vllm_runner_unfit": on(
        "launch.model-runner-unsupported", "launch.model-runner-fallback"
    ),
    "launch.vllm_async_scheduling_unfit": on(
        "arguments.async-scheduling", "launch.async-scheduling-off"
    ),
    "launch.vllm_batch_budget_small": on(
        "arguments.budget-too-small", "launch.scheduled-tokens-low"
    ),
    "launch.vllm_features_exclude_drafts": on("arguments.fast-prefill", "arguments.microbatching"),
    "launch.vllm_verification_lossy": on("launch.lossy-verification"),
    "nccl.nccl_list_not_understood": fact("nccl"),
    "nccl.nccl_collective_without_algorithm": fact("nccl"),
    "nccl.nccl_only_named_collectives": fact("nccl"),
    "nccl.nccl_ll128_forced": fact("nccl"),
    "nccl.nccl_level_not_understood": fact("nccl"),
    "nccl.nccl_word_for_number": fact("nccl"),
    "nccl.nccl_number_half_read": fact("nccl"),
    "nccl.nccl_number_out_of_range": fact("nccl"),
    "nccl.nccl_interface_list": fact("nccl"),
    "nccl.nccl_variable_unknown": fact("nccl"),
    "nccl.nccl_variable_of_other_release": fact("nccl"),
    "nccl.nccl_changed_by_engine": fact("nccl"),
    "nccl.nccl_conf_overruled": fact("nccl"),
    "nccl.nccl_ranks_disagree": fact("nccl"),
    "nccl.nccl_releases_differ": fact("nccl"),
    "nccl.nccl_p2p_across_host_bridge": fact("nccl"),
    "nccl.nccl_p2p_settings_contradict": fact("nccl"),
    "nccl.nccl_no_direct_transport": fact("nccl"),
    "nccl.nccl_nvls_forced": fact("nccl"),
    "nccl.nccl_cumem_conflict": fact("nccl"),
    "nccl.nccl_mnnvl_without_fabric": fact("nccl"),
    "nccl.nccl_channel_bounds": fact("nccl"),
    "nccl.nccl_graph_settings": fact("nccl"),
    "nccl.nccl_debug_setting": fact("nccl"),
    "nccl.nccl_library_replaced": fact("nccl"),
    "nccl.engine_variable_unknown": fact("engine_variables"),
    "nccl.nccl_setting_explained": fact("nccl"),
    "launch.engine_tree_assumed": on("engine.tree-assumed"),
    "launch.engine_refuses": ALWAYS,
}


def rule_names() -> tuple[str, ...]:
    """Return the names of all rules, importing none: a rule is called as its module is."""
    return tuple(_name_of(module) for module in _RULES)


def rules_for(launch: Launch, resolved: Resolved) -> Iterator[Rule]:
    """Yield the rules of this engine that may have something to say of this launch."""
    claiming = {name for event in resolved.events for name in _claiming(event.topic)}
    for name, when in _RULES.items():
        if name in claiming or when.may_report(launch):
            rule = _load(name)
            if rule.holds_for(launch.engine.name):
                yield rule


def load_rules() -> tuple[Rule, ...]:
    """Return all rules, in the order of the registry."""
    return tuple(_load(name) for name in _RULES)


def load_area(area: str) -> tuple[Rule, ...]:
    """Return the rules of one folder, without importing the others."""
    return tuple(_load(name) for name in _RULES if name.startswith(f"{area}."))


@lru_cache(maxsize=1024)
def _claiming(topic: str) -> tuple[str, ...]:
    """Return the modules that are imported where the engine has an event of this topic."""
    return tuple(name for name, when in _RULES.items() if when.claims(topic))


@cache
def _load(name: str) -> Rule:
    rule: Rule = import_module(f"specpreflight.rules.{name}").RULE
    return rule


def is_claimed(topic: str, engine: str) -> bool:
    """Return whether some rule explains this engine's events of this topic."""
    return any(
        claims_topic(_topics(name, when), topic) and _load(name).holds_for(engine)
        for name, when in _RULES.items()
    )


def _topics(name: str, when: When) -> tuple[str, ...]:
    """Return the topics of a rule; one that is always asked is imported by then."""
    return _load(name).topics if when == ALWAYS else when.topics


def find_rule(name: str, others: Sequence[Rule] = ()) -> Rule:
    """Return the rule called `name`, among `others` (those of plugins) too.

    Raises:
        UsageError: there is none; the hint names the nearest.
    """
    for rule in others:
        if rule.name == name:
            return rule
    require_names([name], others)
    return next(_load(module) for module in _RULES if _name_of(module) == name)


def require_names(names: Sequence[str], others: Sequence[Rule] = ()) -> None:
    """Refuse names that no rule has.

    Raises:
        UsageError: for the first of them; the hint names the nearest.
    """
    known = [*rule_names(), *(rule.name for rule in others)]
    for name in names:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, 1)
            hint = f"did you mean `{near[0]}`?" if near else "`specpreflight rules` lists them"
            raise UsageError(f"no rule is called `{name}`", hint=hint)


def undecided(launch: Launch, resolved: Resolved) -> Iterator[Skipped]:
    """Yield the rules that a missing fact about the machine keeps from a verdict, and on which."""
    reasons: dict[str, list[str]] = {}
    for topic, why in resolved.unknown:
        for name in _claiming(topic):
            if (rule := _load(name)).holds_for(launch.engine.name):
                reasons.setdefault(rule.name, []).append(why)
    for name, all_of_them in reasons.items():
        yield Skipped(name, "hardware", "; ".join(dict.fromkeys(all_of_them)))


def read_page(name: str, others: Sequence[Rule] = ()) -> str:
    """Return the user's page of a rule: the docstring of its module.

    Raises:
        UsageError: there is no such rule.
    """
    rule = find_rule(name, others)
    for module in _RULES:
        if _name_of(module) == name:
            return inspect.cleandoc(import_module(f"specpreflight.rules.{module}").__doc__ or "")
    return inspect.cleandoc(sys.modules[rule.check.__module__].__doc__ or rule.summary)


def _name_of(module: str) -> str:
    return module.rpartition(".")[2].replace("_", "-")
