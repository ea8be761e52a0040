"""Two versions of an engine side by side: what is known of one and not of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from specpreflight.changes.differences import json_object
from specpreflight.engines.base import Facts
from specpreflight.models.change import Change, Part
from specpreflight.models.finding import MISSING
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved

#: Topics of an engine's facts → where a change of them is listed.
_PARTS: Mapping[str, Part] = {
    "requirements": "requirements",
    "behaviour": "behaviour",
    "flags": "flags",
    "speculative keys": "speculative keys",
    "variables": "variables",
    "architectures": "architectures",
    "drafts": "drafts",
    "configs": "configs",
}
#: The algorithms, as engines call them, whose drafts take hidden states of several layers.
_EAGLE3 = frozenset({"EAGLE3", "eagle3"})


def diff_facts(before: Facts, after: Facts) -> Iterator[Change]:
    """Yield what is known differently: a change for each entry, or each field of one.

    An entry that is on one side only has its fields as the value.
    """
    for topic in dict.fromkeys((*before, *after)):
        part = _PARTS.get(topic, "behaviour")
        old, new = before.get(topic, {}), after.get(topic, {})
        if topic == "flags":
            old = _under_new_names(old, new)
        # A requirement that only one side states is not known of the other.
        both = old.keys() & new.keys() if topic == "requirements" else old.keys() | new.keys()
        for name in sorted(both):
            if name not in old or name not in new:
                gone = MISSING if name not in old else _plain(old[name])
                come = MISSING if name not in new else _plain(new[name])
                yield Change(part, name, gone, come, note=_about(old, new, name))
            else:
                yield from _fields(part, name, old[name], new[name])


def _under_new_names(
    old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Return the old flags, each under the name that the new version has for one of its names."""
    names = {
        spelling: name
        for name, about in new.items()
        for spelling in (*about.get("aliases", ()), name)
    }
    renamed = {}
    for name, about in old.items():
        known = name if name in new else names.get(name)
        known = known or next(
            (names[one] for one in about.get("aliases", ()) if one in names), name
        )
        renamed[known] = about
    return renamed


def _fields(
    part: Part, name: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[Change]:
    for field in dict.fromkeys((*old, *new)):
        if field == "about" or old.get(field) == new.get(field):
            continue
        shown = name if field in ("value", "version") else f"{name} {field}"
        yield Change(
            part, shown, old.get(field, MISSING), new.get(field, MISSING), note=new.get("about")
        )


def _about(old: Mapping[str, Any], new: Mapping[str, Any], name: str) -> str | None:
    about: str | None = (new.get(name) or old.get(name) or {}).get("about")
    return about


def _plain(entry: Mapping[str, Any]) -> Any:
    fields = {key: value for key, value in entry.items() if key != "about"}
    return fields["value"] if fields.keys() == {"value"} else fields


def touches(
    launches: Sequence[Launch], predictions: Sequence[Resolved]
) -> Callable[[Change], bool]:
    """Return what tells whether a change of an engine can touch a launch.

    `launches` is the launch as each version reads it, `predictions` what becomes of it. What
    touches it are flags that it gives, defaults of those that it does not, variables that it sets,
    classes that its configs name, and behaviour of the algorithm that is resolved.
    """
    launch = launches[-1]
    given = {f"--{name.partition('.')[0]}" for one in launches for name in one.flags}
    classes = set(_classes(launch, predictions))
    keys = json_object(launch.flags.get("speculative-config")) or {}
    algorithms = {one.value("algorithm") or one.value("method") for one in predictions}

    def answer(change: Change) -> bool:
        name, _, field = change.name.partition(" ")
        match change.part:
            case "requirements":
                return True
            case "flags":
                is_given = name in given
                return is_given or (field == "default" and not is_given)
            case "variables":
                return name in launch.environment
            case "architectures" | "configs":
                return name in classes
            case "drafts":
                entry = name.removesuffix(":")
                return entry in classes or (
                    entry == "every" and "--speculative-num-steps" not in given
                )
            case "behaviour":
                return _behaves(name, algorithms, classes)
            case "speculative keys":
                return name in keys
            case _:
                return True

    return answer


def _behaves(name: str, algorithms: set[Any], classes: set[str]) -> bool:
    """Return whether a named behaviour is of the algorithm and the target that are there."""
    if not algorithms - {None}:
        return False
    if name.startswith("eagle3."):
        family = {"eagle3.deepseek-ids": "Deepseek", "eagle3.gpt-oss-ids": "GptOss"}.get(name, "")
        is_family = any(one.startswith((family, "Kimi")) for one in classes)
        return bool(algorithms & _EAGLE3) and (not family or is_family)
    return "ngram" not in name or "NGRAM" in algorithms


def _classes(launch: Launch, predictions: Sequence[Resolved]) -> Iterator[str]:
    for checkpoint in (launch.target, launch.draft):
        if checkpoint is None:
            continue
        for config in (checkpoint.config.root, checkpoint.text):
            named = config.get("architectures")
            yield from (one for one in named or () if isinstance(one, str))
            if isinstance(config.get("model_type"), str):
                yield config["model_type"]
    for prediction in predictions:
        draft = prediction.value("draft_architecture")
        if isinstance(draft, str):
            yield draft


def summarize_lists(change: Change) -> Change:
    """Return the change of a long list as what it gained and lost, in its note."""
    old, new = change.before, change.after
    if not (isinstance(old, list) and isinstance(new, list)):
        return change
    gained = [one for one in new if one not in old]
    lost = [one for one in old if one not in new]
    parts = [
        f"{word} {', '.join(map(str, items))}"
        for word, items in (("gains", gained), ("loses", lost))
        if items
    ]
    about = f"{change.note}: " if change.note else ""
    return replace(change, note=about + ("; ".join(parts) or "another order"))
