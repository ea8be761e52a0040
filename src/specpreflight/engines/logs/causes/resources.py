"""Causes in attention backends, memory and CUDA graphs."""

from __future__ import annotations

from typing import Final

from specpreflight.engines.logs.causes.shape import Cause, cause

RESOURCES: Final[tuple[Cause, ...]] = (
    cause(
        "L-BK-MLA",
        r"(?P<backend>\w+_mla) backend can only be used with MLA models",
        "TKV|DKV",
        "attention-backend-unfit",
        "sglang",
    ),
    cause(
        "L-BK-EAGLE",
        r"EAGLE is not supported in (?:\w+ )?attention backend (?P<backend>\w+)",
        "DKV",
        "attention-backend-unfit",
        "sglang",
    ),
    cause(
        "L-BK-FLASHMLA",
        r"Currently (?P<backend>Flash\w+(?: MLA)?) only supports topk ?= ?1",
        "DKV",
        "topk-needs-other-backend",
        "sglang",
    ),
    cause(
        "L-BK-FLEX",
        r"currently not supported with Flex Attention backend",
        "ARG",
        "attention-backend-unfit",
    ),
    cause(
        "L-BK-INVALID",
        r"Invalid attention backend: (?P<backend>\w+)",
        "TKV",
        "attention-backend-unfit",
        "sglang",
    ),
    cause(
        "L-BK-VL",
        r"Selected backend (?:\w+\.)?(?P<backend>\w+) is not valid for this "
        r"configuration\. Reason: (?P<reasons>\[[^\n]*\])|No valid attention backend found for \w+",
        "TW|DW",
        "attention-backend-unfit",
        "vllm",
    ),
    cause(
        "L-BK-VLMETA",
        r"Unsupported attention metadata type for speculative decoding[^:\n]*: "
        r"(?P<metadata_type>[^\n]+?)\. Supported types are",
        "RUN",
        "vllm-runner-unfit",
        "vllm",
    ),
    cause(
        "L-MEM-TKV",
        r"Not enough memory\. Please try to increase --mem-fraction-static"
        r"(?:.*mem_fraction_static=(?P<mem_fraction_static>[\d.]+\d))?|Loaded weights leave no GPU "
        r"memory for the KV cache under --mem-fraction-static=(?P<mem_fraction_static_>[\d.]+\d)"
        r"(?:\. Raise --mem-fraction-static above (?P<needed_fraction>[\d.]+\d) \(minimum viable"
        r"[^)]*?= (?P<minimum_fraction>[\d.]+\d)\))?",
        "TKV",
        None,
        "sglang",
    ),
    cause(
        "L-MEM-VLKV",
        r"To serve at least one request with the models?'s max seq len \((?P<max_seq_len>\d+)\), "
        r"\((?P<needed_gib>[\d.]+) GiB KV cache is needed, which is larger than the available KV "
        r"cache memory \((?P<available_gib>[\d.]+) GiB\)"
        r"(?:.*estimated maximum model length is (?P<estimated_max>\d+))?|"
        r"No available memory for the cache blocks",
        "TKV",
        None,
        "vllm",
    ),
    cause(
        "L-MEM-VLFREE",
        r"Free memory on device(?: \S+)? \((?P<free_gib>[\d.]+)/(?P<total_gib>[\d.]+) GiB\) on "
        r"startup is less than desired GPU memory utilization \((?P<utilization>[\d.]+)",
        "DIST",
        None,
        "vllm",
    ),
    cause("L-MEM-UNBAL", r"The memory capacity is unbalanced", "DIST", None, "sglang"),
    cause(
        "L-MEM-GRAPH",
        r"Capture \w+(?: \w+)? graph failed: (?P<error>[^\n]*?OutOfMemoryError|CUDA out of memory)?"
        r"(?:.*?Tried to allocate (?P<tried>[\d.]+ \w+)\. .*?total capacity of "
        r"(?P<capacity>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free)?",
        "TGR|DGR",
        None,
        "sglang",
    ),
    cause(
        "L-MEM-OOM",
        r"(?:OutOfMemoryError|CUDA out of memory)(?:.*?Tried to allocate (?P<tried>[\d.]+ \w+)\. "
        r"GPU (?P<gpu>\d+) has a total capacity of (?P<capacity>[\d.]+ \w+) of which "
        r"(?P<free>[\d.]+ \w+) is free)?",
    ),
    cause(
        "L-MEM-RUN",
        r"(?:Prefill|Decode) out of memory\. Try to lower your batch size|alloc_req_slots runs out",
        "RUN",
        None,
        "sglang",
    ),
    cause(
        "L-VL-PAGESIZE",
        r"page size of the layer is not divisible by the maximum page size|"
        r"NotImplementedError.*page[ _]size",
        "TKV",
        "vllm-cache-pages-differ",
        "vllm",
    ),
)
