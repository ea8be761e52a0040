"""The state of a speculative config while vLLM works on it."""

from __future__ import annotations

from dataclasses import dataclass

from specpreflight.engines.vllm.model_config import Model
from specpreflight.engines.vllm.speculative_keys import Keys

#: Methods that run without a draft checkpoint, with the release that brought them.
WITHOUT_DRAFT = {
    "ngram": "0.10.0",
    "suffix": "0.11.1",
    "extract_hidden_states": "0.17.0",
    "ngram_gpu": "0.18.0",
    "custom_class": "0.22.0",
}


@dataclass(slots=True)
class Speculation:
    """What the release made of the speculative config.

    Attributes:
        keys: the fields, given or default.
        method: the method taken, `None` where the release chose none.
        path: the draft's path text, or the method's own word.
        draft: the draft's model, the target's for methods without one, `None` where unreadable.
        num_tokens: speculative tokens, `None` where unknown.
        parallel: `parallel_drafting` after the method had its say.
        draft_tp, draft_pp: the draft's parallel sizes.
    """

    keys: Keys
    method: str | None = None
    path: str | None = None
    draft: Model | None = None
    num_tokens: int | None = None
    parallel: bool = False
    draft_tp: int = 1
    draft_pp: int = 1

    @property
    def has_draft(self) -> bool:
        """Whether the method has a draft model of its own."""
        return self.draft is not None and self.draft.role == "draft"

    @classmethod
    def of_target(cls, target: Model) -> Speculation:
        """Return a stand-in for checks that the target passes as well as a draft."""
        return cls(Keys({}, {}, (), ()), draft=target)
