"""Everything that is known of one version, by topic: what releases are compared by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from specpreflight.engines.base import Facts
from specpreflight.engines.sglang.facts import Flag
from specpreflight.engines.sglang.knowledge import Knowledge
from specpreflight.engines.sglang.tables import to_json

#: Keys of a table's entries that say where something stands, not what it is.
_PLACES = frozenset({"after", "source", "module", "missing"})


def known_facts(knowledge: Knowledge) -> Facts:
    """Return the facts of a release or tree, `{topic: {entry: {field: JSON value}}}`."""
    return {
        "requirements": dict(_requirements(knowledge)),
        "behaviour": dict(_behaviour(knowledge)),
        "flags": {name: _flag(flag) for name, flag in sorted(knowledge.flags.items())},
        "variables": {
            name: _without_places(to_json(variable._asdict()))
            for name, variable in sorted(knowledge.environment.items())
        },
        "architectures": {
            name: _without_places(to_json(found._asdict()))
            for name, found in sorted(knowledge.classes.items())
        },
        "drafts": dict(_drafts(knowledge)),
        "configs": {
            name: {"class": class_}
            for name, class_ in sorted(knowledge.config_classes.model_types.items())
        },
    }


def _requirements(knowledge: Knowledge) -> Iterator[tuple[str, Mapping[str, Any]]]:
    about = knowledge.about._asdict()
    for name in ("torch", "transformers", "nccl", "kernel"):
        if about[name] is not None:
            yield name, {"version": about[name]}


def _behaviour(knowledge: Knowledge) -> Iterator[tuple[str, Mapping[str, Any]]]:
    from specpreflight.engines.sglang.harvest.probes import PROBES

    for name in sorted(knowledge.probes):
        question = (getattr(PROBES.get(name), "__doc__", None) or "").partition("\n")[0]
        about = question.removeprefix("Say ").removeprefix("Return ").rstrip(".")
        yield name, {"value": to_json(knowledge.probe(name)), "about": about}


def _flag(flag: Flag) -> Mapping[str, Any]:
    known = flag._asdict()
    del known["name"], known["dest"]
    plain = {key: to_json(value) for key, value in known.items()}
    return {key: value for key, value in plain.items() if value not in (None, [], False)} | {
        "default": plain["default"]
    }


def _drafts(knowledge: Knowledge) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in sorted(knowledge.draft_path_targets):
        yield f"{name}: draft path", {"is": "the target's own"}
    for name, becomes in sorted(knowledge.draft_rewrites.items()):
        yield f"{name} as a draft", {"becomes": becomes}
    for name, numbers in sorted(knowledge.automatic_parameters.items()):
        what = "every other target" if name == "*" else name
        yield f"{what}: steps, top-k, draft tokens", {"default": list(numbers)}


def _without_places(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in entry.items() if key not in _PLACES and key != "name"}
