"""Files whose behaviour is restated by hand: a digest of each, to see whether a tree changed it.

A tree that has a file byte for byte as the nearest release has it behaves as that release is known
to; of another text nobody has read, what is restated is only the nearest answer.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from specpreflight.engines.sglang.harvest.source_tree import SourceTree

#: Below the package, as the sources of events name them. Files that are evaluated for each launch
#: (`srt/configs`, transformers) are not among them.
RESTATED: Final = (
    "srt/server_args.py",
    "srt/arg_groups/*.py",
    "srt/arg_groups/model_overrides/*.py",
    "srt/layers/attention/attention_registry.py",
    "srt/layers/rotary_embedding.py",
    "srt/model_executor/cuda_graph_runner.py",
    "srt/model_executor/model_runner.py",
    "srt/model_executor/model_runner_components/*.py",
    "srt/models/deepseek_v2.py",
    "srt/models/gpt_oss.py",
    "srt/models/kimi_k25_eagle3.py",
    "srt/models/llama_eagle3.py",
    "srt/speculative/dflash_worker*.py",
    "srt/speculative/draft_utils.py",
    "srt/speculative/eagle_info.py",
    "srt/speculative/eagle_utils.py",
    "srt/speculative/eagle_worker*.py",
    "srt/speculative/multi_layer_eagle_worker*.py",
    "srt/speculative/standalone_worker*.py",
)
_DIGITS: Final = 8


def read_digests(tree: SourceTree) -> dict[str, str]:
    """Return the digest of each file, by its place below the package without `srt/`."""
    return {
        path.relative_to(tree.root / "srt").as_posix(): sha256(path.read_bytes()).hexdigest()[
            :_DIGITS
        ]
        for pattern in RESTATED
        for path in tree.files(pattern)
    }
