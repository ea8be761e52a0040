"""The steps of each release, in its order.

Restates the order of `server_args.py:__post_init__` (all releases) and of
`arg_groups/pipeline.py:run_resolution_pipeline` (0.5.19 and newer), `check_server_args` at the end.
Steps that no launch with speculation depends on are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from specpreflight.engines.sglang.server_args import (
    attention_backends,
    cache,
    checks,
    defaults,
    deterministic,
    disaggregation,
    memory,
    moe,
    parallelism,
    unified_memory,
)
from specpreflight.engines.sglang.server_args.speculative.hook import handle_speculative_decoding
from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.engines.sglang.server_args.target_models.adjustments import (
    handle_model_specific_adjustments,
)

if TYPE_CHECKING:
    from specpreflight.engines.sglang.knowledge import Knowledge


class Step(NamedTuple):
    """One step of the engine's argument handling.

    Attributes:
        name: of the engine's function where it stands in `arg_groups/`.
        run: its restatement.
        file: the engine's file below `arg_groups/`.
        fills: settings that are unknown where the step cannot be predicted.
        moved: the release that moved it there; before, it was a method in `server_args.py`.
    """

    name: str
    run: Callable[[ServerArgs], None]
    file: str = ""
    fills: tuple[str, ...] = ()
    moved: str = "0.5.19"

    def source(self, release: Knowledge) -> str:
        """Return file and function of the step in a release."""
        if release.since(self.moved):
            return f"arg_groups/{self.file}:{self.name}"
        if self.run is checks.check_server_args:
            return f"server_args.py:{self.name}"
        return f"server_args.py:{'_' + self.name if release.since('0.5.3') else '__post_init__'}"


MEMORY = Step("handle_gpu_memory_settings", memory.handle_gpu_memory_settings, "memory_hook.py")
CPU = Step("handle_cpu_backends", defaults.handle_cpu_backends, "platform_hook.py")
MODEL = Step(
    "handle_model_specific_adjustments",
    handle_model_specific_adjustments,
    "model_hook.py",
    ("attention_backend",),
)
SAMPLING = Step("handle_sampling_backend", defaults.fill_sampling_backend, "overrides.py")
ATTENTION = Step(
    "handle_attention_backend_compatibility",
    attention_backends.handle_attention_backend_compatibility,
    "attention_hook.py",
    ("attention_backend",),
)
DETERMINISTIC = Step(
    "handle_deterministic_inference",
    deterministic.handle_deterministic_inference,
    "attention_hook.py",
)
PAGE_SIZE = Step("handle_page_size", cache.fill_page_size_default, "overrides.py")
HICACHE = Step("handle_hicache", cache.handle_hicache, "hicache_hook.py")
DATA = Step("handle_data_parallelism", parallelism.handle_data_parallelism, "parallel_hook.py")
PIPELINE = Step(
    "handle_pipeline_parallelism", parallelism.handle_pipeline_parallelism, "overrides.py"
)
SPECULATIVE = Step(
    "handle_speculative_decoding",
    handle_speculative_decoding,
    "speculative_hook.py",
    moved="0.5.13",
)
DISAGGREGATION = Step(
    "handle_pd_disaggregation",
    disaggregation.handle_pd_disaggregation,
    "pd_disaggregation_hook.py",
    moved="0.5.15",
)
LOAD_FORMAT = Step("handle_load_format", defaults.handle_load_format, "model_path_hook.py")
CACHES = Step("handle_cache_compatibility", cache.handle_cache_compatibility, "kv_cache_hook.py")
MOE = (
    Step("handle_moe_kernel_config", moe.handle_moe_kernel_config, "moe_hook.py"),
    Step("handle_a2a_moe", moe.handle_a2a_moe, "moe_hook.py"),
    Step("handle_eplb_and_dispatch", moe.handle_eplb, "parallel_hook.py"),
)
CHECKS = Step("check_server_args", checks.check_server_args, "validation_hook.py")


@lru_cache(maxsize=8)
def steps(release: Knowledge) -> tuple[tuple[Step, str], ...]:
    """Return a release's steps in its order, each with its file and function."""
    handlers = release.since("0.5.3")
    before = _steps_of_handlers(release) if handlers else _steps_of_one_function(release)
    return tuple((step, step.source(release)) for step in (*before, CHECKS))


def _steps_of_one_function(release: Knowledge) -> Iterator[Step]:
    yield Step("", defaults.handle_deprecated_moe_flags)
    yield Step("", defaults.handle_missing_default_values)
    yield MEMORY
    if not release.since("0.4.9.post4"):
        yield Step("", checks.check_chunk_pages)
    if not release.since("0.4.9.post3"):
        yield Step("", checks.check_moe_dense_tp_size)
    if release.since("0.5.1"):
        yield MODEL
    yield from (CPU, SAMPLING, ATTENTION, PAGE_SIZE, DATA, *MOE, PIPELINE)
    if release.since("0.5.1"):
        yield HICACHE
    yield from (SPECULATIVE, LOAD_FORMAT, DISAGGREGATION)
    if release.since("0.5.1"):
        yield CACHES


def _steps_of_handlers(release: Knowledge) -> Iterator[Step]:
    if release.since("0.5.22"):
        yield Step(
            "handle_deprecated_dp_attention",
            defaults.handle_deprecated_dp_attention,
            "parallel_hook.py",
        )
    early_disaggregation = release.since("0.5.11")
    if early_disaggregation and not release.since("0.5.15"):
        yield DISAGGREGATION
    yield Step("handle_deprecated_args", defaults.handle_deprecated_args, "serving_hook.py")
    yield Step(
        "handle_missing_default_values", defaults.handle_missing_default_values, "serving_hook.py"
    )
    if release.since("0.5.15"):
        yield DISAGGREGATION
        yield Step(
            "handle_decode_context_parallelism"
            if release.since("0.5.20")
            else "handle_dcp_validation",
            parallelism.handle_decode_context_parallelism,
            "parallel_hook.py",
        )
    yield from (CPU, MEMORY) if release.since("0.5.7") else (MEMORY, CPU)
    yield MODEL
    if release.since("0.5.4.post1") and not release.since("0.5.8"):
        yield HICACHE
    yield SAMPLING
    if release.since("0.5.12"):
        yield DETERMINISTIC
    yield ATTENTION
    if release.since("0.5.7"):
        yield Step("handle_kv4_compatibility", cache.handle_kv4_compatibility, "kv_cache_hook.py")
    yield PAGE_SIZE
    if release.since("0.5.8"):
        yield HICACHE
    yield DATA
    if release.since("0.5.9"):
        yield Step(
            "handle_context_parallelism",
            parallelism.handle_context_parallelism,
            "parallel_hook.py",
        )
    yield from (*MOE, PIPELINE)
    if not release.since("0.5.4.post1"):
        yield HICACHE
    yield from (SPECULATIVE, LOAD_FORMAT)
    if not early_disaggregation:
        yield DISAGGREGATION
    yield CACHES
    if release.since("0.5.15"):
        yield Step(
            "handle_page_major_kv_layout",
            unified_memory.handle_page_major_layout,
            "kv_cache_hook.py",
        )
        yield Step(
            "handle_unified_memory_pool", unified_memory.handle_unified_memory, "kv_cache_hook.py"
        )
    if not release.since("0.5.12"):
        yield DETERMINISTIC
    if release.since("0.5.19"):
        yield Step("validate_deepep_v2_speculative_draft", moe.check_deepep_v2_draft, "moe_hook.py")
