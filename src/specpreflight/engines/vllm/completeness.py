"""How much is known of each release of vLLM, in the form in which SGLang's is told."""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.engines.sglang.completeness import ReleaseSummary
from specpreflight.engines.sglang.release_facts import Release
from specpreflight.engines.vllm.data_files import read_data
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.releases import releases
from specpreflight.engines.vllm.variables import known_variables


def summarize() -> Iterator[ReleaseSummary]:
    """Yield a summary of every known release, oldest first.

    A release requires a range of transformers; `transformers` is the one that it is predicted
    with. `probes` counts the lists that its code keeps and that a prediction reads.
    """
    about = read_data("releases")
    for version in releases():
        knowledge = Knowledge(version)
        yield ReleaseSummary(
            release=Release(
                version,
                about[version].get("date"),
                about[version].get("torch", "").removeprefix("==") or None,
                knowledge.transformers_version,
                about[version].get("nccl"),
            ),
            flags=len({flag.names for flag in knowledge.flags.values()}),
            variables=len(known_variables(version)),
            classes=len(knowledge.architectures),
            probes=sum(bool(known) for known in knowledge.constants.values()),
            unknown=(),
        )
