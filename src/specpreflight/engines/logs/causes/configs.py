"""Causes in the configs: context length, classes, types, files."""

from __future__ import annotations

from typing import Final

from specpreflight.engines.logs.causes.shape import Cause, cause

CONFIGS: Final[tuple[Cause, ...]] = (
    cause(
        "L-CTX-DRAFT",
        r"(?:Target model's|User-specified) context_length \((?P<target_context>\d+)\) is greater "
        r"than the derived context_length \((?P<draft_context>\d+)\)",
        "DCFG",
        "draft-context-shorter",
        "sglang",
        r"speculative/\w*worker\w*\.py:__init__",
    ),
    cause(
        "L-CTX-DRAFT-EARLY",
        r"Target model's context_length \((?P<target_context>\d+)\) is greater than the derived "
        r"context_length \((?P<draft_context>\d+)\)",
        "",
        "draft-context-shorter",
        "sglang",
        r"model_runner\.py:|spec_aux_hidden_state\.py:",
    ),
    cause(
        "L-CTX-DRAFT",
        r"Target model's context_length \((?P<target_context>\d+)\) is greater than the derived "
        r"context_length \((?P<draft_context>\d+)\)",
        "DCFG",
        "draft-context-shorter",
        "sglang",
    ),
    cause(
        "L-CTX-TARGET",
        r"User-specified context_length \((?P<asked_context>\d+)\) is greater than the derived "
        r"context_length \((?P<target_context>\d+)\)",
        "ARG",
        "target-context-exceeded",
        "sglang",
    ),
    cause(
        "L-VL-MAXLEN",
        r"User-specified max_model_len \((?P<asked_context>\d+)\) is greater than the derived "
        r"max_model_len \((?P<key>\w+)=(?P<target_context>[\d.]+)",
        "CFG",
        "vllm-length-refused",
        "vllm",
    ),
    cause(
        "L-VL-SPECLEN",
        r"speculative_max_model_len=(?P<speculative_max_model_len>\d+) cannot be larger than "
        r"(?:draft_max_model_len=(?P<draft_max_model_len>\d+)|"
        r"target_max_model_len=(?P<target_max_model_len>\d+))",
        "CFG",
        "vllm-length-refused",
        "vllm",
    ),
    cause(
        "L-CFG-MODELTYPE",
        r"has model type `(?P<model_type>[^`]+)` but Transformers does not recognize",
        "CFG|DCFG",
        "model-type-unknown",
    ),
    cause(
        "L-CFG-MODELTYPE",
        r"KeyError(?:: '(?P<model_type>[^']+)')?",
        "CFG|DCFG",
        "model-type-unknown",
        None,
        r"CONFIG_MAPPING|configuration_auto\.py:__getitem__",
    ),
    cause(
        "L-CFG-TRUST",
        r"The repository (?P<repository>\S+) contains custom code which must be executed|"
        r"Loading (?P<repository_>\S+) requires you to execute the configuration file|"
        r"Do you wish to run the custom code\?",
        "CFG|DCFG",
        "remote-code-needed",
    ),
    cause(
        "L-CFG-NOFILE",
        r"(?P<checkpoint>\S+) does not appear to have a file named (?P<file>\S+?)\.(?:\s|$)",
        "CFG|DCFG",
        "config-unreadable",
    ),
    cause(
        "L-CFG-NOTVALIDJSON",
        r"the config file at '(?P<path>[^']+)' is not a valid JSON file|"
        r"JSONDecodeError: .*line (?P<line>\d+) column (?P<column>\d+)|"
        r"'utf-8' codec can't decode byte (?P<byte>0x\w+)(?: in position (?P<position>\d+))?|"
        r"JSONDecodeError|Expecting (?:property name|value|'.' delimiter)\S*.*?: line "
        r"(?P<line_>\d+) column (?P<column_>\d+)",
        "CFG|DCFG",
        "config-unreadable",
    ),
    cause(
        "L-CFG-STRICT",
        r"Validation error for field '(?P<key>\w+)':(?:.*expected (?P<expected>[^\n]+?), got "
        r"(?P<got>[^\n(]+?)(?: \(value: (?P<value>[^\n]*)\))?$)?|"
        r"StrictDataclassClassValidationError: Class validation error for validator "
        r"'(?P<validator>[^']+)'",
        "CFG|DCFG",
        "config-value-refused",
    ),
    cause(
        "L-CFG-ARCH",
        r"Model architectures (?P<architectures>\[[^\]]*\]) (?:are not supported|"
        r"failed to be inspected)",
        "TW|DW",
        "architecture-unknown",
        "sglang",
    ),
    cause(
        "L-CFG-ARCH-VL",
        r"Model architectures (?P<architectures>\[[^\]]*\]) (?:are not supported|"
        r"failed to be inspected)|'(?P<architecture>\w+)' is not a registered model",
        "CFG",
        "architecture-unknown",
        "vllm",
    ),
    cause(
        "L-CFG-ARCH-HF",
        r"'(?P<architecture>\w+)' is not a registered model|"
        r"(?P<architecture_>\w+) has no SGlang implementation",
        "TW|DW",
        "architecture-unknown",
        "sglang",
    ),
    cause(
        "L-CFG-E3TYPE",
        r"Eagle3 is only supported for .* models\. Got .*model_type='?(?P<model_type>\w+)",
        "CFG",
        "vllm-target-unfit-for-drafts",
        "vllm",
    ),
    cause(
        "L-CFG-VOCAB",
        r"should have the same vocabulary size\. Target model vocab_size=(?P<target_vocab>\d+)\. "
        r"Draft model vocab_size=(?P<draft_vocab>\d+)",
        "CFG",
        "vllm-vocabulary-differs",
        "vllm",
    ),
    cause(
        "L-CFG-VOCAB",
        r"assert|AssertionError",
        "CFG",
        "vllm-vocabulary-differs",
        "vllm",
        r"all\(vocab_sizes\[0\] == vocab_size",
    ),
    cause(
        "L-CFG-SG-VOCAB",
        r"requires the draft model to share the same vocabulary as the target model, but got",
        "DW",
        "standalone-vocabulary-differs",
        "sglang",
    ),
    cause(
        "L-CFG-DVS",
        r"'(?P<config_class>\w+)' object has no attribute 'draft_vocab_size'",
        "DW",
        "config-inconsistent",
        "sglang",
    ),
    cause(
        "L-CFG-ROPEKEY",
        r"KeyError:? '(?P<key>factor|rope_type|type)'|Unknown RoPE scaling type (?P<rope_type>\S+)",
        "TW|DW",
        "rope-key-layout",
        None,
        r"rotary_embedding|get_rope",
    ),
    cause(
        "L-CFG-TP",
        r"Total number of attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel "
        r"size \((?P<tp>\d+)\)|AssertionError: (?P<heads_>\d+) is not divisible by (?P<tp_>\d+)",
        "CFG|CFG",
        "heads-inconsistent",
    ),
    cause(
        "L-CFG-TP",
        r"AssertionError",
        "TW|DW",
        "heads-inconsistent",
        None,
        r"num_heads % (?:self\.)?\w*tp_size == 0",
    ),
)
