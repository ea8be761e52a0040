"""vLLM: what each release does with a speculative launch, restated from its source."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from specpreflight.engines.base import Arguments, Facts
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.resolved import Resolved


class VLLM:
    """The engine vLLM, all its known releases."""

    name = "vllm"

    def identify(self, wanted: str | None) -> EngineVersion:
        """Return the version to predict for."""
        from specpreflight.engines.vllm.releases import identify

        return identify(wanted)

    def read_arguments(self, argv: Sequence[str], version: EngineVersion) -> Arguments:
        """Return the flags of a command line and the checkpoints they name."""
        from specpreflight.engines.vllm.arguments import parse
        from specpreflight.engines.vllm.knowledge import load

        parsed = parse(argv, load(version.version))
        speculative = parsed.values.get("speculative_config")
        keys = speculative if isinstance(speculative, dict) else {}
        draft = keys.get("model", parsed.values.get("spec_model"))
        method = keys.get("method", parsed.values.get("spec_method"))
        target = parsed.values.get("model")
        flags = {
            given.option.name.removeprefix("--"): list(given.words)
            if len(given.words) > 1
            else (given.words[0] if given.words else True)
            for given in parsed.given
        }
        return Arguments(
            flags,
            target if isinstance(target, str) else None,
            draft if isinstance(draft, str) and not _is_ngram(draft, method) else None,
        )

    def complete_arguments(
        self,
        words: Sequence[str],
        target: Checkpoint | None,
        draft: Checkpoint | None,
        version: EngineVersion,
    ) -> tuple[str, ...]:
        """Return the command line for checkpoints given beside it (`check TARGET DRAFT`)."""
        from specpreflight.engines.vllm.completion import complete
        from specpreflight.engines.vllm.knowledge import load

        return complete(words, target, draft, load(version.version))

    def known_variables(self, version: EngineVersion | None) -> Collection[str]:
        """Return the names of the engine's own environment variables."""
        from specpreflight.engines.vllm.variables import known_variables

        return known_variables(None if version is None else version.version)

    def facts(self, version: EngineVersion) -> Facts:
        """Return what is known of a version, by topic."""
        from specpreflight.engines.vllm.knowledge import load
        from specpreflight.engines.vllm.known_facts import known_facts

        return known_facts(load(version.version))

    def resolve(self, launch: Launch) -> Resolved:
        """Predict what the engine does with this launch."""
        from specpreflight.engines.vllm.engine_config import predict
        from specpreflight.engines.vllm.knowledge import load

        return predict(launch, load(launch.engine.version))


def _is_ngram(draft: str, method: object) -> bool:
    """Tell whether the draft's path is the word for drafting without one."""
    words = ("ngram", "[ngram]")
    return draft in words and (method is None or method in words)


ENGINE = VLLM()
