"""Everything that is known of one release, by topic: what releases are compared by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specpreflight.engines.base import Facts
from specpreflight.engines.vllm.data_files import read_data
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.variables import known_variables

#: Named list of a release → what it is.
_CONSTANTS: Mapping[str, str] = {
    "mtp_model_types": "the model types that are drafts for multi-token prediction",
    "eagle_methods": "the methods whose drafts take the target's hidden states",
    "cache_only_rope_types": "the kinds of RoPE whose table alone depends on the length",
    "quantization_methods": "the quantisation methods that it knows",
    "deprecated_quantization": "the quantisation methods that need a flag to be allowed",
    "attention_backends": "the attention backends that it has",
    "speculators_types": "the kinds of draft that a config of `speculators` may state",
    "v2_runner_architectures": "the architectures for which model runner V2 is the default",
    "aux_hidden_states_targets": "the model types that give hidden states to EAGLE-3 drafts",
}


def known_facts(knowledge: Knowledge) -> Facts:
    """Return the facts of a release, `{topic: {entry: {field: JSON value}}}`."""
    return {
        "requirements": {"transformers": {"version": knowledge.transformers}},
        "behaviour": {
            name: {"value": list(found), "about": _CONSTANTS.get(name, "")}
            for name in sorted(read_data("constants"))
            if (found := knowledge.constant(name))
        },
        "flags": {flag.names[0]: _plain(flag) for flag in knowledge.flags.values()},
        "speculative keys": {
            name: dict(about) for name, about in sorted(knowledge.speculative_keys.items())
        },
        "variables": {name: {} for name in sorted(known_variables(knowledge.version))},
        "architectures": {
            name: {"class": found.class_name, "interfaces": sorted(found.interfaces)}
            for name, found in sorted(knowledge.architectures.items())
        },
        "configs": {
            name: {"class": dotted} for name, dotted in sorted(knowledge.config_classes.items())
        },
    }


def _plain(flag: Any) -> Mapping[str, Any]:
    known = flag._asdict()
    aliases = list(known.pop("names")[1:])
    del known["dest"]
    return {key: value for key, value in known.items() if value is not None} | (
        {"aliases": aliases} if aliases else {}
    )
