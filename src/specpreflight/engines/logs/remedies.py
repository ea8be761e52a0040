"""The ways out of a failure that its message alone can tell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specpreflight.models.diagnosis import Diagnosis

_CONTEXT: Final = (
    "set `max_position_embeddings` to {target_context} in the draft's config.json"
    " (`{check} --fix`)",
    "or start with SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1, which keeps the draft's file as it"
    " is",
)
_SEE: Final = ("see all that stops it: `{check}`",)
_REMEDIES: Final[Mapping[str, tuple[str, ...]]] = {
    "L-CTX-DRAFT": _CONTEXT,
    "L-CTX-DRAFT-EARLY": _CONTEXT,
    "L-CTX-TARGET": ("lower `--context-length` to {target_context}",),
    "L-CTX-RUN": (
        "the draft has positions for {draft_context} tokens: set `--context-length` to that, or use"
        " a draft made for {target_context}",
    ),
    "L-VL-ROPE": ("the draft has positions for {draft_context} tokens: lower `--max-model-len`",),
    "L-VL-MAXLEN": ("lower `--max-model-len` to {target_context}",),
    "L-VL-SPECLEN": ("lower `max_model_len` in the speculative config",),
    "L-CFG-MODELTYPE": (
        "give the config a `model_type` that this transformers release knows, or upgrade it",
    ),
    "L-CFG-TRUST": ("add `--trust-remote-code`",),
    "L-CFG-NOFILE": ("copy {file} into {checkpoint}",),
    "L-CFG-STRICT": ("write `{key}` as {expected}, not {got}",),
    "L-CFG-ARCH": ("name a class in `architectures` that this release has (`{check}` lists them)",),
    "L-CFG-ARCH-VL": (
        "name a class in `architectures` that this release has (`{check}` lists them)",
    ),
    "L-CFG-TP": ("choose a tensor-parallel size that divides {heads}",),
    "L-CFG-VOCAB": ("use a draft whose `vocab_size` is the target's {target_vocab}",),
    "L-E3-IFACE": ("use a release, or a target class, that can capture EAGLE-3 layers",),
    "L-E3-IFACE23": ("use a release, or a target class, that can capture EAGLE-3 layers",),
    "L-E3-EMBED": ("give `--speculative-draft-model-path`, and the algorithm of that draft",),
    "L-W-SHARD": ("download the weights again: {path}",),
    "L-W-KEY": _SEE,
    "L-W-SIZE": _SEE,
    "L-W-EMPTY": _SEE,
    "L-SHAPE-FC": ("the draft was made for another target, or for other auxiliary layers",),
    "L-ARG-NONE": ("add {missing_flag}",),
    "L-ARG-BARE": ("add {missing_flag}, or give none of the three numbers",),
    "L-ARG-UNREC": ("this release has no {arguments}; `{check}` names the nearest",),
    "L-ARG-CHOICE": ("{flag}: choose from {choices}",),
    "L-ARG-NODRAFT": ("add `--speculative-draft-model-path`",),
    "L-ARG-PAGE": ("set `--speculative-eagle-topk` to 1, or `--page-size` to 1",),
    "L-ARG-TRTLLM": ("set `--speculative-eagle-topk` to 1, or use another attention backend",),
    "L-BK-MLA": (
        "give the draft a backend of its own: `--speculative-draft-attention-backend`",
    ),
    "L-BK-EAGLE": ("use another backend than {backend}: `--attention-backend`",),
    "L-MEM-VLKV": (
        "lower `--max-model-len` to {estimated_max} or less, or raise `--gpu-memory-utilization`",
    ),
    "L-MEM-VLFREE": ("free the GPU, or lower `--gpu-memory-utilization` from {utilization}",),
    "L-MEM-GRAPH": (
        "lower `--mem-fraction-static` (it is {mem_fraction_static}) or `--cuda-graph-max-bs`",
    ),
    "L-MEM-TKV": (
        "raise `--mem-fraction-static` above {needed_fraction}", "raise `--mem-fraction-static`",
    ),
    "L-MEM-OOM": (
        "lower `--mem-fraction-static` (it is {mem_fraction_static}), or the number of requests",
    ),
    "L-MEM-KILL": ("the host's memory ran out: give it more, or load fewer shards at once",),
    "L-NCCL-SYS": (
        "give the container more shared memory (--shm-size), {segment_size} bytes did not fit",
        "read NCCL's last error: {last_error}", "set NCCL_DEBUG=INFO and read its last error",
    ),
    "L-NCCL-USAGE": ("leave {function} an algorithm: NCCL_ALGO is {nccl_algo}",),
    "L-NCCL-HANG": ("try NCCL_P2P_DISABLE=1; then look at IOMMU and ACS, and at NVLS",),
    "L-DIST-TIMEOUT": ("look at the rank that did not get as far as the others",),
    "L-DIST-BARRIER": ("look at the ranks that wrote nothing: they did not finish loading",),
    "L-DIST-STORE": ("{joined} of {expected} ranks came: look at the others",),
    "L-HUB-404": ("{checkpoint} is neither a folder here nor a repository of the Hub",),
    "L-HUB-GATED": ("accept the terms of {checkpoint} and set HF_TOKEN",),
    "L-HUB-OFFLINE": ("download it before, or unset HF_HUB_OFFLINE",),
    "L-OS-PORT": ("port {port} is taken: end what listens there, or give another `--port`",),
    "L-ENV-IMPORT": ("install {package} {required} or later", "install {module}"),
}  # fmt: skip
#: Of these only the first that can be said is said.
_ALTERNATIVES: Final = frozenset({"L-MEM-TKV", "L-NCCL-SYS", "L-ENV-IMPORT"})


def remedies(
    diagnosis: Diagnosis, *, target: str | None = None, draft: str | None = None
) -> tuple[str, ...]:
    """Return what to do, leaving out what needs a value that the log does not tell.

    Args:
        diagnosis: of the launch that died.
        target: where the target lies, if not where the log says.
        draft: the same for the draft.
    """
    found = tuple(_said(diagnosis, _check_command(diagnosis, target, draft)))
    return found[:1] if diagnosis.cause in _ALTERNATIVES else found


def _said(diagnosis: Diagnosis, check: str) -> Iterator[str]:
    values: dict[str, Any] = {**diagnosis.values, "check": check}
    for text in _REMEDIES.get(diagnosis.cause or "", ()):
        try:
            yield text.format_map(values)
        except KeyError:
            continue


def _check_command(diagnosis: Diagnosis, target: str | None, draft: str | None) -> str:
    target = target or diagnosis.launch.target
    draft = draft or diagnosis.launch.draft
    places = [shlex.quote(place) for place in (target or "TARGET", draft or "DRAFT")]
    release = diagnosis.version.high or diagnosis.version.low
    engine = f" --engine {diagnosis.engine}@{release}" if release else ""
    return f"specpreflight check {' '.join(places)}{engine}"
