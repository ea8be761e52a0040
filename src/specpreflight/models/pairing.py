"""Which target a draft is for: what its files say, and which targets could be meant.

Nothing is read here. A `Profile` is what pairing asks of one config, and `Targets` answers which
target of a tree a draft means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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


class Profile(NamedTuple):
    """What pairing asks of a config; `None` where it does not say.

    `kind` is `draft` for a head that can only propose, `target` for a model that could be served
    (a small one may be a standalone draft), `unknown` where the config cannot be read.
    `hidden_size`, `vocab_size`, `layers` and `model_type` of a draft are those that it expects of
    its target.
    """

    kind: Literal["target", "draft", "unknown"]
    hidden_size: int | None = None
    vocab_size: int | None = None
    layers: int | None = None
    model_type: str | None = None
    statements: tuple[Statement, ...] = ()


def is_model_config(root: Mapping[str, Any]) -> bool:
    """Return whether a config.json is a model's, rather than some other program's."""
    return not MODEL_KEYS.isdisjoint(root)


def describe(checkpoint: Checkpoint) -> Profile:
    """Return what pairing asks of a checkpoint's config."""
    if checkpoint.problem is not None:
        return Profile("unknown")
    root: dict[str, Any] = checkpoint.config.root
    if draft_format(checkpoint) is DraftFormat.STANDALONE and not _is_headlike(root):
        return Profile(
            "target",
            _whole(checkpoint.text, "hidden_size"),
            _whole(checkpoint.text, "vocab_size") or _whole(root, "vocab_size"),
            _whole(checkpoint.text, "num_hidden_layers"),
            _text(root, "model_type"),
        )
    body = root.get("transformer_layer_config")
    inner = body if isinstance(body, dict) else root
    return Profile(
        "draft",
        _whole(root, "target_hidden_size") or _whole(inner, "hidden_size"),
        _whole(inner, "vocab_size") or _whole(root, "target_vocab_size"),
        _whole(root, "num_target_layers"),
        _text(root, "target_model_type"),
        tuple(_statements(root)),
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


class Targets:
    """The targets of a tree: those that drafts name, and one for each set of facts.

    Args:
        wanted: every reference that a draft of the tree makes; only targets that one of them may
            mean are kept by name.
    """

    def __init__(self, wanted: Iterable[str]) -> None:
        folded = [reference.lower().strip("/") for reference in wanted]
        self._wanted = {name for each in folded for name in (each, each.rpartition("/")[2])}
        self._by_name: dict[str, list[str]] = {}
        self._by_facts: dict[tuple[int | None, int | None], dict[Profile, str]] = {}

    def add(self, path: str, profile: Profile) -> None:
        """Add the target at `path`."""
        for name in self._wanted.intersection(_names(path)) if self._wanted else ():
            self._by_name.setdefault(name, []).append(path)
        facts = (profile.hidden_size, profile.vocab_size)
        self._by_facts.setdefault(facts, {}).setdefault(profile, path)

    def named(self, reference: str) -> str | None:
        """Return the target that a Hub id means.

        Of an id `org/name`, directories called `org/name`, `org--name` or `org__name` count, then
        those called `name`; of two that are called so, neither is meant.
        """
        folded = reference.lower().strip("/")
        for name in (folded, folded.rpartition("/")[2]):
            found = self._by_name.get(name, ())
            if found:
                return found[0] if len(found) == 1 else None
        return None

    def alike(self, draft: Profile) -> Pairing | Unpaired:
        """Return the only target whose facts are those that the draft expects of its own."""
        if draft.hidden_size is None or draft.vocab_size is None:
            return Unpaired("its files name no target, nor what would tell one")
        known = self._by_facts.get((draft.hidden_size, draft.vocab_size), {})
        alike = [
            path
            for profile, path in known.items()
            if draft.layers in (None, profile.layers)
            and draft.model_type in (None, profile.model_type)
        ]
        facts = f"hidden size {draft.hidden_size} and vocabulary {draft.vocab_size}"
        if not alike:
            return Unpaired(f"its files name no target, and none here has {facts}")
        if len(alike) > 1:
            return Unpaired(f"its files name no target, and {len(alike)} here have {facts}")
        return Pairing(alike[0], f"equal facts: no other target here has {facts}", inferred=True)


def _names(path: str) -> set[str]:
    """Return the Hub ids and names, in lower case, that a directory may stand for."""
    parts = path.lower().split("/")
    last = parts[-1]
    if len(parts) > 3 and parts[-2] == "snapshots":
        last = parts[-3].removeprefix("models--")
    names = {last, "/".join(parts[-2:])}
    for mark in ("--", "__"):
        organisation, found, name = last.partition(mark)
        if found:
            names |= {f"{organisation}/{name}", name}
    return names


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
