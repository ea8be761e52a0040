"""Causes in the arguments, told by the argument parser or by the engine."""

from __future__ import annotations

from typing import Final

from specpreflight.engines.logs.causes.shape import Cause, cause

_ARGPARSE: Final = r"^[\w. -]+: error: (?:argument (?P<flag>[^:\n]+): )?"

ARGUMENTS: Final[tuple[Cause, ...]] = (
    cause(
        "L-ARG-UNREC",
        _ARGPARSE + r"unrecognized arguments: (?P<arguments>[^\n]+)",
        "ARG",
        "arguments-not-understood",
    ),
    cause(
        "L-ARG-CHOICE",
        _ARGPARSE + r"invalid choice: '?(?P<value>[^'\n]*?)'? \(choose from"
        r" (?P<choices>[^\n]*)\)",
        "ARG",
        "arguments-not-understood",
    ),
    cause(
        "L-ARG-VLJSON",
        _ARGPARSE + r"Value (?P<value>.+?) cannot be converted to",
        "ARG",
        "vllm-speculative-config-invalid",
    ),
    cause(
        "L-ARG-TYPE",
        _ARGPARSE + r"(?:invalid \w+ value: '(?P<value>[^']*)'|expected |ambiguous option|.*)",
        "ARG",
        "arguments-not-understood",
    ),
    cause(
        "L-ARG-BARE",
        r"AssertionError",
        "ARG",
        "step-counts-contradict",
        "sglang",
        r"speculative_eagle_topk is None|speculative_num_draft_tokens is None",
    ),
    cause(
        "L-ARG-NONE",
        r"'>' not supported between instances of 'NoneType' and 'int'",
        "ARG",
        "step-counts-contradict",
        "sglang",
    ),
    cause(
        "L-ARG-NONE",
        r"'>' not supported between instances of 'NoneType' and 'int'",
        "CFG",
        "vllm-token-count-unfit",
        "vllm",
    ),
    cause(
        "L-ARG-PAGE",
        r"speculative_eagle_topk(?: ?\((?P<topk>\d+)\))? > 1 with page_size"
        r"(?: ?\((?P<page_size>\d+)\))? > 1(?:.*got attention_backend=(?P<backend>\w+))?",
        "ARG",
        "topk-needs-other-backend",
        "sglang",
    ),
    cause(
        "L-ARG-TRTLLM",
        r"trtllm_mha backend only supports topk = 1",
        "ARG",
        "topk-needs-other-backend",
    ),
    cause(
        "L-ARG-SPECV2",
        r"Spec v2 currently only supports topk = 1",
        "ARG",
        "topk-needs-other-backend",
    ),
    cause(
        "L-ARG-ALG",
        r"Unknown speculative algorithm(?: name:)? '?(?P<algorithm>[\w-]+)",
        "ARG",
        "algorithm-unknown",
        "sglang",
    ),
    cause(
        "L-ARG-NODRAFT",
        r"(?P<algorithm>\w+) speculative decoding requires setting "
        r"--speculative-draft-model-path",
        "ARG",
        "draft-path-missing",
    ),
    cause(
        "L-ARG-PP",
        r"Pipeline parallelism is not compatible with overlap schedule|PP is not compatible with "
        r"MTP models",
        "ARG",
        "parallelism-unfit",
    ),
    cause(
        "L-ARG-VLKEY",
        r"for SpeculativeConfig\s+(?P<key>\w+)\s+Unexpected keyword argument|"
        r"SpeculativeConfig\S* got an unexpected keyword argument '(?P<key_>\w+)'",
        "CFG",
        "vllm-speculative-config-invalid",
        "vllm",
    ),
    cause(
        "L-ARG-VLNUM",
        r"num_speculative_tokens must be provided with speculative model|"
        r"but `num_speculative_tokens` was not provided|"
        r"num_speculative_tokens:(?P<num_spec_tokens>\d+) must be divisible by "
        r"n_predict=(?P<n_predict>\d+)|Expected num_speculative_tokens to be greater than zero "
        r"\((?P<num_spec_tokens_>-?\d+)\)",
        "CFG",
        "vllm-token-count-unfit",
        "vllm",
    ),
    cause(
        "L-ARG-VLTP",
        r"speculative_draft_tensor_parallel_size=(?P<draft_tp>\d+) cannot be other value|"
        r"'tensor_parallel_size' is not a valid argument in the speculative_config|"
        r"'tensor_parallel_size' must be the same\. Got (?P<draft_tp_>\d+) and (?P<tp>\d+)",
        "CFG",
        "vllm-speculative-config-invalid",
        "vllm",
    ),
    cause(
        "L-ARG-VLMETHOD",
        r"Unsupported speculative method: '?(?P<method>[\w-]+)|Unknown speculative decoding "
        r"method: (?P<method_>[\w-]+)|"
        r"Speculative decoding with (?P<method__>draft model) is not supported yet",
        "CFG",
        "vllm-method-unfit",
        "vllm",
    ),
)
