"""Probes: small named questions to a tree's functions, for behaviour that flips between releases.

A probe looks at the shape of one function and answers with JSON data, or with `None` where the
function is not there or has a shape it does not know; that is stored as unknown, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specpreflight.engines.sglang.harvest.probes import arguments, backends, context, workers
from specpreflight.engines.sglang.harvest.probes.shapes import Answer, Probe
from specpreflight.engines.sglang.harvest.source_tree import SourceTree
from specpreflight.engines.sglang.tables import to_json

__all__ = ["PROBES", "Answer", "Probe", "read_probes"]

#: Every probe by the name under which `Knowledge.probe` answers it.
PROBES: Mapping[str, Probe] = {
    "arguments.algorithms": arguments.algorithms,
    "arguments.algorithms-any-case": arguments.algorithms_any_case,
    "arguments.draft-revision-default": arguments.draft_revision_default,
    "arguments.hook-reads-draft": arguments.hook_reads_draft,
    "arguments.mixed-chunk": arguments.mixed_chunk,
    "arguments.ngram-topk-with-pages": arguments.ngram_topk_with_pages,
    "arguments.pipeline-parallel": arguments.pipeline_parallel,
    "arguments.spec-v2": arguments.spec_v2,
    "arguments.topk-with-pages": arguments.topk_with_pages,
    "backends.draft-decode": backends.draft_decode,
    "backends.draft-extend": backends.draft_extend,
    "backends.one-step-needs-no-decode": backends.one_step_needs_no_decode,
    "context.ci-overrides": context.ci_overrides,
    "context.length-keys": context.length_keys,
    "context.over-length": context.over_length,
    "context.override-rewrites-draft": context.override_rewrites_draft,
    "context.override-variable": context.override_variable,
    "context.reserves-rope-cache": context.reserves_rope_cache,
    "context.text-config-order": context.text_config_order,
    "eagle3.deepseek-ids": workers.deepseek_ids,
    "eagle3.gpt-oss-ids": workers.gpt_oss_ids,
    "eagle3.graphs-with-default-layers": workers.graphs_with_default_layers,
    "eagle3.ids-read": workers.ids_read,
    "eagle3.layer-names": workers.layer_names,
    "eagle3.many-layers": workers.many_layers,
    "eagle3.mla-norm-keys": workers.mla_norm_keys,
    "eagle3.norm-keys": workers.norm_keys,
    "eagle3.use-aux-hidden-state-read": workers.use_aux_hidden_state_read,
    "workers.draft-weights": workers.draft_weights,
    "workers.target-reads-draft": workers.target_reads_draft,
    "workers.target-reads-draft-for": workers.target_reads_draft_for,
}


def read_probes(tree: SourceTree) -> dict[str, dict[str, Any]]:
    """Return `{name: {"value": …, "source": …}}` for the probes that answered."""
    found = {}
    for name, probe in PROBES.items():
        answer = probe(tree)
        if answer is not None:
            found[name] = {"value": to_json(answer.value), "source": answer.source}
    return found
