"""Which target a draft is for: what its files say, and which targets could be meant.

Nothing is read here. A `Profile` is what pairing asks of one config, a `Targets` holds the targets
of a tree, and `Targets.find` answers for one draft.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.draft_format import DraftFormat, draft_format

#: Keys of which a model's config.json has at least one (transformers, speculators, heads).
MODEL_KEYS = frozenset(
    {
        "architectures",
        "model_type",
        "hidden_size",
        "num_hidden_layers",
        "text_config",
        "speculators_model_type",
        "draft_vocab_size",
        "eagle_config",
        "dflash_config",
        "medusa_num_heads",
    }
)

#: Keys with which a draft's config names its target, as pointers' parts.
_STATEMENTS = (
    ("speculators_config", "verifier", "name_or_path"),
    ("target_model_name_or_path",),
    ("eagle_config", "target_model_name_or_path"),
    ("dflash_config", "target_model_name_or_path"),
    ("target_model_path",),
    ("base_model_name_or_path",),
)


class Statement(NamedTuple):
    """A target as a draft's files name it (a path or a Hub id), and the place that does."""

    reference: str
    by: str


class Pairing(NamedTuple):
    """The target found for a draft; `inferred` where only equal facts say so."""

    target: str
    by: str
    inferred: bool = False


class Unpaired(NamedTuple):
    """Why a draft has no target."""

    reason: str


@dataclass(frozen=True, slots=True)
class Profile:
    """What pairing asks of a config; `None` where it does not say.

    `kind` is `draft` for a head that can only propose, `target` for a model that could be served
    (a small one may be a standalone draft), `unknown` where the config cannot be read.
    `hidden_size` and `vocab_size` of a draft are those that it expects of its target.
    """

    kind: Literal["target", "draft", "unknown"]
    format: DraftFormat | None = None
    statements: tuple[Statement, ...] = ()
    hidden_size: int | None = None
    vocab_size: int | None = None
    layers: int | None = None
    model_type: str | None = None


def is_model_config(root: Mapping[str, Any]) -> bool:
    """Return whether a config.json is a model's, rather than some other program's."""
    return not MODEL_KEYS.isdisjoint(root)


def describe(checkpoint: Checkpoint) -> Profile:
    """Return what pairing asks of a checkpoint's config."""
    if checkpoint.problem is not None:
        return Profile("unknown")
    root: dict[str, Any] = checkpoint.config.root
    found = draft_format(checkpoint)
    if found is DraftFormat.STANDALONE and not _is_headlike(root):
        return Profile(
            "target",
            found,
            hidden_size=_whole(checkpoint.text, "hidden_size"),
            vocab_size=_whole(checkpoint.text, "vocab_size") or _whole(root, "vocab_size"),
            layers=_whole(checkpoint.text, "num_hidden_layers"),
            model_type=_text(root, "model_type"),
        )
    body = root.get("transformer_layer_config")
    inner = body if isinstance(body, dict) else root
    return Profile(
        "draft",
        found,
        tuple(_statements(root)),
        hidden_size=_whole(root, "target_hidden_size") or _whole(inner, "hidden_size"),
        vocab_size=_whole(inner, "vocab_size") or _whole(root, "target_vocab_size"),
        layers=_whole(root, "num_target_layers"),
        model_type=_text(root, "target_model_type"),
    )


def _is_headlike(root: Mapping[str, Any]) -> bool:
    """Return whether a plain model has one layer, which is how EAGLE's first heads look."""
    return root.get("num_hidden_layers") == 1 or "medusa_num_heads" in root


def _statements(root: Mapping[str, Any]) -> Iterator[Statement]:
    for parts in _STATEMENTS:
        value: Any = root
        for part in parts:
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, str) and value:
            yield Statement(value, f"`{'.'.join(parts)}` in its config.json")


def _whole(mapping: Mapping[str, Any], key: str) -> int | None:
    value = mapping.get(key)
    return value if type(value) is int else None


def _text(mapping: Mapping[str, Any], key: str) -> str | None:
    value = mapping.get(key)
    return value if isinstance(value, str) else None


@dataclass
class Targets:
    """The targets of a tree, by their paths and their facts."""

    _by_path: dict[str, str] = field(default_factory=dict)
    _by_name: dict[str, list[str]] = field(default_factory=dict)
    _by_facts: dict[tuple[int | None, int | None], dict[Profile, str]] = field(default_factory=dict)

    def add(self, path: str, profile: Profile) -> None:
        """Add a target that was found at `path`."""
        self._by_path[os.path.realpath(path)] = path
        for name in _names(path):
            self._by_name.setdefault(name, []).append(path)
        facts = (profile.hidden_size, profile.vocab_size)
        self._by_facts.setdefault(facts, {}).setdefault(profile, path)

    def named(self, reference: str, base: str) -> str | None:
        """Return the target that a draft in the directory `base` names, by path or Hub id.

        A path counts from the draft's directory or the working directory. Of an id `org/name`,
        directories called `org/name`, `org--name`, `org__name` and `name` count, in this order,
        where only one is called so.
        """
        for place in (os.path.join(base, reference), reference):  # noqa: PTH118
            path = os.path.realpath(place)
            if path in self._by_path:
                return self._by_path[path]
        folded = reference.lower().strip("/")
        for name in (folded, folded.rpartition("/")[2]):
            found = self._by_name.get(name, ())
            if len(found) == 1:
                return found[0]
        return None

    def alike(self, draft: Profile) -> Pairing | Unpaired:
        """Return the only target whose facts are those that the draft expects of its own."""
        if draft.hidden_size is None or draft.vocab_size is None:
            return Unpaired("its files name no target, nor what would tell one")
        alike = [
            (profile, path)
            for profile, path in self._by_facts.get(
                (draft.hidden_size, draft.vocab_size), {}
            ).items()
            if draft.layers in (None, profile.layers)
            and draft.model_type in (None, profile.model_type)
        ]
        facts = f"hidden size {draft.hidden_size} and vocabulary {draft.vocab_size}"
        if not alike:
            return Unpaired(f"its files name no target, and none here has {facts}")
        if len(alike) > 1:
            return Unpaired(f"its files name no target, and {len(alike)} here have {facts}")
        return Pairing(alike[0][1], f"{facts} are those of this target alone", inferred=True)


def _names(path: str) -> Iterator[str]:
    """Yield the Hub ids and names, in lower case, that a directory may stand for."""
    parts = PurePath(os.path.abspath(path).lower()).parts  # noqa: PTH100
    last = parts[-1]
    if len(parts) > 3 and parts[-2] == "snapshots":
        last = parts[-3]
    for mark in ("--", "__"):
        if mark in last:
            organisation, _, name = last.removeprefix("models--").partition(mark)
            yield f"{organisation}/{name}"
            yield name
    if len(parts) > 1:
        yield f"{parts[-2]}/{last}"
    yield last


def stated_in_card(text: str) -> Sequence[Statement]:
    """Return the `base_model` of a model card's front matter (YAML between two `---`)."""
    if not text.startswith("---"):
        return ()
    front = text[3:].partition("\n---")[0]
    found: list[str] = []
    listing = False
    for line in front.splitlines():
        if listing and line.lstrip().startswith("- "):
            found.append(_bare(line.lstrip()[2:]))
            continue
        listing = False
        key, colon, value = line.partition(":")
        if colon and key == "base_model":
            listing = not value.strip()
            found += [_bare(part) for part in value.strip().strip("[]").split(",") if part.strip()]
    return [Statement(name, "`base_model` of its model card") for name in found if name]


def _bare(text: str) -> str:
    return text.partition(" #")[0].strip().strip("'\"")
