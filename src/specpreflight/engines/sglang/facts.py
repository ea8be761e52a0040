"""The facts that a release is known by: flags, variables, model classes, config classes.

Values of one kind are small frozen records; `UNKNOWN` stands for "could not be read", which is
not the same as `None` ("the engine's value is None").
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal, NamedTuple


class Unknown(Enum):
    """The type of `UNKNOWN`."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        return False


#: What static reading could not answer. It is false, and equal to nothing but itself.
UNKNOWN: Final = Unknown.UNKNOWN


class Flag(NamedTuple):
    """One option of the engine's argument parser.

    Attributes:
        name: the canonical spelling, `--speculative-num-steps`; for `-tp`-like options the first.
        aliases: the other spellings.
        dest: the attribute of ServerArgs that it sets.
        type: `str`, `int`, `float`, `bool` (takes no value), `json`, or the name of the engine's
            own converter (`human_readable_int`, `json_list_type`, `nullable_str`).
        action: argparse's name, `boolean_optional`, or the name of the engine's own action class.
        nargs: as argparse takes it.
        default: before any adjustment; `UNKNOWN` where it is computed at run time.
        choices: allowed values, in the engine's order; `UNKNOWN` where computed at run time.
        const: the value that a bare flag or `nargs="?"` stores, where the engine says one.
        deprecated: what the engine tells to use instead (or just says), `None` if not deprecated.
        fatal: the flag is still parsed, but only to stop with the text of `deprecated`.
    """

    name: str
    aliases: tuple[str, ...] = ()
    dest: str = ""
    type: str = "str"
    action: str = "store"
    nargs: int | str | None = None
    default: Any = None
    choices: tuple[Any, ...] | Unknown | None = None
    required: bool = False
    const: Any = None
    deprecated: str | None = None
    fatal: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every option string, the canonical one first."""
        return (self.name, *self.aliases)


class EnvironmentVariable(NamedTuple):
    """A variable that the engine reads.

    Attributes:
        name: as in the environment.
        kind: `bool`, `int`, `float`, `str`, `tuple`, `json`; `other` where the reader is unclear.
        default: the value when unset.
        truthy: texts that mean true, in lower case; the engine compares in lower case.
        falsy: texts that mean false.
        on_other: what a text that does not parse gives: the `default`, `false`, or it `raises`.
        deprecated_name: an older name that is read where this one is unset.
        source: the file that declares or first reads it.
    """

    name: str
    kind: str = "str"
    default: Any = None
    truthy: tuple[str, ...] = ()
    falsy: tuple[str, ...] = ()
    on_other: Literal["default", "false", "raises"] = "default"
    deprecated_name: str | None = None
    source: str = ""

    def parse(self, text: str | None) -> Any:
        """Return what the engine makes of `text` (`None`: unset), `UNKNOWN` where it raises."""
        if text is None:
            return self.default
        try:
            match self.kind:
                case "bool":
                    return self._truth(text.lower())
                case "int":
                    return int(text)
                case "float":
                    return float(text)
                case "tuple":
                    return tuple(part.strip() for part in text.split(",") if part.strip())
                case "str":
                    return text
        except ValueError:
            return self.default if self.on_other == "default" else UNKNOWN
        return UNKNOWN

    def _truth(self, text: str) -> Any:
        if text in self.truthy:
            return True
        if text in self.falsy or self.on_other == "false":
            return False
        return self.default if self.on_other == "default" else UNKNOWN


class ModelClass(NamedTuple):
    """A class of the model registry (`EntryClass` of a module in `srt/models`).

    Attributes:
        name: the class, as a config's `architectures` names it.
        module: its file, `srt/models/llama_eagle3.py`.
        kind: `target` (generates text), `draft`, or `other` (embedding, reward, vision).
        form: of a draft: `eagle`, `eagle3`, `mtp` (also NextN and assistants), `dflash`,
            `dspark`; else `None`.
        offers: what the class or one of its bases defines: `eagle3_capture`, `dflash_capture`,
            `dspark_capture`, `get_embed_and_head`, `get_embed`, `set_embed`,
            `set_embed_and_head`, `hot_token_id`, `load_lm_head_from_target`. A wrapper may define
            a method and still raise when it is called.
        missing: a name that its module imports and the pinned transformers lacks; the registry
            then leaves the class out, with a warning.
    """

    name: str
    module: str
    kind: Literal["target", "draft", "other"] = "target"
    form: str | None = None
    offers: frozenset[str] = frozenset()
    missing: str | None = None


class ConfigField(NamedTuple):
    """A parameter of a config class: whether it has a default, the default, the checked type.

    The type is the annotation's text (`int | None`) where construction checks it (`@strict`,
    transformers 5.6 and later), else `None`. `UNKNOWN` is a default that is computed.
    """

    has_default: bool
    default: Any
    type: str | None


class ConfigClass(NamedTuple):
    """A `PretrainedConfig` class, with what it inherits already merged in.

    Attributes:
        name: the class name.
        origin: `transformers`, or `sglang` for one of the engine's own.
        bases: names of the classes in its method resolution order, nearest first, itself left out.
        model_type: the class attribute.
        fields: the parameters by name, own and inherited.
        attribute_map: other name -> own name.
        sub_configs: key -> class name (`AutoConfig` where it follows the sub-config's type).
        attributes: every constant of the class body (`base_config_key`, `default_theta`, …).
        strict: checked on construction (transformers 5: `@strict` dataclass).
        validators: names of the methods that validate (`validate_architecture`, …), nearest first.
        constraints: field -> validator expression (`interval(min=0.0, max=1.0)`).
        assigned: attributes that `__init__`/`__post_init__` sets beside the fields.
        properties: names that are read-only properties.
    """

    name: str
    origin: Literal["transformers", "sglang"]
    bases: tuple[str, ...] = ()
    model_type: str | None = None
    fields: Mapping[str, ConfigField] = {}
    attribute_map: Mapping[str, str] = {}
    sub_configs: Mapping[str, str] = {}
    attributes: Mapping[str, Any] = {}
    strict: bool = False
    validators: tuple[str, ...] = ()
    constraints: Mapping[str, str] = {}
    assigned: frozenset[str] = frozenset()
    properties: frozenset[str] = frozenset()
