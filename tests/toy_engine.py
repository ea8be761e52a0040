"""A third engine, complete: drafts may be no longer than their target, from version 2 on."""

from __future__ import annotations

from specpreflight.engines.base import Arguments
from specpreflight.models.finding import Outcome, Stage
from specpreflight.models.launch import EngineVersion
from specpreflight.models.resolved import Event, Resolved, ResolvedValue

KEY = "max_position_embeddings"


class Toy:
    name = "toy"

    def identify(self, wanted):
        return EngineVersion("toy", wanted or "2", "given" if wanted else "assumed")

    def read_arguments(self, argv, version):
        given = dict(word.removeprefix("--").partition("=")[::2] for word in argv)
        return Arguments(given, given.get("target"), given.get("draft"))

    def complete_arguments(self, words, target, draft, version):
        named = (f"--{one.role}={one.given}" for one in (target, draft) if one is not None)
        return (*named, *words)

    def known_variables(self, version):
        return frozenset()

    def facts(self, version):
        return {"behaviour": {"drafts may be longer": {"value": version.version < "2"}}}

    def resolve(self, launch):
        values = [one.value(one.role, f"/{KEY}") for one in (launch.target, launch.draft) if one]
        lengths = {value.label: ResolvedValue(value.value, KEY) for value in values}
        target, draft = (value.value for value in values)
        if draft <= target or launch.engine.version < "2":
            return Resolved(lengths, ())
        said = f"draft {draft} is longer than target {target}"
        stop = Event("toy.length", Outcome.REFUSES, Stage.DRAFT_CONFIG, said, values=tuple(values))
        return Resolved(lengths, (stop,))


ENGINE = Toy()
